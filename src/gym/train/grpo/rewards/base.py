"""What text rewards share: thoughts are dropped, missing answers are told apart, feedback names both sides."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar, runtime_checkable

from gym.core.chat import ChatModel
from gym.core.problem import Failure, Problem, Reward, Trajectory, Verdict
from gym.core.rollout import no_answer_reason
from gym.train.grpo.rewards.answers import NOTHING_SAID, final_text
from gym.train.grpo.rewards.workers import Workers, shared

T = TypeVar("T")
Score = Callable[[str, str], Verdict]
"""(final text, ground truth) -> verdict; pure."""


@runtime_checkable
class Bindable(Protocol):
    """A reward that needs something of the run before it can score."""

    def bind(self, *, judge: ChatModel | None, workers: Workers | None) -> Reward:
        """The reward with what it needs; raises `ConfigError` when that is missing."""
        ...


@runtime_checkable
class SelfTesting(Protocol):
    """A reward that can tell before a run whether it works here."""

    async def self_test(self) -> None:
        """Return when it does; raises `ConfigError` that says what is broken."""
        ...


async def self_test(reward: Reward) -> None:
    """Have a reward that can test itself do so, before anything is paid for."""
    if isinstance(reward, SelfTesting):
        await reward.self_test()


def readable(ground_truth: str) -> str | None:
    """Every ground truth can be compared with: no reason to refuse."""
    return None


SHORT = 10_000
"""Characters that are read on the event loop; longer texts are read in a worker, so that no other call waits for them."""


async def read(workers: Workers | None, function: Callable[..., T], *texts: str, short: int = SHORT) -> T | Failure:
    """The function of the texts: computed here while they are short, else in a worker, where it can be killed."""
    if sum(map(len, texts)) <= short:
        return function(*texts)
    return await (workers or shared()).call(function, *texts)


@dataclass(frozen=True)
class TextReward:
    """A reward that is a pure function of the final text and the ground truth."""

    score: Score
    unreadable: Callable[[str], str | None] = readable
    """Why a ground truth cannot be compared with, or None."""
    short: int = SHORT
    """Characters up to which the score may run on the event loop; -1 when it may hang on any text."""
    workers: Workers | None = None

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        """One verdict or failure per trajectory, in order."""
        room = self.short - len(gold(problem))
        if all(len(item.output) <= room for item in trajectories):  # nothing to wait for
            return [no_answer(item) or _scored(self.score, item.output, gold(problem)) for item in trajectories]
        return await asyncio.gather(*(self._one(problem, item) for item in trajectories))

    async def _one(self, problem: Problem, trajectory: Trajectory) -> Verdict | Failure:
        if missing := no_answer(trajectory):
            return missing
        scored = partial(_scored, self.score)
        return await read(self.workers, scored, trajectory.output, gold(problem), short=self.short)

    def unscorable(self, problem: Problem) -> str | None:
        """Why the problem has no usable ground truth, or None."""
        return missing_gold(problem) or self.unreadable(gold(problem))

    def bind(self, *, judge: ChatModel | None, workers: Workers | None) -> "TextReward":
        """The same reward on these workers."""
        return replace(self, workers=workers)


def _scored(score: Score, output: str, ground_truth: str) -> Verdict:
    text = final_text(output)
    return score(text, ground_truth) if text else ONLY_THOUGHTS


ONLY_THOUGHTS = Verdict(reward=0.0, feedback=NOTHING_SAID)
"""On a reply that ends with its thoughts."""


def gold(problem: Problem) -> str:
    """The ground truth; a problem without one is `unscorable` and must not come this far."""
    assert problem.ground_truth is not None, f"problem {problem.id!r} has no ground truth: ask `unscorable` first"
    return problem.ground_truth


def missing_gold(problem: Problem) -> str | None:
    """Why there is nothing to compare with, or None."""
    return None if problem.ground_truth and problem.ground_truth.strip() else "it has no ground truth"


def no_answer(trajectory: Trajectory) -> Verdict | None:
    """The verdict on a trajectory that was cut off or is empty: 0, with the reason; None when there is a text to read."""
    reason = no_answer_reason(trajectory)
    return Verdict(reward=0.0, feedback=reason) if reason else None


def verdict(equal: bool, expected: str, got: str) -> Verdict:
    """1 or 0, with feedback that names both sides."""
    feedback = f"correct: {clip(got)!r}" if equal else f"expected {clip(expected)!r}, got {clip(got)!r}"
    return Verdict(reward=float(equal), answer=got, feedback=feedback)


def clip(text: str, limit: int = 200) -> str:
    """The text, or its beginning when it is longer than feedback should be."""
    return text if len(text) <= limit else f"{text[:limit]}…"
