"""Rollouts of one problem and the group they form (arXiv:2510.08191 §3.1)."""

from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev
from typing import Any, Literal, NamedTuple

from gym.core.chat import Usage
from gym.core.problem import Failure, Problem, ToolUse, Trajectory, Verdict, tool_use
from gym.core.value import Value

Outcome = Literal["answered", "no answer", "failed"]

INFORMATIVE_SPREAD = 1e-6
"""A group teaches when the population standard deviation of its rewards exceeds this (SPEC 1.3)."""

UNFINISHED = frozenset({"length", "content_filter", "tool_limit"})
"""Finish reasons after which whatever text there is counts as no answer (SPEC 1.2, FAULTS G10)."""


def no_answer_reason(trajectory: Trajectory) -> str | None:
    """Why the trajectory holds no answer, in words for the reflector; None when it does."""
    if trajectory.finish_reason in UNFINISHED:
        return {
            "length": "no answer: the token limit was reached before the answer was finished",
            "content_filter": "no answer: the provider's content filter cut the reply",
            "tool_limit": "no answer: the limit on tool steps was reached",
        }[trajectory.finish_reason]
    if not trajectory.output.strip():
        return f"no answer: the reply was empty{f' ({trajectory.note})' if trajectory.note else ''}"
    return None


def differ(rewards: Sequence[float]) -> bool:
    """Whether there are two rewards or more and they are not all the same."""
    return len(rewards) > 1 and pstdev(rewards) > INFORMATIVE_SPREAD


class Rollout(Value):
    """The `index`-th attempt at a problem under one library."""

    problem: Problem
    index: int
    library: str = ""
    """Digest of the library in the prompt; empty without one."""
    shown: tuple[str, ...] = ()
    """Ids of the experiences in the prompt."""
    trajectory: Trajectory | None = None
    verdict: Verdict | None = None
    failure: Failure | None = None

    @property
    def outcome(self) -> Outcome:
        """`failed` when the world broke; `no answer` when the model gave none; else `answered`."""
        if self.failure is not None or self.trajectory is None or self.verdict is None:
            return "failed"
        return "no answer" if no_answer_reason(self.trajectory) else "answered"

    @property
    def reward(self) -> float | None:
        """In [0, 1]; None when failed."""
        return None if self.outcome == "failed" or self.verdict is None else self.verdict.reward


class Group(Value):
    """All rollouts of one problem in one step, in index order."""

    problem: Problem
    rollouts: tuple[Rollout, ...]

    @property
    def scored(self) -> tuple[Rollout, ...]:
        """The rollouts that did not fail."""
        return tuple(rollout for rollout in self.rollouts if rollout.outcome != "failed")

    @property
    def rewards(self) -> tuple[float, ...]:
        """Rewards of the scored rollouts, in index order."""
        return tuple(rollout.reward for rollout in self.scored if rollout.reward is not None)

    @property
    def is_informative(self) -> bool:
        """Whether the rewards differ: only then is there a deciding difference to put in words."""
        return differ(self.rewards)

    @property
    def advantages(self) -> tuple[float, ...]:
        """(r - mean) / population standard deviation, one per scored rollout; zeros when the rewards agree."""
        if not self.is_informative:
            return tuple(0.0 for _ in self.rewards)
        mean, spread = fmean(self.rewards), pstdev(self.rewards)
        return tuple((reward - mean) / spread for reward in self.rewards)

    @property
    def tally(self) -> "Tally":
        """The group's figures without its texts."""
        outcomes = [rollout.outcome for rollout in self.rollouts]
        return Tally(
            problem_id=self.problem.id,
            metadata=self.problem.metadata,
            rewards=tuple(_SAME.get(reward, reward) for reward in self.rewards),
            no_answer=outcomes.count("no answer"),
            failed=outcomes.count("failed"),
            failure=next((rollout.failure for rollout in self.rollouts if rollout.failure), None),
            tokens=Usage.sum(rollout.trajectory.usage for rollout in self.rollouts if rollout.trajectory),
            tools=tool_use(rollout.trajectory.tools for rollout in self.rollouts if rollout.trajectory),
            latency_s=sum(rollout.trajectory.latency_s for rollout in self.rollouts if rollout.trajectory),
        )


_SAME = {0.0: 0.0, 1.0: 1.0}
"""One object for each of the two rewards that nearly all are."""


class Tally(NamedTuple):
    """What statistics need of one group: an evaluation of any length keeps these and lets the texts go."""

    problem_id: str
    metadata: Mapping[str, Any]
    rewards: tuple[float, ...]
    """Of the scored rollouts, in index order."""
    no_answer: int
    failed: int
    failure: Failure | None
    """The first."""
    tokens: Usage
    tools: Mapping[str, ToolUse]
    latency_s: float = 0.0
    """Of the model's replies, summed."""

    @property
    def size(self) -> int:
        """Rollouts, failed ones too."""
        return len(self.rewards) + self.failed
