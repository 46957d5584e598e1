"""A federation in one process: what would come of it if a task's problems and experiences lay with many nodes.

Each node draws problems of the task and knows part of a library; keys, packets, reviews, signatures and decisions are those
of a real one, on boards in memory. Nodes that would get the same answer to the same problem get it once: measuring a text
costs one evaluation of the whole set, however many nodes there are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import NamedTuple

from gym.config import RunConfig
from gym.core.experience import Experience, Library
from gym.core.rollout import Tally
from gym.core.text import shown
from gym.embedding import Embedder
from gym.errors import ConfigError
from gym.evaluation.gains import gain_of, library_of
from gym.evaluation.opened import open_instrument
from gym.evaluation.target import Target, target_of
from gym.federated import bitdelta
from gym.federated.boards import MemoryBoard, keep
from gym.federated.carrier import Direct
from gym.federated.coordinator import Coordinator
from gym.federated.decision import Decision
from gym.federated.history import AcceptedExperience
from gym.federated.homes import ROUNDS
from gym.federated.messages import Evidence, Gain, Item
from gym.federated.node import Node, Trial
from gym.federated.round import Member
from gym.federated.team import Card, Team
from gym.llm.brake import Brake
from gym.loop import run_on_new_loop
from gym.signing import NodeKey
from gym.train.grpo.task import run_folder
from gym.train.grpo.watch import Watch


@dataclass(frozen=True)
class Plan:
    """How many nodes, and what each has."""

    nodes: int = 50
    problems: int = 20
    """That each node draws."""
    share: float = 0.7
    """Chance of each experience to be known to a node."""
    rounds: int = 1


@dataclass
class Answers:
    """Answers to all problems under a library, asked for once."""

    config: RunConfig
    target: Target
    watch: Watch
    brake: Brake
    known: dict[str, Mapping[str, Tally]] = field(default_factory=dict)

    def under(self, library: Library, name: str) -> Mapping[str, Tally]:
        """By problem."""
        if library.digest not in self.known:
            found = run_on_new_loop(self._measured(library, name))
            self.known[library.digest] = {tally.problem_id: tally for tally in found}
        return self.known[library.digest]

    async def _measured(self, library: Library, name: str) -> Sequence[Tally]:
        async with open_instrument(self.config, (self.target,), self.watch, self.brake) as (_, instrument):
            self.watch.phase(name, self.target.answers, instrument.session.meter)
            return (await instrument.measure(self.target, library)).tallies


class Played(NamedTuple):
    """What became of it."""

    decisions: Sequence[Decision]
    libraries: frozenset[str]
    """Digests of those that the nodes have in the end: one, when all went well."""
    rounds: Path
    """Where the rounds were written down, for `gym federate explain`."""


def play(config: RunConfig, library: Library, plan: Plan, *, encoder: Embedder, watch: Watch, brake: Brake) -> Played:
    """The rounds of `plan` on `config.dataset`; raises `ConfigError` when there are fewer problems than a node draws."""
    target = target_of(config, [])
    if len(target.problems) < plan.problems:
        raise ConfigError(
            f"{len(target.problems)} problems, and each node is to draw {plan.problems}: --problems fewer"
        )
    keys = {f"node-{place:02}": _key(config.seed, place) for place in range(plan.nodes)}
    cards = tuple(_card(Member(address=name, key=key.public)) for name, key in keys.items())
    team = Team(cards=cards, encoder=encoder.name)
    answers = Answers(config, target, watch, brake)
    nodes = {
        name: Node(
            address=name,
            key=key,
            team=team,
            board=MemoryBoard(),
            encoder=encoder,
            model=config.model_name_or_path,
            offers=_offers(_known(library, plan, config.seed, name)),
            measure=_measure(answers, _drawn(target, plan, config.seed, name)),
        )
        for name, key in keys.items()
    }
    server = Coordinator(team, MemoryBoard(), Direct(nodes), say=watch.say)
    decisions = server.play(plan.rounds)
    keep(server.board, rounds := run_folder(config) / ROUNDS)
    return Played(decisions, frozenset(server.libraries.values()), rounds)


def _key(seed: int, place: int) -> NodeKey:
    return NodeKey.drawn(sha256(f"{seed} {place}".encode()).digest())


def _card(member: Member) -> Card:
    """Nobody connects: the key stands for none."""
    return Card(member=member, link=f"ecdsa-sha2-nistp384 {member.key.removeprefix('ed25519:')}")


def _known(library: Library, plan: Plan, seed: int, name: str) -> Sequence[Experience]:
    luck = Random(f"{seed} knows {name}")
    return [entry for entry in library if luck.random() < plan.share]


def _drawn(target: Target, plan: Plan, seed: int, name: str) -> frozenset[str]:
    ids = [problem.id for problem in target.problems]
    return frozenset(Random(f"{seed} asks {name}").sample(ids, plan.problems))


def _offers(entries: Sequence[Experience]) -> Callable[[Embedder], Sequence[Item]]:
    def coded(encoder: Embedder) -> Sequence[Item]:
        codes = bitdelta.encode(encoder([entry.text for entry in entries])) if entries else ()
        return [
            Item(
                text=entry.text,
                code=code.tobytes(),
                domain=entry.domain,
                evidence=Evidence(confidence=entry.confidence),
            )
            for entry, code in zip(entries, codes, strict=True)
        ]

    return coded


def _measure(
    answers: Answers, own: frozenset[str]
) -> Callable[[int, Sequence[Trial], Sequence[AcceptedExperience]], Sequence[Gain]]:
    def measured(round: int, trials: Sequence[Trial], accepted: Sequence[AcceptedExperience]) -> Sequence[Gain]:
        base = library_of(entry.text for entry in accepted)
        before = _of(own, answers.under(base, "without a new text"))
        found = list[Gain]()
        for trial in trials:
            beside = base.minted(trial.text, domain=trial.domain).library
            found += gain_of(trial.text, before, _of(own, answers.under(beside, f"with {shown(trial.text)}")))
        return found

    return measured


def _of(own: frozenset[str], tallies: Mapping[str, Tally]) -> Sequence[Tally]:
    return [tally for name, tally in tallies.items() if name in own]
