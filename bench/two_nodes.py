"""`python -m bench.two_nodes`: two nodes with different task families; what does one round do for each on both?

Each learns a library on its own family (or takes what `bench.learning` learned there), shares it, measures what the other
shares on its own validation problems, and takes what is published. Then both libraries, before and after, answer the
held-out problems of both families, paired. Stop it whenever you like: the same command goes on, and repeats no finished call.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from bench.learning import work
from bench.learning.cell import Cell, Cost, Learned
from bench.learning.methods import METHODS
from bench.learning.settings import INSTRUCTIONS, SHARED, scaled
from bench.learning.workplace import TEMPERATURE, Workplace, workplace
from bench.report import ROOT, Table, ended
from bench.tasks import FAMILIES
from gym.cli.tables import percent, points
from gym.core.experience import Library
from gym.embedding import Embedder
from gym.embedding.encoders import open_encoder, resolved
from gym.errors import RunFailed
from gym.evaluation.evaluate import Evaluation
from gym.evaluation.gains import Gains
from gym.evaluation.metrics import Paired, paired
from gym.federated import bitdelta
from gym.federated.boards import FolderBoard
from gym.federated.carrier import Direct
from gym.federated.coordinator import Coordinator
from gym.federated.decision import Decision
from gym.federated.messages import Evidence, Item
from gym.federated.node import Node
from gym.federated.round import Member
from gym.federated.team import Card, Team
from gym.llm.blocking import run
from gym.signing import NodeKey

REWARD = "bench.tasks.grading:REWARD"
VALIDATION_K = 3
"""Answers to each validation problem of a measurement."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Side:
    """A node: its family, and the library that it learned there."""

    cell: Cell
    library: Library

    @property
    def name(self) -> str:
        """Of the node, its domain and its family."""
        return self.cell.family.name

    @property
    def key(self) -> NodeKey:
        """The same each time, so that a round goes on."""
        return NodeKey.drawn(sha256(self.name.encode()).digest())

    def offers(self, encoder: Embedder) -> Sequence[Item]:
        """Everything that it learned."""
        texts = self.library.texts
        codes = bitdelta.encode(encoder(texts)) if texts else ()
        return [
            Item(text=text, code=code.tobytes(), domain=self.name, evidence=Evidence(confidence=0.8))
            for text, code in zip(texts, codes, strict=True)
        ]


class Change(NamedTuple):
    """What the round did to a node on the held-out problems of a family."""

    node: str
    family: str
    before: Evaluation
    after: Evaluation

    @property
    def gain(self) -> Paired:
        """After the round against before it."""
        return paired(self.before.tallies, self.after.tallies)

    @property
    def own(self) -> bool:
        """Whether the family is the node's own."""
        return self.node == self.family


def learned(place: Workplace, cell: Cell, *, oracle: bool) -> Side:
    """A node that has learned its family; `oracle`: it knows what a person wrote. Raises `RunFailed` when it learned nothing."""
    if oracle:
        return Side(cell, cell.family.library)
    run(work.run(place, [cell], ["zoo"]))
    found = cell.outcome("zoo", METHODS["zoo"].inputs(cell, Cost()))
    if found is None or not found.experiences:
        raise RunFailed(f"{cell.family.name} seed {cell.seed}: nothing was learned there, so there is nothing to share")
    library = Library()
    for text in found.experiences:
        library = library.minted(text).library
    return Side(cell, library)


def play(
    place: Workplace, sides: Sequence[Side], folder: Path, encoder: Embedder
) -> tuple[Decision, Mapping[str, Library]]:
    """One round, and by node its library after it: its own and what was accepted."""
    cards = tuple(_card(side) for side in sides)
    team = Team(cards=cards, encoder=encoder.name, model=place.model)
    nodes = {side.name: _node(place, side, team, folder, encoder) for side in sides}
    server = Coordinator(team, FolderBoard(folder / "server"), Direct(nodes), say=place.say)
    closed = server.history.decisions()
    decision = closed[0] if closed else server.play(1)[0]
    return decision, {side.name: _after(side, nodes[side.name]) for side in sides}


def _node(place: Workplace, side: Side, team: Team, folder: Path, encoder: Embedder) -> Node:
    config = place.config(
        side.cell,
        SHARED,
        folder / side.name / "measured" / "any",
        dataset=str(side.cell.file("val")),
        reward=REWARD,
        eval_k=VALIDATION_K,
        eval_temperature=TEMPERATURE,
        api_base_url=place.environ.get("OPENAI_BASE_URL", ""),
    )
    return Node(
        address=side.name,
        key=side.key,
        team=team,
        board=FolderBoard(folder / side.name / "rounds"),
        encoder=encoder,
        model=place.model,
        offers=side.offers,
        measure=Gains(config),
        say=lambda text: place.say(f"  {side.name}: {text}"),
    )


def _card(side: Side) -> Card:
    member = Member(address=side.name, key=side.key.public, domains=(side.name,))
    return Card(member=member, link=f"ecdsa-sha2-nistp384 {side.name.replace('_', '')}")


def _after(side: Side, node: Node) -> Library:
    library, known = side.library, {text.casefold() for text in side.library.texts}
    for entry in node.history.library():
        if entry.text.casefold() not in known:
            library = library.minted(entry.text, domain=entry.domain).library
    return library


def changes(place: Workplace, sides: Sequence[Side], after: Mapping[str, Library]) -> Iterator[Change]:
    """Each node on each family."""
    for side in sides:
        for asked in sides:
            before, then = (
                run(place.held_out(asked.cell, SHARED, Learned(INSTRUCTIONS, library)))
                for library in (side.library, after[side.name])
            )
            yield Change(side.name, asked.name, before, then)


def measure(place: Workplace, cells: Sequence[Cell], folder: Path, encoder: Embedder, *, oracle: bool) -> int:
    """Everything; 1 when a node does not gain on the other's family, or loses on its own."""
    sides = [learned(place, cell, oracle=oracle) for cell in cells]
    decision, after = play(place, sides, folder, encoder)
    for topic in decision.topics:
        for one in topic.candidates:
            place.say(f"  {topic.domain}: {one.text} ({one.verdict}: {one.reason or topic.reason})")
    table = Table("two_nodes", f"Two nodes, one round, held-out problems: {' and '.join(side.name for side in sides)}")
    for change in changes(place, sides, after):
        what = f"node {change.node}, {'its own' if change.own else 'the other'} family {change.family}"
        before, then = (percent(one.score.mean, one.score.interval) for one in (change.before, change.after))
        verdict = change.gain.verdict
        ok = verdict != "loss" if change.own else verdict == "gain"
        table.add(what, points(change.gain), f"{before} -> {then}", "no loss" if change.own else "gain", ok)
    return table.close()


@contextmanager
def opened(base_url: str, say: Say) -> Iterator[Workplace]:
    """The model, for sync code."""
    context = workplace(base_url, say)
    place = run(context.__aenter__())
    try:
        yield place
    finally:
        run(context.__aexit__(None, None, None))


def main() -> int:
    """Work and print."""
    parser = argparse.ArgumentParser(prog="bench.two_nodes", description=__doc__)
    parser.add_argument("--families", default="csv,dates", help="two, comma-separated (default: csv,dates)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the problems (default: 1)")
    parser.add_argument("--oracle", action="store_true", help="nothing is learned: each node knows its family's rule")
    parser.add_argument("--base-url", default="", help="a server that runs already (default: the embedded model)")
    parser.add_argument("--output", type=Path, default=ROOT / "output" / "learning", help="where results are kept")
    asked = parser.parse_args()
    names = tuple(asked.families.split(","))
    if len(names) != 2 or not set(names) <= FAMILIES.keys():
        parser.error(f"two families of {', '.join(FAMILIES)}")
    cells = [Cell(FAMILIES[name], asked.seed, scaled(asked.scale), asked.output) for name in names]
    kind = "oracle" if asked.oracle else "learned"
    folder = asked.output / cells[0].scale.name / f"two-nodes-{'-'.join(names)}-seed-{asked.seed}-{kind}"
    with opened(asked.base_url, lambda text: print(text, flush=True)) as place:
        return measure(place, cells, folder, open_encoder(resolved("auto")), oracle=asked.oracle)


if __name__ == "__main__":
    ended(main)
