"""From finished cells to figures: gains, their share of the oracle's, and duels at equal cost, each with its interval.

The unit is the cell (family x seed) for the suite and the problem for a family. Only cells in which every method that is
compared has finished are counted.
"""

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from statistics import fmean, quantiles
from typing import NamedTuple

from bench.learning.cell import Cost, Outcome
from bench.learning.same import tally
from gym.core.rollout import Tally
from gym.evaluation.metrics import RESAMPLES, Interval, Paired, interval, paired, sign_flip

BASELINE, ORACLE = "baseline", "oracle"


class Key(NamedTuple):
    """A cell."""

    family: str
    seed: int


class Share(NamedTuple):
    """A method's gain over the suite, and how much of the oracle's gain that is."""

    cells: int
    gain: float
    gain_interval: Interval | None
    worst: float
    """The smallest gain of a cell."""
    share: float
    share_interval: Interval | None
    cost: Cost
    """Mean of a cell."""


class Duel(NamedTuple):
    """One method against another, cell by cell."""

    cells: int
    difference: float
    interval: Interval | None
    p_value: float
    behind: tuple[str, ...]
    """Families in which the first has the smaller mean."""

    @property
    def won(self) -> bool:
        """Whether the first is better beyond chance."""
        return self.interval is not None and self.interval.low > 0 and self.p_value <= 0.05


class Suite:
    """All outcomes, by cell and method."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self.found: dict[Key, dict[str, Outcome]] = {}
        for outcome in outcomes:
            self.found.setdefault(Key(outcome.family, outcome.seed), {})[outcome.method] = outcome

    @property
    def families(self) -> tuple[str, ...]:
        """In the order they came."""
        return tuple(dict.fromkeys(key.family for key in self.found))

    @property
    def seeds(self) -> tuple[int, ...]:
        """All that occur."""
        return tuple(sorted({key.seed for key in self.found}))

    @property
    def measured(self) -> tuple[str, ...]:
        """Every day and machine on which something was measured."""
        return tuple(sorted({outcome.measured for each in self.found.values() for outcome in each.values()}))

    def cells(self, *methods: str, family: str | None = None) -> list[Mapping[str, Outcome]]:
        """The cells in which all of these methods have finished."""
        return [
            each
            for key, each in self.found.items()
            if family in (None, key.family) and all(method in each for method in methods)
        ]

    def mean(self, method: str, family: str) -> float | None:
        """Held-out mean over the seeds of a family."""
        found = self.cells(method, family=family)
        return fmean(mean(each[method]) for each in found) if found else None

    def difference(self, method: str, family: str) -> Paired:
        """A method against the baseline on all held-out problems of a family."""
        found = self.cells(BASELINE, method, family=family)
        before = [one for each in found for one in tallies(each[BASELINE])]
        return paired(before, [one for each in found for one in tallies(each[method])])

    def share(self, method: str) -> Share | None:
        """Over the whole suite; None before there is a cell with both ends of the scale."""
        found = self.cells(BASELINE, ORACLE, method)
        if not found:
            return None
        gains, best = [gain(each, method) for each in found], [gain(each, ORACLE) for each in found]
        costs = [each[method].cost for each in found]
        return Share(
            len(found),
            fmean(gains),
            interval(gains),
            min(gains),
            ratio(gains, best),
            ratio_interval(gains, best),
            Cost(*(round(fmean(column)) for column in zip(*costs, strict=True))),
        )

    def duel(self, one: str, other: str) -> Duel | None:
        """Whether `one` gains more than `other`, at equal cost."""
        found = self.cells(BASELINE, one, other)
        if not found:
            return None
        differences = [mean(each[one]) - mean(each[other]) for each in found]
        means = {family: (self._in(family, one, other)) for family in self.families}
        behind = tuple(family for family, pair in means.items() if pair and pair[0] < pair[1])
        return Duel(len(found), fmean(differences), interval(differences), sign_flip(differences), behind)

    def _in(self, family: str, one: str, other: str) -> tuple[float, float] | None:
        found = self.cells(BASELINE, one, other, family=family)
        return (fmean(mean(each[one]) for each in found), fmean(mean(each[other]) for each in found)) if found else None


def mean(outcome: Outcome) -> float:
    """Of all held-out problems with a scored answer."""
    return fmean(fmean(rewards) for rewards in outcome.rewards.values() if rewards)


def gain(cell: Mapping[str, Outcome], method: str) -> float:
    """Held-out mean minus the baseline's."""
    return mean(cell[method]) - mean(cell[BASELINE])


def tallies(outcome: Outcome) -> list[Tally]:
    """Its rewards by problem."""
    return [tally(problem, rewards) for problem, rewards in outcome.rewards.items()]


def ratio(parts: Sequence[float], wholes: Sequence[float]) -> float:
    """Sum over sum: cells in which the oracle gains much count much. 0 where the oracle gains nothing at all.

    >>> ratio([0.1, 0.3], [0.2, 0.6])
    0.5
    """
    return sum(parts) / sum(wholes) if sum(wholes) > 0 else 0.0


def ratio_interval(parts: Sequence[float], wholes: Sequence[float], *, seed: int = 0) -> Interval | None:
    """95 %, percentile bootstrap over cells; None for fewer than two."""
    if len(parts) < 2:
        return None
    draw, pairs = Random(seed), list(zip(parts, wholes, strict=True))
    ratios = [ratio(*zip(*draw.choices(pairs, k=len(pairs)), strict=True)) for _ in range(RESAMPLES)]
    cuts = quantiles(ratios, n=40, method="inclusive")
    return Interval(cuts[0], cuts[-1])
