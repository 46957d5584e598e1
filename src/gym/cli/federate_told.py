"""What a round came to, told to a person or as JSON, in which nothing that a node sent steers a terminal."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gym.cli.common import console
from gym.core.text import count
from gym.federated.boards import FolderBoard
from gym.federated.decision import Decision
from gym.federated.history import earlier, ever_accepted
from gym.federated.messages import Removal, text_digest
from gym.federated.round_dir import RoundDir

SHOWN = 10


def said(text: str) -> None:
    """A line on standard error, in which nothing that a node sent can steer a terminal."""
    console.print("".join(each if each.isprintable() else ascii(each)[1:-1] for each in text), markup=False)


def outcome(decision: Decision) -> dict[str, Any]:
    """What a round came to, for `--json`."""
    return {
        "round": decision.number,
        "decision": decision.digest,
        "published": [one.model_dump(mode="json") | {"cid": one.cid} for one in decision.published],
        "removed": list(decision.removed),
        "messages": len(decision.messages),
        "topics": len(decision.topics),
        "equivocators": list(decision.equivocators),
    }


def show(decisions: Sequence[Decision], rounds: Path) -> None:
    """What rounds published and removed, and what kept texts out, for a person; `rounds` is the folder they lie in."""
    from gym.cli.tables import out

    for decision in decisions:
        out.print(f"round {decision.number}: {count(len(decision.published), 'text')} published", markup=False)
        for line in (*_lines(decision), *removals(rounds / f"round-{decision.number}")):
            out.print(f"  {line}", markup=False)
        console.print(f"  all texts and reasons: gym federate explain {rounds}/round-{decision.number}", markup=False)


def _lines(decision: Decision) -> Iterator[str]:
    from gym.cli.tables import literal

    for one in decision.published:
        yield f"{literal(one.text)}  (said by {len(one.nodes)}, helps {one.helps})"
    kept_out = [topic for topic in decision.topics if topic.verdict != "accepted"]
    for topic in kept_out[:SHOWN]:
        tried = next((one for one in topic.candidates if one.reason), None)
        text, why = (tried.text, tried.reason) if tried else (topic.candidates[0].text, topic.reason)
        yield f"not published: {literal(text)}  ({why})"
    if len(kept_out) > SHOWN:
        yield f"not published: {len(kept_out) - SHOWN} more"
    if decision.refused_texts:
        yield f"refused before they were compared: {count(len(decision.refused_texts), 'text')}"


def removals(folder: Path) -> list[str]:
    """Each text that a round removed, with who asked; of a round in a folder of rounds."""
    from gym.cli.tables import literal

    opened = RoundDir(folder)
    if not (told := opened.told()) or not told.removed:
        return []
    asked = [one.message for one in opened.collected(told.messages).messages if isinstance(one.message, Removal)]
    before = ever_accepted(earlier(FolderBoard(folder.parent), opened.round.number))
    texts = {text_digest(one.text): one for one in before}

    def line(gone: str) -> str:
        text = f"{texts[gone].id}  {literal(texts[gone].text)}" if gone in texts else gone
        nodes = sorted(each.node for each in asked if gone in each.texts)
        return f"removed: {text}  (asked by {literal(', '.join(nodes))})"

    return [line(gone) for gone in told.removed]
