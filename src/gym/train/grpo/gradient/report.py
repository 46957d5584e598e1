"""What a gradient baseline leaves to be read: what training is worth, how it went, what it took, changed and forgot."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from gym.core.value import Value
from gym.evaluation import bill, compare_page, eval_page, page, scores
from gym.evaluation.compare import Comparison
from gym.evaluation.effort import Changed, Effort
from gym.evaluation.figures import NONE, UNKNOWN, count, difference, duration, number, size
from gym.evaluation.page import Section, Table
from gym.files import write_atomic
from gym.train.grpo.run_dir import RunDir

WAYS = {"grpo": "gradient GRPO", "lora": "LoRA"}


class Step(Value):
    """One optimizer step."""

    step: int
    reward: float | None
    """Mean over the step's answers."""
    alike: float | None
    """Share of groups whose answers all got one reward, from which no gradient comes."""
    loss: float
    grad_norm: float | None
    seconds: float
    tokens: int
    """Prompts and answers drawn so far."""


class BaselineReport(Value):
    """Everything of one baseline."""

    name: str
    model: str
    training: str
    """Way, learning rate and what else was said."""
    weights: str
    """One line on the model's files, which training leaves as they are."""
    checkpoint: str
    """What was trained, below the run's folder."""
    problems: Mapping[str, int]
    comparison: Comparison
    """Held-out problems before against after training."""
    elsewhere: tuple[Comparison, ...] = ()
    effort: Effort
    steps: tuple[Step, ...]
    spent: Mapping[str, Any] = {}
    """`Meter.snapshot()`: the held-out answers, and a judge's calls."""
    seconds: float
    config: Mapping[str, Any] = {}
    digests: Mapping[str, str] = {}
    notes: tuple[str, ...] = Field(default=())

    def as_object(self) -> dict[str, Any]:
        """For `--json` and report.json."""
        compared = {
            "comparison": self.comparison.as_object(),
            "elsewhere": [one.as_object() for one in self.elsewhere],
        }
        return self.model_dump(mode="json", exclude=set(compared)) | compared


def write_report(folder: RunDir, report: BaselineReport) -> None:
    """report.json, report.md and report.html, as every run has them."""
    folder.write_json("report.json", report.as_object())
    parts = (f"Baseline {report.name}", lead(report), sections(report))
    write_atomic(folder.path("report.md"), page.markdown(*parts))
    write_atomic(folder.path("report.html"), page.html(*parts))


def lead(report: BaselineReport) -> tuple[str, ...]:
    """The result, what it took, and what is left of the model."""
    gain = report.comparison.gain
    before, after = report.comparison.before.score, report.comparison.after.score
    told = f"{report.model} after {count(len(report.steps), 'step')} of {WAYS[report.effort.way]}: on "
    return (
        f"{told}{count(gain.n_problems, 'held-out problem')} the mean reward went from {number(before.mean)} to "
        f"{number(after.mean)}: {difference(gain)}: {gain.verdict}.",
        f"{report.training}; learned in {duration(report.effort.learning_s)}, {count(report.effort.tokens, 'token')}.",
        f"Its files: {report.weights}. {told_changes(report.effort.changed)}",
    )


def told_changes(changed: Changed | None) -> str:
    """What training did to the model, in one sentence."""
    if changed is None:
        return "What training changed was not counted."
    added = f", and {changed.added:,} were added as adapters" if changed.added else ""
    return (
        f"In memory {changed.changed:,} of {changed.parameters:,} parameters changed, in {changed.changed_tensors} of "
        f"{changed.tensors} tensors{added}: {100 * changed.share:.3g} %."
    )


def sections(report: BaselineReport) -> tuple[Section, ...]:
    """Warnings first; a part without content is left out."""
    notes = (*report.notes, *report.comparison.notes)
    parts = (
        Section("Mind", notes, aside=True) if notes else None,
        compare_page.result(report.comparison, "What it is worth"),
        *(scores.kinds(rows, f"By {key}") for key, rows in report.comparison.tables.items()),
        _took(report.effort),
        _steps(report.steps),
        *map(_elsewhere, report.elsewhere),
        bill.cost(report.spent),
        _made(report),
    )
    return tuple(part for part in parts if part is not None)


def _took(effort: Effort) -> Section:
    changed = effort.changed
    rows = [
        ("learning", duration(effort.learning_s)),
        ("the whole run", duration(effort.seconds)),
        ("answers drawn, judgements", UNKNOWN if effort.calls is None else f"{effort.calls:,}"),
        ("tokens", f"{effort.tokens:,}"),
        ("peak memory", UNKNOWN if effort.peak_bytes is None else size(effort.peak_bytes)),
    ]
    if changed:
        rows += [
            ("parameters of the model", f"{changed.parameters:,}"),
            ("of them changed", f"{changed.changed:,}"),
            ("added as adapters", f"{changed.added:,}"),
        ]
    return Section("What it took", (), Table("What training took", ("", "measured"), rows, frozenset({1})))


def _steps(steps: Sequence[Step]) -> Section | None:
    if not steps:
        return None
    rows = [
        (
            str(one.step),
            number(one.reward),
            NONE if one.alike is None else f"{100 * one.alike:.0f} %",
            f"{one.loss:.4f}",
            NONE if one.grad_norm is None else f"{one.grad_norm:.3g}",
            f"{one.tokens:,}",
            duration(one.seconds),
        )
        for one in steps
    ]
    header = ("step", "training mean", "groups alike", "loss", "gradient norm", "tokens so far", "time")
    text = "A group whose answers all got the same reward gives no gradient."
    return Section("Step by step", (text,), Table("Steps", header, rows, frozenset(range(7))))


def _elsewhere(found: Comparison) -> Section:
    section = compare_page.result(found, f"Elsewhere: {found.after.made.dataset}")
    return section._replace(text=(said_elsewhere(found), *found.notes, *compare_page.differences(found)))


def said_elsewhere(found: Comparison) -> str:
    """What training did where it should not matter."""
    return eval_page.said_elsewhere(found, "Training")


def _made(report: BaselineReport) -> Section:
    rows = [("model", report.model), ("training", report.training), ("weights", report.weights)]
    rows += [("trained", report.checkpoint)]
    rows += [(f"{name} problems", f"{number:,}") for name, number in report.problems.items()]
    rows += [(f"{name} SHA-256", value) for name, value in report.digests.items()]
    rows += [(key, str(value)) for key, value in sorted(report.config.items()) if value not in (None, "", {})]
    return Section("How to repeat it", (), Table("Settings and digests", ("key", "value"), rows))
