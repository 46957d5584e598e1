"""What an ablation found: a row a variant, with what was gained, what it took, and how it differs from the first.

A gain is the mean over held-out problems and learning seeds of after minus before, each problem with itself; its interval counts
both as samples (`gym.evaluation.crossed`). Calls and tokens are those of learning: rollouts, reflection, trials, validation, but
not the answers to held-out problems, which only measure.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from gym.core.value import Value
from gym.evaluation import page
from gym.evaluation.crossed import BySeed, Crossed, crossed, minus
from gym.evaluation.figures import NONE, count, dollars, number
from gym.evaluation.metrics import Interval
from gym.evaluation.page import Section, Table
from gym.evaluation.variants import Variant, settings


class Spent(Value):
    """Calls, tokens and dollars."""

    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    """None: unknown."""

    def __add__(self, other: "Spent") -> "Spent":
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Spent(calls=self.calls + other.calls, tokens=self.tokens + other.tokens, usd=usd)

    def __sub__(self, other: "Spent") -> "Spent":
        usd = None if self.usd is None or other.usd is None else max(self.usd - other.usd, 0.0)
        return Spent(calls=max(self.calls - other.calls, 0), tokens=max(self.tokens - other.tokens, 0), usd=usd)


class Outcome(Value):
    """What one run of an ablation left; kept beside the run, so that a finished run is not run again."""

    before: Mapping[str, float]
    """Mean reward of each held-out problem."""
    after: Mapping[str, float]
    learning: Spent
    """Without the answers to held-out problems; its dollars are those of the whole run."""
    paid: Spent
    """All that the run paid for itself."""
    experiences: int
    seconds: float


class Row(Value):
    """One variant."""

    name: str
    settings: Mapping[str, Any]
    seeds: tuple[int, ...]
    """Those whose runs are finished."""
    before: Crossed
    after: Crossed
    gain: Crossed
    calls: float | None
    """Of learning, the mean of a run; None before the first is finished."""
    tokens: float | None
    experiences: float | None
    against_first: Crossed | None
    """Its gain minus the first variant's, on the seeds both have; None for the first itself."""


class Ablation(Value):
    """All variants so far."""

    name: str
    model: str
    rows: tuple[Row, ...]
    runs: int
    """Wanted in all."""
    finished: int
    paid: Spent
    """By all finished runs together."""


def row(variant: Variant, runs: Mapping[int, Outcome], first: Mapping[int, Outcome] | None = None) -> Row:
    """A variant's figures from its finished runs by seed; `first` are those of the variant to compare with."""
    outcomes = [runs[seed] for seed in sorted(runs)]
    return Row(
        name=variant.name,
        settings=variant.changes,
        seeds=tuple(sorted(runs)),
        before=crossed({seed: run.before for seed, run in runs.items()}, Interval(0, 1)),
        after=crossed({seed: run.after for seed, run in runs.items()}, Interval(0, 1)),
        gain=crossed(_gains(runs), Interval(-1, 1)),
        calls=_mean([run.learning.calls for run in outcomes]),
        tokens=_mean([run.learning.tokens for run in outcomes]),
        experiences=_mean([run.experiences for run in outcomes]),
        against_first=None if first is None else crossed(minus(_gains(runs), _gains(first)), Interval(-2, 2)),
    )


def table(found: Ablation) -> Table:
    """A line a variant."""
    header = (
        "variant",
        "seeds",
        "before",
        "after",
        "gain [95 %]",
        "calls",
        "tokens",
        "experiences",
        "against the first [95 %]",
    )
    return Table("Variants", header, [_cells(one) for one in found.rows], frozenset(range(1, 9)))


def notes(found: Ablation) -> tuple[str, ...]:
    """How to read the table."""
    first = found.rows[0]
    lines = [
        f"The first variant has {settings(first.settings)}; each other one is named by what differs from it.",
        f"{found.finished} of {count(found.runs, 'run')} finished, with {count(found.paid.calls, 'call')} and "
        f"{count(found.paid.tokens, 'token')} in all, dollars: {dollars(found.paid.usd)}.",
        "Gain is after minus before on the same held-out problems; intervals are over problems and seeds, both taken as samples. "
        "Calls and tokens are a run's mean without the answers to held-out problems.",
    ]
    if len(found.rows) > 2:
        lines.append(f"Of {len(found.rows) - 1} differences at 95 %, about one in twenty excludes 0 by chance.")
    if first.gain.left_out:
        lines.append(
            f"{count(first.gain.left_out, 'problem')} without a score under every seed are left out of the first row."
        )
    return tuple(lines)


def markdown(found: Ablation) -> str:
    """`ablation.md`."""
    title = f"Ablation {found.name}"
    return page.markdown(title, (f"Model {found.model}.",), [Section("Variants", notes(found), table(found))])


def _gains(runs: Mapping[int, Outcome]) -> BySeed:
    return minus({seed: run.after for seed, run in runs.items()}, {seed: run.before for seed, run in runs.items()})


def _cells(one: Row) -> tuple[str, ...]:
    figures = (one.calls, one.tokens, one.experiences)
    return (
        one.name,
        str(len(one.seeds)),
        number(one.before.mean),
        number(one.after.mean),
        _signed(one.gain),
        *(
            NONE if value is None else f"{value:,.1f}" if value < 100 and value % 1 else f"{value:,.0f}"
            for value in figures
        ),
        NONE if one.against_first is None else _signed(one.against_first),
    )


def _signed(found: Crossed) -> str:
    if found.mean is None:
        return NONE
    around = found.interval
    return f"{found.mean:+z.3f}" + (f" [{around.low:+z.3f}, {around.high:+z.3f}]" if around else "")


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
