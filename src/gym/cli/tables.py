"""How figures are shown to a person: always with their interval and both denominators."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from gym.core.experience import Library
from gym.core.problem import ToolUse
from gym.core.text import shown
from gym.evaluation import figures
from gym.evaluation.compare import Comparison
from gym.evaluation.metrics import Interval, Paired, Score
from gym.evaluation.overhead import Overhead

out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 120)
"""Results for people go to standard output."""

WIDEST = 10_000
"""Characters of a line that no table of ours reaches."""


def percent(value: float | None, interval: Interval | None = None) -> str:
    """`84.0 % [76.1, 90.2]`; a dash where nothing was measured."""
    if value is None:
        return "–"
    return f"{100 * value:.1f} %" + (f" [{100 * interval.low:.1f}, {100 * interval.high:.1f}]" if interval else "")


def points(gain: Paired) -> str:
    """`+41.7 points [28.5, 54.9], p = 0.0002: gain`."""
    if gain.difference is None:
        return "no problem was scored on both sides"
    reach = f" [{100 * gain.interval.low:+z.1f}, {100 * gain.interval.high:+z.1f}]" if gain.interval else ""
    return f"{100 * gain.difference:+z.1f} points{reach}, p = {gain.p_value:.4f}: {gain.verdict}"


def effect(value: float | None, interval: Interval | None = None) -> str:
    """`+12.5 [+3.1, +21.9]` in points; a dash where nothing was measured."""
    if value is None:
        return "–"
    return f"{100 * value:+z.1f}" + (f" [{100 * interval.low:+z.1f}, {100 * interval.high:+z.1f}]" if interval else "")


def print_table(table: Table, where: Console = out) -> None:
    """A table of which no figure is cut: where it needs more than the screen's width, its lines are longer than that."""
    wide = where.options.update(max_width=WIDEST)
    for column in table.columns:
        if column.no_wrap:
            cells = (column.header, *column.cells)
            column.min_width = max(Measurement.get(where, wide, cell).maximum for cell in cells)
    if (least := Measurement.get(where, wide, table).minimum) > where.width:
        table.width = least
    where.print(table, crop=False, overflow="ignore")


def print_scores(rows: Sequence[tuple[str, Score]]) -> None:
    """One line per measurement."""
    table = Table(box=None, pad_edge=False)
    for heading in ("", "mean [95 %]", "failed as 0", "problems", "answers", "no answer", "failed"):
        table.add_column(heading, justify="left" if not heading else "right", no_wrap=True)
    for name, score in rows:
        counts = (score.n_problems, score.n_answers, score.no_answer, score.failed)
        table.add_row(
            literal(name), percent(score.mean, score.interval), percent(score.mean_failed_as_0), *map(str, counts)
        )
    print_table(table)


def literal(name: str) -> Text:
    """A name from a file or a folder: never taken for markup, and it cannot steer a terminal."""
    return Text(name if name.isprintable() else shown(name))


def print_pass_at(rows: Sequence[tuple[str, Score]]) -> None:
    """One line per measurement, with every k."""
    for name, score in rows:
        solved = "  ".join(
            f"pass@{k} {percent(value, score.pass_at_interval.get(k))}" for k, value in score.pass_at.items()
        )
        if solved:
            out.print(f"{name}: {solved}" if len(rows) > 1 else solved, markup=False)


def print_comparison(found: Comparison) -> None:
    """The paired difference under both denominators, by kind of problem, and what the library costs."""
    out.print(f"difference on the same problems: {points(found.gain)}")
    if found.gain_failed_as_0 != found.gain:
        out.print(f"  with failed answers as 0: {points(found.gain_failed_as_0)}")
    for key, rows in found.tables.items():
        table = Table(box=None, pad_edge=False)
        table.add_column(literal(key), no_wrap=True)
        for heading in ("problems", found.before.label, found.after.label, "difference"):
            table.add_column(literal(heading), justify="right", no_wrap=True)
        for row in rows:
            sides = (percent(side.mean, side.interval) for side in (row.before, row.after))
            table.add_row(literal(row.name), str(row.gain.n_problems), *sides, points(row.gain))
        print_table(table)
    if found.overhead:
        out.print(overhead(found.overhead))


def overhead(cost: Overhead) -> str:
    """What an answer takes after, beside before."""
    seconds = f"{cost.before_latency_s:.2f} s → {cost.after_latency_s:.2f} s an answer"
    if cost.tokens is None:
        return f"prompt tokens unknown; {seconds}"
    prompts = f"{cost.before_prompt:,.0f} → {cost.after_prompt:,.0f}"
    share = "" if cost.share is None else f", {100 * cost.share:.0f} % of the prompt"
    return f"prompt tokens an answer: {prompts} ({cost.tokens:+z,.0f}{share}); {seconds}"


def print_tools(rows: Sequence[tuple[str, Mapping[str, ToolUse]]]) -> None:
    """One line per measurement in which tools were used."""
    for name, used in rows:
        if used:
            out.print(f"tools, {name}: {figures.tools(used)}", markup=False)


def print_library(library: Library) -> None:
    """The experiences as they stand in a prompt."""
    click.echo(library.render().encode("utf-8", "backslashreplace") if len(library) else "(no experiences)")


def money(usd: object, tokens: int) -> str:
    """`12,345 tokens, $0.0210`; `cost unknown` for a model without a price."""
    return f"{tokens:,} tokens, " + (
        "cost unknown" if not isinstance(usd, int | float) else f"${usd:.4f}" if usd else "free"
    )


def spent(total: Mapping[str, Any]) -> str:
    """`338 calls, 34,878 tokens, free`: what all commands of a folder came to, from the `total` of `Meter.snapshot()`."""
    return f"{figures.count(total['calls'], 'call')}, {money(total['usd'], total['prompt_tokens'] + total['completion_tokens'])}"
