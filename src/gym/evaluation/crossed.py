"""The mean of a quantity that was measured on the same problems under several seeds, with its interval.

Problems and learning seeds are both samples, so neither problems × seeds independent values nor a bootstrap over a handful of
seeds is right. The table is a crossed random-effects layout without replication: the variance of its mean is
(MS_problem + MS_seed - MS_rest) / (problems · seeds), a factor that is within the noise pooled with it, and the degrees of
freedom are Satterthwaite's (1946, doi:10.2307/3002019). Two seeds that differ make it very wide: use three. It is never
narrower than over the problems' means alone, so that values which all agree are not taken for certainty.
"""

from collections.abc import Mapping, Sequence
from math import fsum, sqrt
from statistics import fmean, variance
from typing import NamedTuple

from gym.core.value import Value
from gym.evaluation import metrics
from gym.evaluation.metrics import Interval, t_975

BySeed = Mapping[int, Mapping[str, float]]
"""seed -> problem id -> value."""


class Crossed(Value):
    """A mean over problems and seeds."""

    mean: float | None
    """None when no problem has a value under every seed."""
    interval: Interval | None
    """95 %; over problems alone when there is one seed, None for fewer than two problems."""
    n_problems: int
    n_seeds: int
    left_out: int
    """Problems that lack a value under some seed."""


def crossed(values: BySeed, within: Interval) -> Crossed:
    """The mean of the problems that have a value under every seed; `within` says between which numbers a value can lie."""
    problems = sorted(set.intersection(*(set(row) for row in values.values()))) if values else []
    everyone = {problem for row in values.values() for problem in row}
    table = [[row[problem] for problem in problems] for _, row in sorted(values.items())]
    return Crossed(
        mean=fmean(map(fmean, table)) if problems else None,
        interval=_around(table, within),
        n_problems=len(problems),
        n_seeds=len(table),
        left_out=len(everyone) - len(problems),
    )


def _around(table: Sequence[Sequence[float]], within: Interval) -> Interval | None:
    means = [fmean(column) for column in zip(*table, strict=True)]
    alone = metrics.interval(means, low=within.low, high=within.high)
    if alone is None or len(table) < 2:
        return alone
    both = interval(table)
    return Interval(max(min(both.low, alone.low), within.low), min(max(both.high, alone.high), within.high))


def minus(one: BySeed, other: BySeed) -> BySeed:
    """The difference where both have a value."""
    return {
        seed: {problem: one[seed][problem] - other[seed][problem] for problem in one[seed].keys() & other[seed].keys()}
        for seed in sorted(one.keys() & other.keys())
    }


def interval(table: Sequence[Sequence[float]]) -> Interval:
    """95 % interval of the mean of a full table, a row for each seed; at least two seeds and two problems."""
    seeds, problems = len(table), len(table[0])
    squares = _squares(table)
    terms = _terms(squares)
    total = sum(term.mean for term in terms)
    if total <= 0:
        return Interval(squares.middle, squares.middle)
    freedom = total**2 / sum(term.mean**2 / term.freedom for term in terms)
    reach = t_975(freedom) * sqrt(total / (problems * seeds))
    return Interval(squares.middle - reach, squares.middle + reach)


class _Square(NamedTuple):
    """A mean square and its degrees of freedom."""

    mean: float
    freedom: int


class _Squares(NamedTuple):
    middle: float
    problem: _Square
    seed: _Square
    rest: _Square


def _squares(table: Sequence[Sequence[float]]) -> _Squares:
    """The analysis of variance of a full table."""
    by_seed, by_problem = [fmean(row) for row in table], [fmean(column) for column in zip(*table, strict=True)]
    seeds, problems, middle = len(by_seed), len(by_problem), fmean(by_seed)
    freedom = (seeds - 1) * (problems - 1)
    rest = fsum(
        (value - of_seed - of_problem + middle) ** 2
        for row, of_seed in zip(table, by_seed, strict=True)
        for value, of_problem in zip(row, by_problem, strict=True)
    )
    return _Squares(
        middle,
        problem=_Square(seeds * variance(by_problem), problems - 1),
        seed=_Square(problems * variance(by_seed), seeds - 1),
        rest=_Square(rest / freedom, freedom),
    )


def _terms(squares: _Squares) -> list[_Square]:
    """What adds up to the mean's variance, times problems and seeds; a factor within the noise is pooled with it."""
    factors = [factor for factor in (squares.problem, squares.seed) if factor.mean > squares.rest.mean]
    noise = [squares.rest, *(factor for factor in (squares.problem, squares.seed) if factor not in factors)]
    freedom = sum(part.freedom for part in noise)
    pooled = fsum(part.mean * part.freedom for part in noise) / freedom
    return [*factors, _Square((1 - len(factors)) * pooled, freedom)]
