"""The part of a report that says how answers were spent, where groups may differ in size and problems may rest."""

from collections.abc import Sequence

from gym.core.draws import Draws
from gym.evaluation.figures import count
from gym.evaluation.page import Section, Table
from gym.train.grpo.run_dir import StepStats


def section(steps: Sequence[StepStats]) -> Section | None:
    """Groups stopped early, extended, drawn again and skipped, by epoch; None when every problem got G answers an epoch."""
    told = [(step.epoch, step.draws) for step in steps if step.draws is not None]
    if not told:
        return None
    epochs = sorted({epoch for epoch, _ in told})
    rows = [_row(str(epoch), [draws for which, draws in told if which == epoch]) for epoch in epochs]
    total = Draws.sum(draws for _, draws in told)
    rows.append(_row("all", [total]))
    header = (
        "epoch",
        "groups",
        "stopped early",
        "extended",
        "drawn again",
        "problems resting",
        "answers",
        "G each",
        "saved",
    )
    table = Table("Answers by epoch", header, rows, frozenset(range(1, 9)))
    return Section("How answers were spent", (_words(total),), table)


def _words(total: Draws) -> str:
    less = f"{count(total.saved, 'answer')} saved" if total.saved >= 0 else f"{count(-total.saved, 'answer')} more"
    return (
        f"{less} against G answers to every problem in every epoch ({total.answers:,} instead of {total.plain:,}): "
        f"{count(total.stopped, 'group')} stopped as soon as mixed, {count(total.extended, 'group')} went on beyond G, "
        f"{count(total.resting, 'problem')} sat out an epoch, {count(total.again, 'group')} were second draws. The training mean "
        "of groups that stop when mixed leans towards 1/2: judge progress by held-out problems."
    )


def _row(name: str, several: Sequence[Draws]) -> tuple[str, ...]:
    one = Draws.sum(several)
    counts = (one.groups, one.stopped, one.extended, one.again, one.resting, one.answers, one.plain, one.saved)
    return (name, *(f"{number:,}" for number in counts))
