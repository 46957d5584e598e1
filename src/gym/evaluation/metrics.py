"""What a library is worth, in numbers: means with intervals, pass@k, and the paired difference of two evaluations.

The unit of sampling is the problem, not the answer: k answers to one problem are not k independent observations, so every
interval is over problems (Miller 2024, arXiv:2411.00640). Rewards are values in [0, 1]; a failed rollout has none (SPEC
1.2), and where it counts as 0 that is said. Plain Python: numpy would be a seventh of an evaluation's memory.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from math import fsum, sqrt
from statistics import fmean
from typing import Literal, NamedTuple

from pydantic import Field

from gym.core.chat import Usage
from gym.core.problem import ToolUse, tool_use
from gym.core.rollout import Tally
from gym.core.value import Value
from gym.evaluation.pass_at import pass_at

RESAMPLES = 4_000
"""Random sign flips; the tail of 2.5 % then rests on 100 of them."""

FEWEST = 6
"""Problems below which not even a rise in all of them is a gain: their signs alone happen once in 2^n / 2 times."""

Z_975 = 1.959964
"""97.5 % quantile of the normal distribution."""

_T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5 % quantiles of Student's t for 1 to 9 degrees of freedom."""


def t_975(freedom: float) -> float:
    """97.5 % quantile of Student's t for any number of degrees of freedom from 1 on, a little large between whole ones.

    >>> [round(t_975(freedom), 2) for freedom in (1, 2, 4.5, 20, 1e9)]
    [12.71, 4.3, 2.66, 2.1, 1.96]
    """
    freedom = max(freedom, 1.0)
    if freedom >= len(_T_975):
        return 1.96 + (_T_975[-1] - 1.96) * len(_T_975) / freedom
    whole = int(freedom)
    part = (1 / whole - 1 / freedom) / (1 / whole - 1 / (whole + 1))
    return _T_975[whole - 1] + part * (_T_975[whole] - _T_975[whole - 1])


class Interval(NamedTuple):
    """A 95 % interval, `low <= high`."""

    low: float
    high: float


class Score(Value):
    """What one evaluation says of one model and library."""

    mean: float | None
    """Mean over problems of the mean reward of their scored answers (answered and no answer), in [0, 1]; None without any."""
    interval: Interval | None
    """95 %, over problems; None when fewer than two were scored."""
    n_problems: int
    """Problems with at least one scored answer: those in the mean."""
    n_answers: int
    """Scored answers: answered and no answer."""
    failed: int
    """Rollouts that failed in the world; in no mean but the next."""
    no_answer: int
    mean_failed_as_0: float | None
    """The mean over all problems with every failed rollout counted as 0."""
    interval_failed_as_0: Interval | None = None
    pass_at: dict[int, float]
    """k -> unbiased pass@k over the problems with at least k scored answers."""
    pass_at_interval: dict[int, Interval | None] = Field(default_factory=dict)
    """k -> 95 %, over the same problems; None when they are fewer than two."""
    tokens: Usage
    tools: Mapping[str, ToolUse] = Field(default_factory=dict, exclude_if=lambda used: not used)
    """What the answers called, by tool."""


class Paired(Value):
    """The same problems twice, before and after."""

    difference: float | None
    """Mean over shared problems of (after - before), in [-1, 1]; None when there is none."""
    interval: Interval | None
    """95 %, over problems; None when fewer than two are shared."""
    p_value: float | None
    """Two-sided sign-flip permutation test of "no difference", in (0, 1]."""
    n_problems: int
    better: int
    """Problems whose mean rose."""
    worse: int
    left_out: int
    """Problems without a scored answer on one side, or absent from it."""

    @property
    def verdict(self) -> Literal["gain", "loss", "no difference"]:
        """A gain or a loss only when the interval excludes 0 and the p-value is at most 0.05 (FAULTS S9).

        The second condition guards the smallest sets: two problems that both rise have an interval without width.
        """
        if self.interval is None or self.p_value is None or self.p_value > 0.05:
            return "no difference"
        if self.interval.low <= 0 <= self.interval.high:
            return "no difference"
        return "gain" if self.interval.low > 0 else "loss"


def score(tallies: Sequence[Tally]) -> Score:
    """The figures of one evaluation, one tally a problem."""
    means = [_mean(tally) for tally in tallies if tally.rewards]
    as_0 = [_mean(tally, failed_as_0=True) for tally in tallies if tally.size]
    passed = pass_at(tallies)
    return Score(
        mean=fmean(means) if means else None,
        interval=interval(means, low=0.0),
        n_problems=len(means),
        n_answers=sum(len(tally.rewards) for tally in tallies),
        failed=sum(tally.failed for tally in tallies),
        no_answer=sum(tally.no_answer for tally in tallies),
        mean_failed_as_0=fmean(as_0) if as_0 else None,
        interval_failed_as_0=interval(as_0, low=0.0),
        pass_at={k: fmean(values) for k, values in passed.items()},
        pass_at_interval={k: interval(values, low=0.0) for k, values in passed.items()},
        tokens=Usage.sum(tally.tokens for tally in tallies),
        tools=tool_use(tally.tools for tally in tallies),
    )


def paired(
    before: Sequence[Tally],
    after: Sequence[Tally],
    *,
    failed_as_0: bool = False,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Paired:
    """The difference on the problems (matched by id) that have a scored answer on both sides; order does not matter.

    With `failed_as_0` failed answers count as wrong ones, so a problem is left out only where nothing was tried. `seed` and
    `resamples` are of the random sign flips.
    """
    found = differences(before, after, failed_as_0=failed_as_0)
    everyone = {tally.problem_id for tally in chain(before, after)}
    return Paired(
        difference=fmean(found) if found else None,
        interval=interval(found),
        p_value=sign_flip(found, seed=seed, resamples=resamples) if found else None,
        n_problems=len(found),
        better=sum(difference > 0 for difference in found),
        worse=sum(difference < 0 for difference in found),
        left_out=len(everyone) - len(found),
    )


def differences(before: Sequence[Tally], after: Sequence[Tally], *, failed_as_0: bool = False) -> list[float]:
    """After minus before, in [-1, 1], of every problem that counts on both sides, in the order of their ids."""
    old, new = _means(before, failed_as_0), _means(after, failed_as_0)
    return [new[problem] - old[problem] for problem in sorted(old.keys() & new.keys())]


def interval(values: Sequence[float], *, low: float = -1.0, high: float = 1.0) -> Interval | None:
    """95 % interval of the mean of one value per problem, each in [low, high]; it holds the mean. None for fewer than two.

    Wilson's score interval with the effective number of problems, n·v₀/v: v is the values' variance, v₀ what it would be
    were they all at the ends of the scale (Franco, Little, Louis & Slud 2019, doi:10.1093/jssam/smy019; for evaluations of
    language models Bowyer, Aitchison & Ivanova 2025, arXiv:2503.01747). v is drawn towards v₀ by the weight of 1/(high - low)
    problems, so that ten equal values are not taken for certainty. In simulations with known truth it covers where the
    percentile bootstrap and Student's t do not: few problems, and means near an end (docs/evaluation.md has the figures).
    """
    if len(values) < 2:
        return None
    if min(values) < low - 1e-9 or max(values) > high + 1e-9:
        raise ValueError(f"values in [{low:g}, {high:g}] expected, got [{min(values):g}, {max(values):g}]")
    mean, width = min(max(fmean(values), low), high), high - low
    first, last = wilson((mean - low) / width, _effective(values, mean, low, high))
    return Interval(min(low + width * first, mean), max(low + width * last, mean))


def _effective(values: Sequence[float], mean: float, low: float, high: float) -> float:
    """How many all-or-nothing values say as much of their mean as these do."""
    n, weight = len(values), 1 / (high - low)
    most = (mean - low) * (high - mean)
    variance = fsum((value - mean) ** 2 for value in values) / (n - 1)
    return n * most * (n + weight) / (n * variance + weight * most) if most else float(n)


def wilson(part: float, n: float) -> Interval:
    """The shares that `part` of `n` does not contradict, at 95 % (Wilson 1927, doi:10.1080/01621459.1927.10502953).

    >>> [round(end, 3) for end in wilson(8 / 10, 10)]
    [0.49, 0.943]
    """
    pull = Z_975**2 / n
    middle = (part + pull / 2) / (1 + pull)
    reach = sqrt(part * (1 - part) * pull + pull**2 / 4) / (1 + pull)
    return Interval(max(middle - reach, 0.0), min(middle + reach, 1.0))


def sign_flip(differences: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> float:
    """Two-sided p-value of a mean difference of 0 by `gym.evaluation.resampling`, in (0, 1]."""
    from gym.evaluation.resampling import sign_flip

    return sign_flip(differences, seed=seed, resamples=resamples)


def _means(tallies: Sequence[Tally], failed_as_0: bool) -> dict[str, float]:
    """Problem -> the mean of its answers; a problem without one to count is not in it."""
    counted = (tally for tally in tallies if (tally.size if failed_as_0 else tally.rewards))
    return {tally.problem_id: _mean(tally, failed_as_0=failed_as_0) for tally in counted}


def _mean(tally: Tally, *, failed_as_0: bool = False) -> float:
    return fsum(tally.rewards) / (tally.size if failed_as_0 else len(tally.rewards))
