"""Several ways as a page: what each is worth, what it took to learn, and what it did elsewhere."""

from collections.abc import Callable, Iterator, Sequence

from gym.evaluation import page, scores
from gym.evaluation.effort import Changed, Effort
from gym.evaluation.figures import NONE, UNKNOWN, count, difference, dollars, duration, interval, size
from gym.evaluation.metrics import Paired
from gym.evaluation.page import Section, Table
from gym.evaluation.ways import Line, Ways, mean

TOOK = (
    "Learning alone, the mean over a way's runs: held-out answers are in none of these but the peak of memory, which is the "
    "largest of any run, model server and workers included. Energy is not measured."
)
CHANGED = "Parameters with another value than before, adapters added beside them, and both over all that the model has."


def markdown(found: Ways) -> str:
    """For a file that is read as text."""
    return page.markdown(_title(found), lead(found), sections(found))


def html(found: Ways) -> str:
    """One file that loads nothing."""
    return page.html(_title(found), lead(found), sections(found))


def _title(found: Ways) -> str:
    return f"{found.lines[0].label} and {', '.join(line.label for line in found.lines[1:])}"


def lead(found: Ways) -> tuple[str, ...]:
    """What the differences are to."""
    first = found.lines[0]
    return (
        f"{count(first.score.n_problems, 'problem')}; differences are to {first.label}, paired by problem, with 95 % intervals "
        "over problems.",
    )


def sections(found: Ways) -> tuple[Section, ...]:
    """Warnings first; a part without content is left out."""
    parts = (
        Section("Mind", found.notes, aside=True) if found.notes else None,
        worth(found),
        took(found),
        *elsewhere(found),
        made(found),
    )
    return tuple(part for part in parts if part is not None)


def worth(found: Ways) -> Section:
    """Each way's score, and its difference to the first."""
    rows = [
        (
            line.label,
            str(len(line.made)),
            interval(line.score.mean, line.score.interval),
            *_difference(line.gain),
            f"{line.score.n_answers:,}",
            f"{line.score.failed:,}",
        )
        for line in found.lines
    ]
    header = ("", "runs", "mean [95 %]", "difference", "p", "verdict", "answers", "failed")
    table = Table("Scores on held-out problems", header, rows, frozenset({1, 2, 3, 4, 6, 7}))
    bars = [scores.Row(line.label, line.score, strong=place > 0) for place, line in enumerate(found.lines)]
    drawn = scores.chart(bars, "ways", "Mean reward on held-out problems")
    return Section("What each is worth", (), table, drawn)


def took(found: Ways) -> Section | None:
    """What learning took; None when no way told."""
    if not any(line.efforts for line in found.lines):
        return None
    rows = [_took(line) for line in found.lines]
    header = ("", "learning", "calls", "tokens", "dollars", "peak memory", "parameters changed", "adapters", "share")
    table = Table("What learning took", header, rows, frozenset(range(1, 9)))
    return Section("What each took", (TOOK, CHANGED), table)


def elsewhere(found: Ways) -> Iterator[Section]:
    """For each other set what the ways did to its answers."""
    there = [(line, one) for line in found.lines for one in line.elsewhere]
    for dataset in dict.fromkeys(one.dataset for _, one in there):
        rows = [
            (
                line.label,
                interval(one.before.mean, one.before.interval),
                interval(one.after.mean, one.after.interval),
                *_difference(one.gain),
            )
            for line, one in there
            if one.dataset == dataset
        ]
        header = ("", "before [95 %]", "after [95 %]", "difference", "p", "verdict")
        text = "Problems of another kind before and after learning: a loss is what was forgotten."
        yield Section(
            f"Elsewhere: {dataset}",
            (text,),
            Table(f"Scores elsewhere: {dataset}", header, rows, frozenset({1, 2, 3, 4})),
        )


def made(found: Ways) -> Section:
    """Models, seeds and settings of each way."""
    rows = [(line.label, *_made(line)) for line in found.lines]
    header = ("", "model", "data", "seeds", "answers each", "temperature", "library")
    return Section("How each was made", (), Table("Settings", header, rows, frozenset({4, 5})))


def _made(line: Line) -> tuple[str, ...]:
    first = line.made[0]
    sizes = dict.fromkeys(str(one.library_size) for one in line.made)
    return (
        first.model,
        first.dataset,
        ", ".join(dict.fromkeys(str(one.seed) for one in line.made)),
        str(first.k),
        f"{first.temperature:g}",
        ", ".join(sizes) if any(one.library_size for one in line.made) else NONE,
    )


def _difference(gain: Paired | None) -> tuple[str, str, str]:
    if gain is None:
        return NONE, NONE, NONE
    return difference(gain), UNKNOWN if gain.p_value is None else f"{gain.p_value:.4f}", gain.verdict


def _took(line: Line) -> tuple[str, ...]:
    efforts = line.efforts
    if not efforts:
        return (line.label, *[NONE] * 8)
    peaks = [one.peak_bytes for one in efforts if one.peak_bytes is not None]
    return (
        line.label,
        duration(mean([one.learning_s for one in efforts]) or 0.0),
        _number(mean([one.calls for one in efforts])),
        _number(mean([one.tokens for one in efforts])),
        dollars(mean([one.usd for one in efforts])),
        size(max(peaks)) if peaks else UNKNOWN,
        *_changed(efforts),
    )


def _changed(efforts: Sequence[Effort]) -> tuple[str, str, str]:
    """Of the weights: a library's run has proven or not that there is nothing to count."""
    counted = [one.changed for one in efforts if one.changed]
    if counted:

        def told(of: Callable[[Changed], float]) -> float:
            return sum(map(of, counted)) / len(counted)

        share = f"{100 * told(lambda one: one.share):.3g} %"
        return f"{told(lambda one: one.changed):,.0f}", f"{told(lambda one: one.added):,.0f}", share
    if all(one.weights == "unchanged" for one in efforts):
        return "0", "0", "0 %"
    return UNKNOWN, UNKNOWN, UNKNOWN


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}"
