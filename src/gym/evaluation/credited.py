"""The part of a report that says what each experience does: who cited it, and what showing it did to the reward."""

from typing import TYPE_CHECKING

from gym.core.experience import Effect, Experience
from gym.evaluation.figures import count
from gym.evaluation.figures import interval as told
from gym.evaluation.metrics import wilson
from gym.evaluation.page import Section, Table
from gym.train.grpo.credit import is_useless

if TYPE_CHECKING:
    from gym.evaluation.report import Report

CITED = (
    "Cited: training answers that named it, and of those above or below their group's mean the share above, with its 95 % "
    "interval. Answers that cite differ from others in more than that, so this is a hint."
)
MEASURED = (
    "Effect: mean reward of the training answers that were shown it minus that of those that were not, which chance "
    "decided; 95 % interval over problems."
)
UNMEASURED = "No effect was measured: --inclusion 0.7 shows each experience to a random part of the training answers."


def experiences(report: "Report") -> Section | None:
    """A row for each entry, and for each that left for its figures; None when nothing is known of any."""
    known = [*report.library.entries, *report.removed]
    if not any(entry.uses or entry.effect for entry in known):
        return None
    margin = float(report.config.get("credit_margin", 0.0))
    rows = [(*_row(entry), verdict(entry.effect, margin)) for entry in report.library.entries]
    rows += [(*_row(entry), f"{verdict(entry.effect, margin)}: removed") for entry in report.removed]
    header = ("id", "experience", "cited", "better / worse", "share better", "effect [95 %]", "measured on", "verdict")
    text = MEASURED if any(entry.effect for entry in known) else UNMEASURED
    return Section("What each experience does", (CITED, text), Table("Effects", header, rows, frozenset(range(2, 7))))


def verdict(effect: Effect | None, margin: float) -> str:
    """In words, by the interval."""
    if effect is None:
        return "not measured"
    if effect.low > 0:
        return "helps"
    if effect.high < 0:
        return "harms"
    return "adds too little" if is_useless(effect, margin) else "unclear"


def _row(entry: Experience) -> tuple[str, ...]:
    told_by, effect = entry.helpful + entry.harmful, entry.effect
    return (
        entry.id,
        entry.text,
        str(entry.uses),
        f"{entry.helpful} / {entry.harmful}",
        told(entry.helpful / told_by, wilson(entry.helpful / told_by, told_by)) if told_by else "–",
        effect.figures if effect else "–",
        f"{count(effect.rollouts, 'answer')}, {count(effect.problems, 'problem')}" if effect else "–",
    )
