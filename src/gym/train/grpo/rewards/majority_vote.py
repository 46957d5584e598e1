"""Rewards without ground truth: 1 for the most common answer of the group, 0 for the others (SPEC 1.8).

A tie gives no label: every rollout of the group is then a failure of type `tie`, and the group is skipped.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gym.core.chat import ChatModel
from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.train.grpo.rewards.answers import final_text, find_answer
from gym.train.grpo.rewards.base import ONLY_THOUGHTS, no_answer, read
from gym.train.grpo.rewards.normalized import normalize
from gym.train.grpo.rewards.numeric import number
from gym.train.grpo.rewards.workers import Workers


def ballot(output: str) -> str | None:
    """The answer of a reply in the form that votes are counted in: equal numbers and equal normalised texts agree.

    None when nothing follows the thoughts.

    >>> ballot("So the answer is 042."), ballot("**Answer:** 42")
    ('42', '42')
    """
    if not (text := final_text(output)):
        return None
    found = find_answer(text)
    answer = found.text if found else text
    value = number(answer)
    return normalize(answer) if value is None else f"{value:.15g}"


@dataclass(frozen=True)
class MajorityVote:
    """The group judges itself."""

    workers: Workers | None = None

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        """One verdict per trajectory, in order, or failures for all when the vote is tied."""
        ballots = await asyncio.gather(*map(self._ballot, trajectories))
        counts = Counter(vote for vote in ballots if isinstance(vote, str)).most_common(2)
        if len(counts) == 2 and counts[0][1] == counts[1][1]:
            tie = Failure(
                boundary="reward", type="tie", message=f"no majority: {counts[0][1]} votes each for two answers"
            )
            return [tie] * len(trajectories)
        return [_counted(vote, counts[0]) if isinstance(vote, str) else vote for vote in ballots]

    async def _ballot(self, trajectory: Trajectory) -> str | Verdict | Failure:
        if missing := no_answer(trajectory):
            return missing
        vote = await read(self.workers, ballot, trajectory.output)
        return ONLY_THOUGHTS if vote is None else vote

    def unscorable(self, problem: Problem) -> str | None:
        """None: a vote needs no ground truth."""
        return None

    def bind(self, *, judge: ChatModel | None, workers: Workers | None) -> "MajorityVote":
        """The same reward on these workers."""
        return replace(self, workers=workers)


def _counted(vote: str, winner: tuple[str, int]) -> Verdict:
    agrees = vote == winner[0]
    said = "agrees with" if agrees else "differs from"
    return Verdict(reward=float(agrees), answer=vote, feedback=f"{said} the most common answer ({winner[1]} votes)")


REWARD = MajorityVote()
