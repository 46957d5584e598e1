"""The gate: a step's library replaces the accepted one only when validation problems speak for it (SPEC 2.11).

Both libraries answer the same problems in one fixed order, block by block, until `gym.evaluation.sequential` has a verdict
or the budget pays for no further block. Seeds depend on problem and index alone, so what the older library answered in an
earlier step comes from the call log, and a resumed run decides the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from statistics import fmean
from typing import Literal, NamedTuple

from gym.config import RunConfig
from gym.core.decision import Decision
from gym.core.experience import Applied, Library, Rejected
from gym.core.problem import Problem
from gym.core.rollout import Tally
from gym.core.text import count
from gym.errors import BudgetReached, ConfigError
from gym.evaluation.evaluate import EVALUATION_EPOCH
from gym.evaluation.sequential import Look, ends_of_blocks, fewest, look
from gym.llm.meter import Meter
from gym.tasks import all_of
from gym.train.grpo.credit import removals_alone
from gym.train.grpo.loop import Step
from gym.train.grpo.rollout_manager import RolloutManager
from gym.train.grpo.watch import Watch

ENOUGH = 20
"""Validation problems from which on a gain of 0.3 is mostly found (`bench.bench_gate`)."""

UNLESS_WORSE = -1.0
"""Margin for removals alone: the rollouts spoke for them already, so validation problems need only not speak against them."""


class Gated(NamedTuple):
    """What the gate left of a step, and why; no decision where there was nothing to decide."""

    applied: Applied
    decision: Decision | None = None
    whole: Decision | None = None
    """On all changes together, where `decision` is on a part of them."""


class Pair(NamedTuple):
    """The answers to one problem, under the older library and the newer one."""

    old: Tally
    new: Tally

    @property
    def difference(self) -> float | None:
        """New minus old, in [-1, 1]; None without a scored answer on both sides."""
        return fmean(self.new.rewards) - fmean(self.old.rewards) if self.old.rewards and self.new.rewards else None


@dataclass(frozen=True)
class Gate:
    """Decides on `problems` in their order, with `rollouts.group_size` answers to each."""

    problems: tuple[Problem, ...]
    rollouts: RolloutManager
    meter: Meter
    watch: Watch
    error: float
    """Chance, at most, that a step which changes nothing is taken for better; in (0, 0.5)."""
    margin: float | None = None
    """Mean difference from which on an unclear step is kept; None keeps the older library."""
    seed: int = 0

    async def judged(self, took: Step, before: Library) -> Gated:
        """The step's outcome, taken back when validation problems do not speak for it.

        What left for its measured effect stays away unless they speak against that.
        """
        if took.applied.library.texts == took.credited.texts:
            return Gated(took.applied)
        decision = await self.decide(before, took.applied.library)
        self.watch.say(f"gate: {'kept' if decision.kept else 'taken back'} ({decision.reason})")
        if decision.kept:
            return Gated(took.applied, decision)
        fewer = removals_alone(took.applied, took.credited, f"gate: {decision.reason}")
        if fewer is not None:
            alone = await replace(self, margin=UNLESS_WORSE).decide(before, fewer.library)
            if alone.kept:
                self.watch.say("gate: the measured removals alone are kept")
                return Gated(fewer, alone, whole=decision)
        return Gated(reverted(took.applied, took.credited, decision.reason), decision)

    async def decide(self, older: Library, newer: Library) -> Decision:
        """Better stays, worse goes, unclear keeps the older library unless its mean difference reaches `margin`.

        A budget that ends on the way decides on the blocks that are whole; with none, its `BudgetReached` passes through.
        """
        self.watch.phase("validation", 0, self.meter)
        pairs: list[Pair] = []
        ends = ends_of_blocks(len(self.problems))
        for place, end in enumerate(ends, 1):
            try:
                answered = await self.answers(self.problems[len(pairs) : end], (older, newer))
            except BudgetReached:
                if not pairs:
                    raise
                return self._decision(pairs, self._look(pairs, ends[: place - 1], last=True), "budget")
            pairs += map(Pair, *answered)
            found = self._look(pairs, ends[:place])
            if found.verdict != "open":
                break
        return self._decision(pairs, found, "all answered")

    def known(self, libraries: Sequence[Library], *, first: int | None = None) -> list[Problem]:
        """The problems, among the `first` ones or all, of which every answer under every library is in the call log."""
        return [problem for problem in self.problems[:first] if not self._missing((problem,), libraries)]

    async def answers(self, problems: Sequence[Problem], libraries: Sequence[Library]) -> list[list[Tally]]:
        """One tally a problem, for each library; `BudgetReached`, with nothing sent, when the calls left are too few."""
        left = self.meter.calls_left
        if left is not None and (needed := self._missing(problems, libraries)) > left:
            raise BudgetReached(
                f"budget of {self.meter.budget.calls} calls reached: validation needs {needed} more and {left} are left. "
                "Everything is saved: raise the budget and run the same command to go on"
            )
        self.watch.expect(len(problems) * len(libraries) * self.rollouts.group_size)
        sides = (
            self.rollouts.each(problems, library, epoch=EVALUATION_EPOCH, keep=lambda group: group.tally)
            for library in libraries
        )
        return await all_of(sides)

    def _missing(self, problems: Sequence[Problem], libraries: Sequence[Library]) -> int:
        return sum(
            self.rollouts.unanswered(problem, library, EVALUATION_EPOCH)
            for library in libraries
            for problem in problems
        )

    def _look(self, pairs: Sequence[Pair], ends: Sequence[int], *, last: bool = False) -> Look:
        return look(
            [pair.difference or 0.0 for pair in pairs],
            ends,
            len(self.problems),
            error=self.error,
            last=last,
            may_give_up=self.margin is None,
        )

    def _decision(self, pairs: Sequence[Pair], found: Look, ended: Literal["all answered", "budget"]) -> Decision:
        differences = [pair.difference for pair in pairs if pair.difference is not None]
        difference = fmean(differences) if differences else None
        verdict = found.verdict if found.verdict in ("better", "worse") else "unclear"
        close = self.margin is not None and difference is not None and difference >= self.margin
        return Decision(
            verdict=verdict,
            kept=verdict == "better" or (verdict == "unclear" and close),
            ended={"better": "decided", "worse": "decided", "futile": "futile", "open": ended}[found.verdict],
            problems=len(differences),
            planned=len(self.problems),
            answers=sum(len(tally.rewards) for tally in chain.from_iterable(pairs)),
            failed=sum(tally.failed for tally in chain.from_iterable(pairs)),
            difference=difference,
            p_value=found.p_value,
        )


def is_on(config: RunConfig, problems: int) -> bool:
    """Whether so many validation problems are asked about each step."""
    return config.gate != "none" and problems >= fewest(config.gate_error)


def require_problems(config: RunConfig, problems: int) -> None:
    """Raise `ConfigError` when a gate is asked for by name that so few validation problems cannot give."""
    needs = "gate: paired" if config.gate == "paired" else "descent: pool" if config.descent == "pool" else ""
    if needs and not is_on(config, problems):
        raise ConfigError(
            f"{needs} needs {fewest(config.gate_error)} validation problems or more to decide anything with "
            f"gate_error {config.gate_error:g}, not {problems}"
        )


def cautions(config: RunConfig, problems: int) -> list[str]:
    """What to expect of so few validation problems."""
    needed = fewest(config.gate_error)
    if 0 < problems < needed and config.gate == "auto":
        return [
            f"{count(problems, 'validation problem')} cannot show a difference ({needed} that all rise can): the gate is off"
        ]
    if is_on(config, problems) and problems < ENOUGH and config.gate_margin is None:
        return [
            f"{count(problems, 'validation problem')} show only a large gain; most steps that help less will be taken back "
            f"(with {ENOUGH}, a gain of 0.3 is found in about six steps of seven)"
        ]
    return []


def ordered(problems: Sequence[Problem], seed: int) -> tuple[Problem, ...]:
    """The order in which every gate of a run answers them, so that its early blocks are paid once for each library."""
    return tuple(Random(f"{seed}/validation").sample(problems, len(problems)))


def reverted(applied: Applied, before: Library, reason: str) -> Applied:
    """The step without its changes: every operation rejected with the gate's reason; ids it minted stay used."""
    turned_down = tuple(Rejected(operation=item.operation, reason=f"gate: {reason}") for item in applied.accepted)
    library = before.model_copy(update={"next_id": applied.library.next_id})
    return Applied(library=library, accepted=(), rejected=(*applied.rejected, *turned_down))
