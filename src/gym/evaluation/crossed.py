"""The mean of a quantity that was measured on the same problems under several seeds, with its interval.

Problems and learning seeds are both samples, so neither problems × seeds independent values nor a bootstrap over a handful of
seeds is right. The table is a crossed random-effects layout without replication: the variance of its mean is
(MS_problem + MS_seed - MS_rest) / (problems · seeds), never taken smaller than either factor alone gives it, with Satterthwaite's
degrees of freedom (1946, doi:10.2307/3002019). Few seeds that differ make it wide, as they should.
"""

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import fmean, variance

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

    @property
    def excludes_0(self) -> bool:
        """Whether the interval lies on one side of 0."""
        return self.interval is not None and not self.interval.low <= 0 <= self.interval.high


def crossed(values: BySeed) -> Crossed:
    """The mean of the problems that have a value under every seed."""
    problems = sorted(set.intersection(*(set(row) for row in values.values()))) if values else []
    everyone = {problem for row in values.values() for problem in row}
    table = [[row[problem] for problem in problems] for _, row in sorted(values.items())]
    return Crossed(
        mean=fmean(map(fmean, table)) if problems else None,
        interval=interval(table),
        n_problems=len(problems),
        n_seeds=len(table),
        left_out=len(everyone) - len(problems),
    )


def minus(one: BySeed, other: BySeed) -> BySeed:
    """The difference where both have a value."""
    return {
        seed: {problem: one[seed][problem] - other[seed][problem] for problem in one[seed].keys() & other[seed].keys()}
        for seed in sorted(one.keys() & other.keys())
    }


def interval(table: Sequence[Sequence[float]]) -> Interval | None:
    """95 % interval of the mean of a full table, a row for each seed; None for fewer than two problems."""
    seeds, problems = len(table), len(table[0]) if table else 0
    if problems < 2:
        return None
    if seeds == 1:
        return metrics.interval(table[0])
    by_seed, by_problem = [fmean(row) for row in table], [fmean(column) for column in zip(*table, strict=True)]
    middle = fmean(by_seed)
    seed, problem = problems * variance(by_seed, middle), seeds * variance(by_problem, middle)
    rest = sum(
        (value - of_seed - of_problem + middle) ** 2
        for row, of_seed in zip(table, by_seed, strict=True)
        for value, of_problem in zip(row, by_problem, strict=True)
    ) / ((seeds - 1) * (problems - 1))
    largest = max(problem + seed - rest, problem, seed)
    if largest <= 0:
        return Interval(middle, middle)
    terms = (problem**2 / (problems - 1), seed**2 / (seeds - 1), rest**2 / ((problems - 1) * (seeds - 1)))
    reach = t_975(largest**2 / sum(terms)) * sqrt(largest / (problems * seeds))
    return Interval(middle - reach, middle + reach)
