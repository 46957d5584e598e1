"""The part of a report that tells how its library was chosen, and what that does to the figures (the winner's curse).

A library is kept because its answers to the validation problems came out well, so their difference is too good on average;
only problems that decided nothing say what it is worth.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gym.core.decision import Decision
from gym.evaluation.figures import UNKNOWN, count, difference
from gym.evaluation.metrics import Paired
from gym.evaluation.page import Section, Table

if TYPE_CHECKING:
    from gym.evaluation.report import Report
    from gym.train.grpo.run_dir import StepStats

WHOLE = (
    "Where a row says whole step, all changes of the step were taken back together. A second row, if there is one, is of a part: "
    "of removals that were measured, or of the proposals that then stood a trial on training problems."
)
_HEADER = ("epoch/step", "decision", "problems", "answers", "failed", "difference", "p", "ended")


def selection(report: "Report") -> Section | None:
    """Every decision of the gate with its figures, then what they are worth; None when it decided nothing."""
    rows = [row for step in report.steps for row in _rows(step)]
    if not rows:
        return None
    text = [
        "A step's library and the one before it answered the same validation problems, block by block, until the difference "
        "was clear or hopeless. p is one-sided and adjusted for the looks on the way.",
        *([WHOLE] if any(step.whole for step in report.steps) else []),
        *([f"At the end the run went back: {report.went_back}."] if report.went_back else []),
        _optimistic(report.validated),
        _fresh(report.gain),
    ]
    return Section(
        "How the library was chosen", tuple(text), Table("Decisions", _HEADER, rows, frozenset({0, 2, 3, 4, 5, 6}))
    )


def _rows(step: "StepStats") -> Iterator[tuple[str, ...]]:
    place = f"{step.epoch}/{step.step}"
    if step.whole:
        yield _row(f"{place}, whole step", step.whole)
    if step.gate:
        yield _row(place, step.gate)


def _row(place: str, decided: Decision) -> tuple[str, ...]:
    return (
        place,
        f"{decided.verdict}, {'kept' if decided.kept else 'taken back'}",
        f"{decided.problems:,} of {decided.planned:,}",
        f"{decided.answers:,}",
        f"{decided.failed:,}",
        UNKNOWN if decided.difference is None else f"{decided.difference:+z.3f}",
        f"{decided.p_value:.4f}",
        decided.ended,
    )


def _optimistic(validated: Paired | None) -> str:
    if validated is None:
        return "The returned library has the texts of the one the run started from."
    return (
        f"On {count(validated.n_problems, 'validation problem')} the returned library is {difference(validated)} over the one "
        "the run started from. This figure is optimistic: the library was chosen by these very answers."
    )


def _fresh(gain: Paired | None) -> str:
    if gain is None or gain.difference is None:
        return (
            "There was no fresh test split, so a gain is not confirmed: give --test FILE or --test-fraction 0.3 to measure it "
            "on problems that decided nothing."
        )
    fresh = count(gain.n_problems, "fresh held-out problem")
    told = f"On {fresh}, which decided nothing, it is {difference(gain)}: {gain.verdict}."
    return told if gain.verdict == "gain" else f"{told} A gain is not confirmed."
