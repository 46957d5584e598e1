"""A grade: what a reward decided of one answer, in the six words of `gym grade` (SPEC 4.1), and counts of many."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from gym.core.problem import Failure, Problem, Reward, Trajectory, Verdict
from gym.core.value import Value
from gym.train.grpo.rewards.answers import unanswered

Result = Literal["correct", "wrong", "no answer", "truncated", "error", "timeout"]


class Grade(Value):
    """The verdict or failure on one trajectory, with the rule that decided."""

    result: Result
    answer: str | None = None
    rule: str = ""
    outcome: Verdict | Failure

    @classmethod
    def unscorable(cls, reason: str) -> "Grade":
        """The grade of an item that no answer can be right or wrong about (FAULTS G2)."""
        return cls(
            result="error", rule="unscorable", outcome=Failure(boundary="reward", type="unscorable", message=reason)
        )


@runtime_checkable
class Grader(Protocol):
    """A reward that names its rules."""

    async def grade(self, problem: Problem, trajectory: Trajectory) -> Grade:
        """The verdict together with the rule that made it."""
        ...


async def grades(reward: Reward, name: str, problem: Problem, trajectories: Sequence[Trajectory]) -> list[Grade]:
    """A group's grades by any reward; the rule of a reward that names none is `name`."""
    if isinstance(reward, Grader):
        return await asyncio.gather(*(reward.grade(problem, item) for item in trajectories))
    outcomes = await reward(problem, trajectories)
    return [graded(outcome, item, name) for outcome, item in zip(outcomes, trajectories, strict=True)]


def graded(outcome: Verdict | Failure, trajectory: Trajectory, rule: str) -> Grade:
    """The grade that a verdict or failure stands for; partial credit counts as wrong unless it is whole."""
    if isinstance(outcome, Failure):
        return Grade(result="timeout" if outcome.type == "Timeout" else "error", rule=rule, outcome=outcome)
    if unanswered(trajectory):
        cut = trajectory.finish_reason == "length"
        return Grade(result="truncated" if cut else "no answer", outcome=outcome)
    result: Result = "correct" if outcome.reward >= 1.0 else "wrong"
    return Grade(result=result, answer=outcome.answer, rule=rule, outcome=outcome)


@dataclass
class Counts:
    """How many grades there were of each result, and by which rule."""

    results: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)

    def add(self, grade: Grade) -> None:
        """Count one more."""
        self.results[grade.result] += 1
        if grade.rule:
            self.rules[grade.rule] += 1

    def summary(self) -> dict[str, Any]:
        """The counts as `gym grade --json` gives them."""
        results = {name: self.results[name] for name in get_args(Result)}
        return {"n": self.results.total(), "results": results, "rules": dict(self.rules.most_common())}

    def __str__(self) -> str:
        results = ", ".join(f"{self.results[name]:,} {name}" for name in get_args(Result) if self.results[name])
        rules = ", ".join(f"{name} {count:,}" for name, count in self.rules.most_common())
        total = self.results.total()
        return f"{total:,} answer{'s'[: total != 1]}: {results}" + (f"; decided by {rules}" if rules else "")


@dataclass(frozen=True)
class Counted:
    """A reward whose grades are counted on the way."""

    reward: Reward
    counts: Counts

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        """What the reward says."""
        found = await grades(self.reward, "", problem, trajectories)
        for grade in found:
            self.counts.add(grade)
        return [grade.outcome for grade in found]

    def unscorable(self, problem: Problem) -> str | None:
        """What the reward says."""
        return self.reward.unscorable(problem)
