"""How many answers a group takes: a fixed number, or no more than its contrast needs.

The method needs two answers that were rewarded differently, not five. Drawing one more at a time until the contrast is there
is inverse sampling (Haldane 1945, doi:10.1093/biomet/33.3.222), so the mean of such a group leans towards 1/2: its first
`least` answers alone estimate the pass rate without bias. A reward that judges a group as a whole (a majority vote) cannot
be asked before the group is complete. `bench/bench_sampling.py` says what each rule costs.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

from gym.core.rollout import differ


class GroupSize(NamedTuple):
    """`least` answers at once, one more at a time while all agree up to `usual`, and beyond it up to `most`."""

    least: int
    usual: int
    most: int
    all_wrong_teaches: bool = False
    """Whether a group that missed the reference in `usual` answers is enough, as in `learn_from: mixed+all_wrong`."""

    @classmethod
    def fixed(cls, size: int) -> Self:
        """`size` answers, whatever they are worth."""
        return cls(size, size, size)

    def more(self, rewards: Sequence[float], drawn: int) -> int:
        """How many answers to draw next, given the rewards of the `drawn` so far that were scored; 0: it is complete.

        >>> size = GroupSize(least=2, usual=3, most=4)
        >>> size.more([], 0), size.more([0, 0], 2), size.more([0, 0, 1], 3), size.more([0, 0, 0], 3), size.more([1] * 4, 4)
        (2, 1, 0, 1, 0)
        """
        if drawn < self.least:
            return self.least - drawn
        if drawn >= self.most or differ(rewards):
            return 0
        all_wrong = bool(rewards) and max(rewards) < 1.0
        return 0 if drawn >= self.usual and all_wrong and self.all_wrong_teaches else 1
