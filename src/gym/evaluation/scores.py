"""Scores as tables and charts, the same on the page of a run, of an evaluation and of a comparison."""

from collections.abc import Sequence
from typing import NamedTuple

from gym.evaluation import charts
from gym.evaluation.families import Family
from gym.evaluation.figures import UNKNOWN, count, difference, interval
from gym.evaluation.metrics import Paired, Score
from gym.evaluation.page import Chart, Section, Table

FIGURES = ("mean [95 %]", "failed as 0", "pass@1", "pass@k", "problems", "answers", "no answer", "failed", "tokens")

MEAN = (
    "Mean over problems of the mean reward of their answers (those without an answer count, failed ones do not), with "
    "its 95 % interval over problems; beside it the mean with every failed one as 0."
)


KINDS = (
    "A gain or a loss has an interval that excludes 0 and p of at most 0.05, which fewer than six problems cannot reach; of many "
    "kinds one looks like it by chance."
)


class Row(NamedTuple):
    """A measurement under the name it has on the page."""

    name: str
    score: Score
    strong: bool = False
    """Drawn in the accent colour."""


def table(rows: Sequence[Row], caption: str) -> Table:
    """One column a measurement."""
    header = ("", *(row.name for row in rows))
    cells = zip(FIGURES, *(figures(row.score) for row in rows), strict=True)
    return Table(caption, header, list(cells), frozenset(range(1, len(header))))


def figures(value: Score) -> tuple[str, ...]:
    """In the order of `FIGURES`."""
    last = max(value.pass_at, default=0)
    counts = (value.n_problems, value.n_answers, value.no_answer, value.failed, value.tokens.total)
    return (
        interval(value.mean, value.interval),
        interval(value.mean_failed_as_0, value.interval_failed_as_0),
        pass_at(value, 1),
        f"{pass_at(value, last)} (k={last})" if last else UNKNOWN,
        *(f"{one:,}" for one in counts),
    )


def pass_at(value: Score, k: int) -> str:
    """pass@k with its interval."""
    return interval(value.pass_at.get(k), value.pass_at_interval.get(k))


def chart(rows: Sequence[Row], name: str, caption: str) -> tuple[Chart, ...]:
    """The means as bars with their intervals; nothing when nothing was scored."""
    bars = [
        charts.Bar(row.name, row.score.mean, row.score.interval, row.strong)
        for row in rows
        if row.score.mean is not None
    ]
    words = "; ".join(f"{row.name} {interval(row.score.mean, row.score.interval)}" for row in rows)
    drawn = (
        Chart(charts.accuracy(bars, name), f"{caption}: {words}", f"{caption}, with 95 % intervals") if bars else None
    )
    return (drawn,) if drawn else ()


def told(gain: Paired, among: str = "Paired") -> str:
    """A paired difference in one sentence."""
    p = f", p = {gain.p_value:.4f}" if gain.p_value is not None else ""
    moved = f"{gain.better} better, {gain.worse} worse, {gain.left_out} left out"
    return f"{among} on the same {count(gain.n_problems, 'problem')}: {difference(gain)}{p}, {gain.verdict}; {moved}."


def kinds(rows: Sequence[Family], title: str, sides: tuple[str, str] = ("before", "after")) -> Section | None:
    """One line for each kind of problem."""
    if not rows:
        return None
    cells = [
        (
            family.name,
            f"{family.gain.n_problems:,}",
            interval(family.before.mean, family.before.interval),
            interval(family.after.mean, family.after.interval),
            difference(family.gain),
            UNKNOWN if family.gain.p_value is None else f"{family.gain.p_value:.4f}",
            family.gain.verdict,
        )
        for family in rows
    ]
    header = ("kind", "problems", *sides, "difference", "p", "verdict")
    bars = [
        row
        for family in rows
        for row in (
            Row(f"{family.name} {sides[0]}", family.before),
            Row(f"{family.name} {sides[1]}", family.after, strong=True),
        )
    ]
    drawn = chart(bars, f"families {title}", "Mean reward by kind of problem")
    return Section(title, (KINDS,), Table(f"Scores: {title}", header, cells, frozenset({1, 2, 3, 4, 5})), drawn)
