"""What a library is worth, in numbers: means with intervals, pass@k, and the paired difference of two evaluations.

The unit of sampling is the problem, not the answer: k answers to one problem are not k independent observations, so every
interval resamples problems (a cluster bootstrap: Cameron, Gelbach & Miller 2008, doi:10.1162/rest.90.3.414; for evaluations
of language models Miller 2024, arXiv:2411.00640). Rewards are values in [0, 1]; a failed rollout has none (SPEC 1.2).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import fsum, prod
from random import Random
from statistics import fmean, quantiles, stdev
from typing import Literal, NamedTuple

from pydantic import Field

from gym.core.chat import Usage
from gym.core.problem import ToolUse, tool_use
from gym.core.rollout import Tally
from gym.core.value import Value

RESAMPLES = 4_000
"""Bootstrap resamples and sign flips; the tail of 2.5 % then rests on 100 of them."""

FEW = 10
"""Below this many problems a percentile bootstrap is too narrow, and Student's t is used instead."""

MANY = 1_000
"""Above this many problems a bootstrap only repeats, at length, what the normal distribution says at once."""

PASSED = 1 - 1e-9
"""A reward from here on counts as solved."""

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
    pass_at: dict[int, float]
    """k -> unbiased pass@k over the problems with at least k scored answers."""
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


def score(tallies: Sequence[Tally], *, seed: int = 0, resamples: int = RESAMPLES) -> Score:
    """The figures of one evaluation, one tally a problem; the same tallies and seed give the same interval."""
    scored = [tally for tally in tallies if tally.rewards]
    means = [fmean(tally.rewards) for tally in scored]
    attempted = [tally for tally in tallies if tally.size]
    return Score(
        mean=fmean(means) if means else None,
        interval=_within_unit(interval(means, seed=seed, resamples=resamples)),
        n_problems=len(scored),
        n_answers=sum(len(tally.rewards) for tally in tallies),
        failed=sum(tally.failed for tally in tallies),
        no_answer=sum(tally.no_answer for tally in tallies),
        mean_failed_as_0=fmean(sum(tally.rewards) / tally.size for tally in attempted) if attempted else None,
        pass_at=pass_at(scored),
        tokens=Usage.sum(tally.tokens for tally in tallies),
        tools=tool_use(tally.tools for tally in tallies),
    )


def paired(before: Sequence[Tally], after: Sequence[Tally], *, seed: int = 0, resamples: int = RESAMPLES) -> Paired:
    """The difference on the problems (matched by id) that have a scored answer on both sides; order does not matter."""
    old, new = _means(before), _means(after)
    shared = sorted(old.keys() & new.keys())
    differences = [new[problem] - old[problem] for problem in shared]
    everyone = {tally.problem_id for tally in chain(before, after)}
    return Paired(
        difference=fmean(differences) if differences else None,
        interval=interval(differences, seed=seed, resamples=resamples),
        p_value=sign_flip(differences, seed=seed, resamples=resamples) if differences else None,
        n_problems=len(shared),
        better=sum(difference > 0 for difference in differences),
        worse=sum(difference < 0 for difference in differences),
        left_out=len(everyone) - len(shared),
    )


def by(tallies: Iterable[Tally], key: str) -> dict[str, list[Tally]]:
    """Tallies by their problem's `metadata[key]`, names sorted; a problem without it goes under "(none)"."""
    table: dict[str, list[Tally]] = {}
    for tally in tallies:
        table.setdefault(str(tally.metadata.get(key, "(none)")), []).append(tally)
    return dict(sorted(table.items()))


def interval(values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> Interval | None:
    """95 % interval of the mean of one value per problem; None for fewer than two.

    Percentile bootstrap over problems with a seeded generator. Below `FEW` problems mean ± t·s/√n, which is wide because
    little is known, and above `MANY` mean ± 1.96·s/√n; when all values agree, the interval is that point.
    """
    n = len(values)
    if n < 2:
        return None
    if FEW <= n <= MANY:
        return _percentiles(values, seed=seed, resamples=resamples)
    middle, reach = fmean(values), (_T_975[n - 2] if n < FEW else 1.96) * stdev(values) / n**0.5
    return Interval(middle - reach, middle + reach)


def _percentiles(values: Sequence[float], *, seed: int, resamples: int) -> Interval:
    """The middle 95 % of the means of resamples. Plain Python: numpy would be a seventh of an evaluation's memory."""
    draw, n = Random(seed), len(values)
    means = [fsum(draw.choices(values, k=n)) / n for _ in range(resamples)]
    cuts = quantiles(means, n=40, method="inclusive")
    return Interval(cuts[0], cuts[-1])


def sign_flip(differences: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> float:
    """Two-sided p-value of a mean difference of 0 by `gym.evaluation.resampling`, in (0, 1]."""
    from gym.evaluation.resampling import sign_flip

    return sign_flip(differences, seed=seed, resamples=resamples)


def pass_at(tallies: Sequence[Tally]) -> dict[int, float]:
    """k -> mean over problems with n >= k scored answers of the unbiased pass@k, for every k up to the largest n."""
    counts = Counter((len(tally.rewards), sum(reward >= PASSED for reward in tally.rewards)) for tally in tallies)
    largest = max((n for n, _ in counts), default=0)
    return {
        k: fmean(
            [pass_at_k(n, c, k) for n, c in counts if n >= k], [times for (n, _), times in counts.items() if n >= k]
        )
        for k in range(1, largest + 1)
    }


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that k of n answers drawn without replacement hold one of the c right ones: 1 - C(n-c, k) / C(n, k).

    Chen et al. 2021, arXiv:2107.03374; needs 1 <= k <= n and 0 <= c <= n.

    >>> pass_at_k(5, 2, 1), pass_at_k(5, 2, 4)
    (0.4, 1.0)
    """
    if not (1 <= k <= n and 0 <= c <= n):
        raise ValueError(f"pass@k needs 1 <= k <= n and 0 <= c <= n, got n={n}, c={c}, k={k}")
    return 0.0 if c == 0 else round(1.0 - prod(1.0 - k / i for i in range(n - c + 1, n + 1)), 12)


def _within_unit(found: Interval | None) -> Interval | None:
    """Cut to [0, 1], where a mean reward lies; Student's t reaches beyond when problems are few."""
    return None if found is None else Interval(max(found.low, 0.0), min(found.high, 1.0))


def _means(tallies: Sequence[Tally]) -> dict[str, float]:
    return {tally.problem_id: fmean(tally.rewards) for tally in tallies if tally.rewards}
