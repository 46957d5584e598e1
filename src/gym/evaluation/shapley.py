"""Shapley values by sampling orders (Castro, Gómez & Tejada 2009, doi:10.1016/j.cor.2008.04.004).

An experience's value is what it adds to the mean reward when it joins those before it, averaged over random orders; the
values of all add up to what the library is worth. Each sampled order is followed by its reverse, since an entry that came
early then comes late (antithetic sampling: Mitchell et al. 2022, arXiv:2104.12199); all orders are taken when there are no
more than asked for.
"""

import random
from collections.abc import Sequence
from itertools import chain, permutations
from math import factorial
from statistics import fmean, variance
from typing import NamedTuple

from gym.evaluation.metrics import Interval, interval, t_975


class Orders(NamedTuple):
    """Orders in which to let the experiences join; `complete` when they are all there are."""

    orders: tuple[tuple[str, ...], ...]
    complete: bool


def orders(ids: Sequence[str], count: int, seed: int) -> Orders:
    """`count` orders, or every one where there are no more.

    >>> orders(["G0", "G1"], 8, seed=0).orders
    (('G0', 'G1'), ('G1', 'G0'))
    """
    if len(ids) < 12 and factorial(len(ids)) <= count:
        return Orders(tuple(permutations(ids)), True)
    draw, found = random.Random(seed), list[tuple[str, ...]]()
    while len(found) < count:
        order = tuple(draw.sample(ids, len(ids)))
        found += [order, order[::-1]]
    return Orders(tuple(found[:count]), False)


def value(gains: Sequence[Sequence[float]], *, complete: bool = False) -> tuple[float, Interval | None]:
    """Mean and 95 % interval of gains by order and problem; None for fewer than two problems.

    Orders and problems are both samples, and gains of one order or of one problem go together, so the variance is that of
    the problems' means plus what the orders' means add to the spread of single gains (two-way clustering: Cameron, Gelbach
    & Miller 2011, doi:10.1198/jbes.2010.07136). Where the orders are `complete` only the problems are a sample. Never
    narrower than over the problems' means alone, so that gains which all agree are not taken for certainty.
    """
    mean = fmean(chain.from_iterable(gains))
    problems = [fmean(column) for column in zip(*gains, strict=True)]
    if (alone := interval(problems)) is None:
        return mean, None
    of_problems = variance(problems) / len(problems)
    of_orders = 0.0 if complete or len(gains) < 2 else _beyond_noise(gains)
    freedom = _freedom((of_problems, len(problems) - 1), (of_orders, len(gains) - 1))
    reach = t_975(freedom) * (of_problems + of_orders) ** 0.5
    return mean, Interval(max(min(mean - reach, alone.low), -1.0), min(max(mean + reach, alone.high), 1.0))


def _beyond_noise(gains: Sequence[Sequence[float]]) -> float:
    """Variance of the mean that orders add to that of their single gains."""
    cells = list(chain.from_iterable(gains))
    return max(0.0, variance([fmean(row) for row in gains]) / len(gains) - variance(cells) / len(cells))


def _freedom(*parts: tuple[float, int]) -> float:
    """Degrees of freedom of a sum of variances (Satterthwaite 1946, doi:10.2307/3002019)."""
    total, pieces = sum(part for part, _ in parts), sum(part**2 / max(n, 1) for part, n in parts)
    return total**2 / pieces if pieces else parts[0][1]
