"""Where a sum of differences stands among its sign flips when there were looks on the way, with numpy."""

from collections.abc import Sequence
from functools import lru_cache
from math import floor, fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

EXACT = 14
"""Up to this many problems all 2^n assignments of signs are there; otherwise `DRAWN` random ones and the observed one."""

DRAWN = 9_999

TINY = 1e-9
"""Sums closer than this are equal."""


class Crossing(NamedTuple):
    """How the observed sum fared at the last look taken."""

    p_value: float
    """Share of the assignments that crossed at an earlier look or reach the observed sum at this one, in (0, 1]."""
    crossed: int
    """Problems at the look at which that share was within its level; 0: at none."""


def crossing(differences: Sequence[float], ends: Sequence[int], levels: Sequence[float], *, planned: int) -> Crossing:
    """Look at the sum of the first `ends[i]` differences with the error `levels[i]`, both rising; stop when it crosses.

    The signs are those of `planned` problems, so that a look gives the same however many come after it.
    """
    signs, exact = _signs(planned), planned <= EXACT
    total = signs.shape[1] + (not exact)
    sums = np.zeros(signs.shape[1])
    inside = np.ones(signs.shape[1], dtype=bool)
    start, p_value = 0, 1.0
    for end, level in zip(ends, levels, strict=True):
        sums += np.abs(differences[start:end]) @ signs[start:end].astype(np.float64)
        start = end
        outside = int((~inside).sum()) + (not exact)
        p_value = (outside + int((inside & (sums >= fsum(differences[:end]) - TINY)).sum())) / total
        if p_value <= level:
            return Crossing(p_value, end)
        inside &= sums <= _bound(sums[inside], floor(level * total + TINY) - outside)
    return Crossing(p_value, 0)


def _bound(sums: NDArray[np.float64], room: int) -> float:
    """The value above which lie at most `room` of the sums."""
    if room <= 0:
        return float("inf")
    if room >= len(sums):
        return -float("inf")
    return float(np.partition(sums, len(sums) - 1 - room)[len(sums) - 1 - room]) + TINY


@lru_cache(maxsize=4)
def _signs(planned: int) -> NDArray[np.int8]:
    """Assignments of signs, (problems, assignments) of -1 and 1."""
    if planned <= EXACT:
        bits = (np.arange(2**planned)[None, :] >> np.arange(planned)[:, None]) & 1
    else:
        bits = np.random.default_rng(0).integers(0, 2, size=(planned, DRAWN), dtype=np.int8)
    return np.asarray(1 - 2 * bits, dtype=np.int8)
