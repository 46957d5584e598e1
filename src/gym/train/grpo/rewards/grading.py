"""A grade: what a reward decided of one answer, in the six words of `gym grade` (SPEC 4.1)."""

from typing import Literal, Protocol, runtime_checkable

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


async def grade(reward: Reward, name: str, problem: Problem, trajectory: Trajectory) -> Grade:
    """One trajectory's grade by any reward; the rule of a reward that names none is its name."""
    if isinstance(reward, Grader):
        return await reward.grade(problem, trajectory)
    return graded((await reward(problem, [trajectory]))[0], trajectory, name)


def graded(outcome: Verdict | Failure, trajectory: Trajectory, rule: str) -> Grade:
    """The grade that a verdict or failure stands for; partial credit counts as wrong unless it is whole."""
    if isinstance(outcome, Failure):
        return Grade(result="timeout" if outcome.type == "Timeout" else "error", rule=rule, outcome=outcome)
    if unanswered(trajectory):
        cut = trajectory.finish_reason == "length"
        return Grade(result="truncated" if cut else "no answer", outcome=outcome)
    result: Result = "correct" if outcome.reward >= 1.0 else "wrong"
    return Grade(result=result, answer=outcome.answer, rule=rule, outcome=outcome)
