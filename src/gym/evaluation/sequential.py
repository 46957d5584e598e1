"""A paired comparison that may stop before the last problem: a group-sequential sign-flip test.

Where a new library changes nothing, the sign of a problem's difference is a fair coin, whatever its size. The problems are
answered in at most `LOOKS` blocks; after a share t of them, signs drawn at random may have crossed the bounds of the looks
so far in a share ε·t² of all draws, so that over all looks a useless library is taken for better with a chance of at
most ε (error spending: Lan & DeMets 1983, doi:10.1093/biomet/70.3.659; this power family: Kim & DeMets 1987,
doi:10.1093/biomet/74.1.149). The mirrored test says "worse"; it spends sooner, ε·√t, for harm is given up early anyway.
`bench.bench_gate` measures other ways: a betting e-process (Waudby-Smith & Ramdas, arXiv:2010.09686) needs no symmetry, but with
30 problems it finds a gain of 0.2 in 41 % of the steps, this test in 72 %, and a test of all answers in 76 %.
"""

from collections.abc import Sequence
from math import ceil, log2
from statistics import NormalDist
from typing import Literal, NamedTuple

LOOKS = 5
"""Blocks at most: more looks find less and save little."""

FEWEST_IN_A_BLOCK = 5
"""Fewer differences say nothing at an error of 5 %."""

FUTILE = 0.03
"""Predicted chance of ending better below which no more is paid."""

Verdict = Literal["better", "worse", "futile", "open"]


class Look(NamedTuple):
    """What the differences so far say."""

    verdict: Verdict
    p_value: float
    """One-sided and adjusted for the looks so far, in (0, 1]: of "worse" against no harm, else of "better" against no gain."""


def look(
    differences: Sequence[float],
    ends: Sequence[int],
    planned: int,
    *,
    error: float,
    last: bool = False,
    may_give_up: bool = True,
) -> Look:
    """The verdict on one difference a problem, each in [-1, 1], in the order of `ends`, the counts at each look so far.

    `planned` problems are there in all; a problem without an answer on one side counts as a difference of 0. `last` says
    that no more will come, for a reason that is none of the differences' doing: the rest of the error is spent here.
    """
    from gym.evaluation.crossing import crossing  # numpy loads only for those who compare

    shares = [end / planned for end in ends[:-1]] + [1.0 if last else ends[-1] / planned]
    gain = [spent(share, error) for share in shares]
    better = crossing(differences, ends, gain, planned=planned)
    if better.crossed:
        return Look("better", better.p_value)
    harm = [spent(share, error, sooner=True) for share in shares]
    worse = crossing([-difference for difference in differences], ends, harm, planned=planned)
    if worse.crossed:
        return Look("worse", worse.p_value)
    on_the_way = may_give_up and not last and ends[-1] < planned
    hopeless = on_the_way and chance(differences, planned, error) < FUTILE
    return Look("futile" if hopeless else "open", better.p_value)


def spent(share: float, error: float, *, sooner: bool = False) -> float:
    """The part of `error` that may be spent once this share of the problems, in (0, 1], is answered.

    >>> spent(0.25, 0.08), spent(0.25, 0.08, sooner=True), spent(1.0, 0.08)
    (0.005, 0.04, 0.08)
    """
    return float(error * share ** (0.5 if sooner else 2.0))


def chance(differences: Sequence[float], planned: int, error: float) -> float:
    """Predicted chance, in [0, 1], that the mean difference of all `planned` problems will be significantly above 0.

    There must be some yet to come. Normal approximation under a flat prior, Φ((z - z_ε·√t) / √(1 - t)), with z the sum over
    the root of the sum of squares (predictive power: Spiegelhalter, Freedman & Blackburn 1986,
    doi:10.1016/0197-2456(86)90003-6).
    """
    share = len(differences) / planned
    spread = sum(difference**2 for difference in differences) ** 0.5
    z = sum(differences) / spread if spread else 0.0
    needed = NormalDist().inv_cdf(1 - error)
    return NormalDist().cdf((z - needed * share**0.5) / (1 - share) ** 0.5)


def ends_of_blocks(planned: int) -> tuple[int, ...]:
    """How many of `planned` problems are answered at each look.

    >>> ends_of_blocks(6), ends_of_blocks(12), ends_of_blocks(60)
    ((6,), (6, 12), (12, 24, 36, 48, 60))
    """
    looks = max(1, min(LOOKS, planned // FEWEST_IN_A_BLOCK))
    return (*range(size := ceil(planned / looks), planned, size), planned)


def fewest(error: float) -> int:
    """Problems below which not even a rise in all of them is significant.

    >>> fewest(0.05), fewest(0.01)
    (5, 7)
    """
    return ceil(log2(1 / error))
