"""What a round came to, told to a person or as JSON, in which nothing that a node sent steers a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gym.cli.common import console
from gym.core.text import count
from gym.federated.boards import FolderBoard
from gym.federated.decision import Candidate, Decision, TopicRuling
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
        folder = rounds / f"round-{decision.number}"
        for line in (*_lines(decision, fates(RoundDir(folder))), *removals(folder)):
            out.print(f"  {line}", markup=False)
        console.print(f"  all texts and reasons: gym federate explain {folder}", markup=False)


def fates(folder: RoundDir) -> Mapping[str, str]:
    """By digest, what became of a text in a round before this one that lies beside it."""
    decisions, found = earlier(FolderBoard(folder.path.parent), folder.round.number), dict[str, str]()
    ids = {text_digest(one.text): one.id for one in ever_accepted(decisions)}
    for decision in decisions:
        for one in (one for topic in decision.topics for one in topic.candidates):
            if one.verdict == "accepted":
                found[one.digest] = f"published in round {decision.number} as {ids[one.digest]}"
            elif one.verdict == "refused":
                found[one.digest] = f"tried in round {decision.number}: {one.reason}"
    return found


def _lines(decision: Decision, known: Mapping[str, str]) -> Iterator[str]:
    from gym.cli.tables import literal

    for one in decision.published:
        yield f"{literal(one.text)}  (said by {len(one.nodes)}, helps {one.helps})"
    kept_out = [topic for topic in decision.topics if topic.verdict != "accepted"]
    for topic in kept_out[:SHOWN]:
        nearest, why = _told_of(topic, known)
        state = "known" if why.startswith("published") else "not published"
        yield f"{state}: {literal(nearest.text)}  ({why})"
    if len(kept_out) > SHOWN:
        yield f"not published: {len(kept_out) - SHOWN} more"
    if decision.refused_texts:
        yield f"refused before they were compared: {count(len(decision.refused_texts), 'text')}"


def _told_of(topic: TopicRuling, known: Mapping[str, str]) -> tuple[Candidate, str]:
    """The text of a topic that says most of what became of it, and why: tried now, published before, or the nearest."""
    tried = [(one, one.reason) for one in topic.candidates if one.reason]
    before = [(one, fate) for one in topic.candidates if (fate := known.get(one.digest, "")).startswith("published")]
    return next(iter(tried + before), (topic.candidates[0], topic.reason))


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
