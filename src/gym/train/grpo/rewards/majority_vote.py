"""Rewards without ground truth: 1 for the most common answer of the group, 0 for the others (SPEC 1.8).

A tie gives no label: every rollout of the group is then a failure of type `tie`, and the group is skipped.
"""

from collections import Counter
from collections.abc import Sequence

from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.train.grpo.rewards.answers import final_text, find_answer
from gym.train.grpo.rewards.base import no_answer
from gym.train.grpo.rewards.normalized import normalize
from gym.train.grpo.rewards.numeric import number


def ballot(output: str) -> str:
    """The answer of a reply in the form that votes are counted in: equal numbers and equal normalised texts agree.

    >>> ballot("So the answer is 042."), ballot("**Answer:** 42")
    ('42', '42')
    """
    text = final_text(output)
    found = find_answer(text)
    answer = found.text if found else text
    value = number(answer)
    return normalize(answer) if value is None else f"{value:.15g}"


class MajorityVote:
    """The group judges itself."""

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        """One verdict per trajectory, in order, or failures for all when the vote is tied."""
        ballots = [None if no_answer(item) else ballot(item.output) for item in trajectories]
        counts = Counter(vote for vote in ballots if vote is not None).most_common(2)
        if len(counts) == 2 and counts[0][1] == counts[1][1]:
            tie = Failure(
                boundary="reward", type="tie", message=f"no majority: {counts[0][1]} votes each for two answers"
            )
            return [tie] * len(trajectories)
        return [no_answer(item) or _counted(vote, counts[0]) for item, vote in zip(trajectories, ballots, strict=True)]

    def unscorable(self, problem: Problem) -> str | None:
        """None: a vote needs no ground truth."""
        return None


def _counted(vote: str | None, winner: tuple[str, int]) -> Verdict:
    agrees = vote == winner[0]
    said = "agrees with" if agrees else "differs from"
    return Verdict(reward=float(agrees), answer=vote, feedback=f"{said} the most common answer ({winner[1]} votes)")


REWARD = MajorityVote()
