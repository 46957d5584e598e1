"""`gym federate`: what a federated round decided, and why."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click
from rich.table import Table

from gym.cli.common import console, json_option, print_json
from gym.cli.federate_node import node, pull, status
from gym.cli.federate_propose import propose
from gym.cli.federate_release import preview
from gym.cli.federate_serve import run, server
from gym.cli.federate_setup import join, keys, remove
from gym.cli.federate_simulate import simulate
from gym.cli.federate_told import SHOWN, fates, removals
from gym.cli.tables import literal, out, print_table
from gym.core.text import count, shown
from gym.errors import RunFailed
from gym.federated.boards import FolderBoard
from gym.federated.decision import Candidate, Decision, TopicRuling
from gym.federated.homes import ROUNDS
from gym.federated.merge import decide
from gym.federated.round_dir import RoundDir, difference
from gym.federated.utility import Utility

MEANING = {
    "reserve": "not tried, since another text of its topic was",
    "tried before": "measured in an earlier round; no text is measured twice",
    "outlier": "it agrees too little with the others of its topic",
}


@click.group()
def command() -> None:
    """Share experiences with nodes that have data of their own, where nobody is trusted to decide.

    \b
      gym federate keys try --team 3
      gym federate preview try/n1 experiences.json --domain jsonl --as support --release
      gym federate server try/server
      gym federate node try/n1 task.yaml --server 127.0.0.1:9092      (each member)
      gym federate run try/server --rounds 2
      gym federate explain try/server/rounds/round-0
      gym federate simulate task.yaml --experiences experiences.json --nodes 50
    """


for one in (keys, join, preview, server, node, run, status, remove, pull, propose, simulate):
    command.add_command(one)


@command.command()
@click.argument("round", type=click.Path(path_type=Path))
@click.option(
    "--all", "everything", is_flag=True, help=f"Every unsupported topic and refused text, not {SHOWN} of each."
)
@json_option
def explain(round: Path, everything: bool, as_json: bool) -> None:
    """Compute the decision of a round again from the packets in its folder ROUND, with every reason.

    For each topic: who supports it, its texts by nearness, what each node measured, the verdict. While the round is
    open, from all that was said so far. The exit code is 1 when another decision is written down in the folder. Of a
    server's or a node's folder the rounds are listed.
    """
    if not (round / "round.json").exists() and (found := _rounds(round)):
        _list(found, as_json)
        return
    folder = RoundDir(round)
    told = folder.told()
    decision = decide(folder.collected(None if told is None else told.messages))
    other = None if told is None or told.digest == decision.digest else difference(told, decision)
    if as_json:
        print_json(decision.model_dump(mode="json") | {"digest": decision.digest, "written_down_differs": other})
    else:
        _print(decision, folder, None if everything else SHOWN)
    if other is not None:
        raise RunFailed(f"{str(round / 'decision.json')!r} is not what the packets give: {other}")


def _rounds(folder: Path) -> list[RoundDir]:
    """Those in the folder of a server, of a node, or of rounds."""
    board = FolderBoard(folder / ROUNDS if (folder / ROUNDS).is_dir() else folder)
    return [RoundDir(board.path / f"round-{one.number}") for one in board.rounds()]


def _list(rounds: Sequence[RoundDir], as_json: bool) -> None:
    told = [(one, one.told()) for one in rounds]
    if as_json:
        rows = [{"round": one.round.number, "path": str(one.path), "closed": said is not None} for one, said in told]
        print_json({"rounds": rows})
        return
    for one, said in told:
        state = "open" if said is None else f"{count(len(said.published), 'text')} published"
        out.print(f"round {one.round.number}  {state}: gym federate explain {one.path}", markup=False)


def _print(decision: Decision, folder: RoundDir, limit: int | None) -> None:
    used = {one.verdict for topic in decision.topics for one in topic.candidates}
    known = fates(folder) if "tried before" in used else {}
    still = "to be measured" if folder.told() is None else "left open, for too few measured them"
    out.print(
        f"round {decision.number} of {count(decision.n, 'node')}, {count(decision.f, 'liar')} allowed for: "
        f"{count(len(decision.messages), 'message')}, {count(len(decision.published), 'text')} published"
        + (f", {len(decision.pending)} {still}" if decision.pending else "")
    )
    supported = [topic for topic in decision.topics if topic.verdict != "unsupported"]
    for topic in supported:
        _print_topic(topic, known)
    rest = [line for topic in decision.topics if topic.verdict == "unsupported" for line in _unsupported(topic)]
    _print_lines("unsupported", rest, limit)
    if rest:
        console.print("  its node can put such a text to a vote: gym federate propose", markup=False)
    refused = [f"{_text(one.text)} ({_names([one.node])}): {one.reason}" for one in decision.refused_texts]
    _print_lines("refused texts", refused, limit)
    packets = [f"{one.reason}: {one.detail}" for one in decision.refusals]
    _print_lines("refused packets", packets, limit)
    _print_lines("said two things, and count for nothing", map(str, decision.equivocators), limit)
    _print_lines("removed", [line.removeprefix("removed: ") for line in removals(folder.path)], limit)
    used = {one.verdict for topic in supported for one in topic.candidates}
    for verdict in ("reserve", "tried before", "outlier"):
        if verdict in used:
            console.print(f"{verdict}: {MEANING[verdict]}", markup=False)


def _unsupported(topic: TopicRuling) -> Iterator[str]:
    """Every text of the topic: each node's vote, and what else it said of it."""
    for one in topic.candidates:
        yield f"{_text(one.text)} ({_names(one.nodes)}): {topic.reason}"
    for spare in topic.spare:
        yield f"{_text(spare.text)} ({_names([spare.node])}): {topic.reason}, another text of the same topic"


def _print_topic(topic: TopicRuling, known: Mapping[str, str]) -> None:
    domain = f" · {_text(topic.domain)}" if topic.domain else ""
    out.print(f"\n{topic.verdict}{domain} · {count(len(topic.nodes), 'node')} · {topic.reason}", markup=False)
    table = Table(box=None, pad_edge=False, show_header=False)
    for justify in ("right", "left", "left"):
        table.add_column(justify=justify, no_wrap=True)
    table.add_column()
    for one in topic.candidates:
        told = known.get(one.digest, one.verdict) if one.verdict == "tried before" else one.verdict
        table.add_row(f"{one.cosine or 0:.2f}", literal(told), literal(_names(one.nodes)), literal(one.text))
    for spare in topic.spare:
        table.add_row("", "not its vote", literal(_names([spare.node])), literal(spare.text))
    print_table(table)
    for one in topic.candidates:
        _print_utilities(one)


def _print_utilities(one: Candidate) -> None:
    if one.utilities:
        figures = "; ".join(map(_utility, one.utilities))
        out.print(f"  {shown(one.text)}: {one.reason}: {figures}", markup=False)


def _utility(one: Utility) -> str:
    voice = "" if one.votes else ", objects only"
    return f"{_text(one.node)} {100 * one.mean:+.1f} ± {100 * one.error:.1f} of {one.problems} {one.says}{voice}"


def _print_lines(heading: str, lines: Iterable[str], limit: int | None) -> None:
    found = [*lines]
    if not found:
        return
    out.print(f"\n{heading}: {len(found)}", markup=False)
    for line in found[:limit]:
        out.print(f"  {_text(line)}", markup=False)
    if limit is not None and len(found) > limit:
        console.print(f"  … and {len(found) - limit} more: --all")


def _names(nodes: Sequence[str]) -> str:
    """The first few nodes."""
    return ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")


def _text(text: str) -> str:
    """As a terminal may be shown it."""
    return str(literal(text))
