"""What text rewards share: thoughts are dropped, missing answers are told apart, feedback names both sides."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from gym.core.chat import ChatModel
from gym.core.problem import Failure, Problem, Reward, Trajectory, Verdict
from gym.train.grpo.rewards.answers import final_text, unanswered
from gym.train.grpo.rewards.workers import Workers, shared

Score = Callable[[str, str], Verdict]
"""(final text, ground truth) -> verdict; pure."""


@runtime_checkable
class Bindable(Protocol):
    """A reward that needs something of the run before it can score."""

    def bind(self, *, judge: ChatModel | None, workers: Workers | None) -> Reward:
        """The reward with what it needs; raises `ConfigError` when that is missing."""
        ...


def readable(ground_truth: str) -> str | None:
    """Every ground truth can be compared with: no reason to refuse."""
    return None


@dataclass(frozen=True)
class TextReward:
    """A reward that is a pure function of the final text and the ground truth."""

    score: Score
    unreadable: Callable[[str], str | None] = readable
    """Why a ground truth cannot be compared with, or None."""

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        """One verdict per trajectory, in order."""
        return [no_answer(item) or self.score(final_text(item.output), gold(problem)) for item in trajectories]

    def unscorable(self, problem: Problem) -> str | None:
        """Why the problem has no usable ground truth, or None."""
        return missing_gold(problem) or self.unreadable(gold(problem))


@dataclass(frozen=True)
class WorkerReward:
    """A `TextReward` whose score may hang and therefore runs in a worker that can be killed."""

    score: Score
    unreadable: Callable[[str], str | None] = readable
    workers: Workers | None = None

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        """One verdict or failure per trajectory, in order."""

        async def one(trajectory: Trajectory) -> Verdict | Failure:
            if verdict := no_answer(trajectory):
                return verdict
            workers = self.workers or shared()
            return await workers.call(self.score, final_text(trajectory.output), gold(problem))

        return await asyncio.gather(*map(one, trajectories))

    def unscorable(self, problem: Problem) -> str | None:
        """Why the problem has no usable ground truth, or None."""
        return missing_gold(problem) or self.unreadable(gold(problem))

    def bind(self, *, judge: ChatModel | None, workers: Workers | None) -> "WorkerReward":
        """The same reward on these workers."""
        return replace(self, workers=workers)


def gold(problem: Problem) -> str:
    """The ground truth; a problem without one is `unscorable` and must not come this far."""
    assert problem.ground_truth is not None, f"problem {problem.id!r} has no ground truth: ask `unscorable` first"
    return problem.ground_truth


def missing_gold(problem: Problem) -> str | None:
    """Why there is nothing to compare with, or None."""
    return None if problem.ground_truth and problem.ground_truth.strip() else "it has no ground truth"


def no_answer(trajectory: Trajectory) -> Verdict | None:
    """The verdict on a trajectory without an answer: 0, with the reason; None when there is an answer."""
    reason = unanswered(trajectory)
    return Verdict(reward=0.0, feedback=reason) if reason else None


def verdict(equal: bool, expected: str, got: str) -> Verdict:
    """1 or 0, with feedback that names both sides."""
    feedback = f"correct: {clip(got)!r}" if equal else f"expected {clip(expected)!r}, got {clip(got)!r}"
    return Verdict(reward=float(equal), answer=got, feedback=feedback)


def clip(text: str, limit: int = 200) -> str:
    """The text, or its beginning when it is longer than feedback should be."""
    return text if len(text) <= limit else f"{text[:limit]}…"
