"""The parts of a report in reading order, as text, tables and charts; `page` sets them as Markdown or HTML."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gym.core.problem import ToolUse, tool_use
from gym.evaluation import bill, charts, credited, drawn, scores
from gym.evaluation.closed_book import LABEL, TOLD
from gym.evaluation.figures import UNKNOWN, count, difference, dollars, duration, errors, number
from gym.evaluation.page import Chart, Section, Table
from gym.evaluation.selection import selection

if TYPE_CHECKING:
    from gym.evaluation.report import Report


def title(report: "Report") -> str:
    """The page's heading."""
    return f"Run {report.name}" if report.name else "Run"


def lead(report: "Report") -> tuple[str, ...]:
    """What the run was worth, what it used, and whether the model stayed what it was."""
    return (_worth(report), _used(report), f"Weights: {report.weights}")


def sections(report: "Report") -> tuple[Section, ...]:
    """Warnings first; a part without content is left out."""
    parts = (
        Section("Mind", report.notes, aside=True) if report.notes else None,
        _result(report),
        scores.kinds(report.families, f"By {report.kind or 'kind of problem'}"),
        selection(report),
        _library(report),
        credited.experiences(report),
        _steps(report),
        drawn.section(report.steps),
        _tools(report),
        bill.cost(report.spent),
        bill.prediction(report.predicted, report.spent),
        _identity(report),
    )
    return tuple(part for part in parts if part is not None)


def _worth(report: "Report") -> str:
    told = f"{report.model} holds {count(len(report.library), 'experience')} after {duration(report.seconds)}."
    gain, before, after = report.gain, report.before, report.after
    if gain is None or gain.difference is None or before is None or after is None:
        return f"{told} No held-out problems were measured, so what the library is worth is not known."
    p = f", p = {gain.p_value:.4f}" if gain.p_value is not None else ""
    verdict = gain.verdict if gain.verdict == "no difference" else f"a {gain.verdict}"
    return (
        f"{told} On {count(gain.n_problems, 'held-out problem')} the mean reward went from {number(before.mean)} to "
        f"{number(after.mean)}: {difference(gain)}{p}: {verdict}."
    )


def _used(report: "Report") -> str:
    if "total" not in report.spent:
        return "No calls were metered."
    used = bill.spent_in({"": report.spent["total"]})
    told = "dollars unknown" if used.usd is None else dollars(used.usd)
    return f"Spent: {count(used.calls, 'call')}, {count(used.tokens, 'token')}, {told}, {duration(report.seconds)}."


def _result(report: "Report") -> Section | None:
    rows = [
        scores.Row(name, one, strong=name == "after")
        for name, one in ((LABEL, report.closed_book), ("before", report.before), ("after", report.after))
        if one is not None
    ]
    if not rows:
        return None
    text = [scores.MEAN, *([scores.told(report.gain)] if report.gain else [])]
    if report.over_closed_book:
        text.append(f"{TOLD} {scores.told(report.over_closed_book, 'After against it, paired')}")
    return Section(
        "What it is worth",
        tuple(text),
        scores.table(rows, "Scores on held-out problems"),
        scores.chart(rows, "accuracy", "Mean reward on held-out problems"),
    )


def _library(report: "Report") -> Section:
    share = UNKNOWN if report.overhead_share is None else f"{100 * report.overhead_share:.1f} %"
    size = f"{count(len(report.library), 'experience')}, about {report.overhead_tokens:,} tokens: {share} of a held-out prompt."
    rows = [
        (entry.id, entry.text, number(entry.confidence), str(entry.created_step)) for entry in report.library.entries
    ]
    table = Table("Experiences", ("id", "experience", "confidence", "step"), rows, frozenset({2, 3}))
    sizes = [report.start_size, *(step.library_size for step in report.steps)]
    words = f"Entries before the first step and after each: {', '.join(map(str, sizes))}"
    growth = (Chart(charts.growth(sizes, "growth"), words, "Entries after each step"),) if report.steps else ()
    return Section("The library", (size,), table if rows else None, growth)


def _steps(report: "Report") -> Section | None:
    if not report.steps:
        return None
    rows = [
        (
            f"{step.epoch}/{step.step}",
            number(step.mean),
            number(step.mean_failed_as_0),
            f"{step.informative} / {step.homogeneous}",
            f"{step.failed} / {step.rollouts}",
            ", ".join(f"{times} {option}" for option, times in sorted(step.accepted.items())) or "none",
            str(step.rejected),
            f"{step.library_size} ({step.library_tokens:,})",
            duration(step.seconds),
        )
        for step in report.steps
    ]
    header = (
        "epoch/step", "training mean", "failed as 0", "groups mixed / alike", "failed / rollouts", "accepted", "rejected",
        "library (tokens)", "time",
    )  # fmt: skip
    text = "Mixed / alike counts groups: one whose answers all got the same reward teaches nothing and costs no reflection."
    means = [(step.step, step.mean) for step in report.steps if step.mean is not None]
    words = f"Training mean per step: {', '.join(f'{step}: {number(mean)}' for step, mean in means)}"
    drawn = (
        (Chart(charts.course(means, "course"), words, "Mean reward of the training answers, by step"),) if means else ()
    )
    return Section("Step by step", (text,), Table("Steps", header, rows, frozenset({0, 1, 2, 3, 4, 6, 7, 8})), drawn)


def _tools(report: "Report") -> Section | None:
    measured = [(name, one) for name, one in (("before", report.before), ("after", report.after)) if one is not None]
    sides = [
        ("training", tool_use(step.tools for step in report.steps), sum(step.rollouts for step in report.steps)),
        *((name, one.tools, one.n_answers + one.failed) for name, one in measured),
    ]
    rows = [
        (side, name, f"{used.calls:,}", f"{used.calls / max(answers, 1):.2f}", errors(used))
        for side, tools, answers in sides
        for name, used in tools.items()
    ]
    if not rows:
        return None
    text = "An error is a call that did not do what was asked; the model was told, and could go on."
    table = Table("Tool use", ("", "tool", "calls", "calls per rollout", "errors"), rows, frozenset({2, 3}))
    return Section("Tools", (text, *_visits(sides)), table)


def _visits(sides: Sequence[tuple[str, Mapping[str, ToolUse], int]]) -> tuple[str, ...]:
    """What web tools cost beside tokens."""
    told = [
        f"{side} {visits:,} ({visits / max(answers, 1):.2f} a rollout)"
        for side, tools, answers in sides
        if (visits := sum(used.visits for used in tools.values()))
    ]
    return (f"Pages fetched: {', '.join(told)}.",) if told else ()


def _identity(report: "Report") -> Section:
    rows = [("model", report.model), ("weights", report.weights)]
    if report.verified is not None:
        rows.append(("weights unchanged", "yes, verified" if report.verified else "NO"))
    rows += [(name, value) for name, value in (("started", report.started), ("finished", report.finished)) if value]
    rows += [(f"{name} problems", f"{number:,}") for name, number in report.problems.items()]
    rows += [(f"{name} SHA-256", value) for name, value in report.digests.items()]
    rows += [(key, str(value)) for key, value in sorted(report.config.items()) if value not in (None, "", {})]
    return Section("How to repeat it", (), Table("Settings and digests", ("key", "value"), rows))
