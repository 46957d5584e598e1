"""One step of Continuous GRPO (arXiv:2510.08191 Algorithm 1), pure of files: roll out, reflect, consolidate, apply."""

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gym.core.experience import Admit, Applied, Library, Use
from gym.core.problem import Problem
from gym.core.reflection import BatchUpdate, Critique, Summary
from gym.core.rollout import Group
from gym.tasks import all_of
from gym.train.grpo.rollout_manager import RolloutManager
from gym.train.grpo.screen import Screen
from gym.train.grpo.session import Session
from gym.train.grpo.stages.consolidate import Consolidation, consolidate
from gym.train.grpo.stages.critique import critique
from gym.train.grpo.stages.flow import Stage, T, adrive
from gym.train.grpo.stages.settings import ReflectionSettings
from gym.train.grpo.stages.summarize import summarize
from gym.train.grpo.watch import Silent, Watch

_CITED = re.compile(r"\[(G\d+)\]")


class Reflected(NamedTuple):
    """One group and what was made of it; no critique when the group was homogeneous."""

    group: Group
    summaries: tuple[Summary, ...] = ()
    critique: Critique | None = None


class Step(NamedTuple):
    """What one step did and the library it leaves."""

    groups: tuple[Group, ...]
    summaries: tuple[Summary, ...]
    critiques: tuple[Critique, ...]
    decided: Consolidation
    applied: Applied
    credited: Library
    """The library before the step with this step's uses counted; the operations were applied to it."""
    seconds: float

    def update(self, applied: Applied) -> BatchUpdate:
        """From the critiques to what became of every operation; `applied` is what the gate left of this step."""
        return BatchUpdate(
            proposed=tuple(operation for item in self.critiques for operation in item.operations),
            consolidated=self.decided.operations,
            accepted=tuple(item.operation for item in applied.accepted),
            rejected=(
                *(bad for item in self.critiques for bad in item.rejected),
                *self.decided.rejected,
                *applied.rejected,
            ),
            notes=self.decided.notes,
            failures=(
                *(item.failure for item in self.summaries if item.failure),
                *(item.failure for item in self.critiques if item.failure),
                *self.decided.failures,
            ),
        )


@dataclass(frozen=True)
class Loop:
    """The parts of the method, put together."""

    session: Session
    rollouts: RolloutManager
    settings: ReflectionSettings
    admission: Callable[[Library], Admit]
    """The gate for a step, given the library that its prompts showed."""
    screen: Screen | None = None
    """Tries proposals before they are consolidated; None believes them."""
    near: Callable[[Library, Problem], Library] = lambda library, problem: library
    """What of a library that is too long for a prompt the critique of a problem sees."""
    watch: Watch = field(default_factory=Silent)
    learn_from: str = "mixed"
    domain: str = ""
    seed: int = 0

    async def step(self, problems: Sequence[Problem], library: Library, *, epoch: int, step: int) -> Step:
        """Roll out `problems` under `library`, reflect on each group as soon as it is complete, consolidate, apply."""
        began = time.monotonic()
        work = (self._reflected(problem, library, epoch) for problem in problems)
        reflected = await all_of(work, self.rollouts.room)
        critiques = tuple(item.critique for item in reflected if item.critique is not None)
        if self.screen is not None:
            studied = [item.group for item in reflected if item.critique is not None]
            critiques = await self.screen.tried(critiques, studied, library)
        summaries = tuple(summary for item in reflected for summary in item.summaries)
        self.watch.expect(1)
        stage = consolidate(critiques, library, self.settings, seed=self.seed + step)
        decided = await self._drive(stage, "consolidate")
        groups = tuple(item.group for item in reflected)
        credited = library.credit(uses(groups, summaries, library))
        applied = credited.apply(decided.operations, self.admission(library), step=step, domain=self.domain)
        return Step(groups, summaries, critiques, decided, applied, credited, time.monotonic() - began)

    async def _reflected(self, problem: Problem, library: Library, epoch: int) -> Reflected:
        group = await self.rollouts.group(problem, library, epoch=epoch)
        if not teaches(group, self.learn_from):
            return Reflected(group)
        self.watch.expect(len(group.scored) + 1)
        summaries = await all_of(
            self._drive(summarize(rollout, library.only(rollout.shown).render(), self.settings), "summarize")
            for rollout in group.scored
        )
        known = self.near(library, problem).render()
        found = await self._drive(critique(problem, summaries, known, self.settings), "critique")
        return Reflected(group, tuple(summaries), found)

    async def _drive(self, stage: Stage[T], name: str) -> T:
        found = await adrive(stage, self.session.model(name))
        self.watch.advance()
        return found


def teaches(group: Group, learn_from: str) -> bool:
    """Whether a group is reflected on: its rewards differ, or (when asked for) every answer missed the reference."""
    if group.is_informative:
        return True
    all_wrong = bool(group.rewards) and max(group.rewards) < 1.0 and group.problem.ground_truth is not None
    return learn_from == "mixed+all_wrong" and all_wrong


def uses(groups: Sequence[Group], summaries: Sequence[Summary], library: Library) -> Mapping[str, Use]:
    """How often each experience was cited, and whether by rollouts above or below their group's mean.

    Citations are counted in the outputs and in the summaries of the same rollouts, once per rollout.
    """
    told = {(summary.problem_id, summary.index): summary.text for summary in summaries}
    counts: dict[str, Use] = {}
    for group in groups:
        for rollout, advantage in zip(group.scored, group.advantages, strict=True):
            said = rollout.trajectory.output if rollout.trajectory else ""
            text = f"{said} {told.get((group.problem.id, rollout.index), '')}"
            for name in set(_CITED.findall(text)) & set(library.ids):
                past = counts.get(name, Use())
                counts[name] = Use(
                    uses=past.uses + 1, helpful=past.helpful + (advantage > 0), harmful=past.harmful + (advantage < 0)
                )
    return counts


def echoes(applied: Applied) -> Mapping[str, Use]:
    """An experience that was proposed again while it stood in the prompts was used, if anything (FAULTS M12)."""
    counts = Counter(item.echo_of for item in applied.rejected if item.echo_of)
    return {name: Use(uses=count) for name, count in counts.items()}


def shuffled(problems: Sequence[Problem], seed: int, epoch: int) -> tuple[Problem, ...]:
    """The epoch's order: a function of the seed and the epoch alone."""
    order = list(problems)
    random.Random(f"{seed}/{epoch}").shuffle(order)
    return tuple(order)


class Batch(NamedTuple):
    """The problems of one step; steps count on across epochs."""

    epoch: int
    step: int
    problems: tuple[Problem, ...]


def batches(problems: Sequence[Problem], *, epochs: int, batch_size: int, seed: int) -> Iterator[Batch]:
    """Every step of a run in order; the short last batch of an epoch is kept (SPEC 1.7)."""
    step = 0
    for epoch in range(epochs):
        order = shuffled(problems, seed, epoch)
        for start in range(0, len(order), batch_size):
            yield Batch(epoch, step, order[start : start + batch_size])
            step += 1
