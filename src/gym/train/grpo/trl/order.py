"""The order of a gradient training's data, which a resumed one finds again.

TRL's sampler draws every epoch's order from one generator and begins anew when a training is resumed: within the epoch in which
it was stopped some problems would then be seen twice and others never.
"""

from collections.abc import Callable, Iterator
from typing import Any

from torch.utils.data import Sampler

ROUNDING = 1e-6
"""Of an epoch, which is told as a fraction."""


class CaughtUp(Sampler):
    """TRL's sampler as it is, after the orders of the epochs that an earlier process has done."""

    def __init__(self, repeats: Any, epoch: Callable[[], float]) -> None:
        self._repeats, self._epoch = repeats, epoch
        self._begun = 0

    def __iter__(self) -> Iterator[int]:
        while self._begun < int(self._epoch() + ROUNDING):
            next(iter(self._repeats), None)
            self._begun += 1
        self._begun += 1
        return iter(self._repeats)

    def __len__(self) -> int:
        return len(self._repeats)
