"""What `gym eval` leaves to be read: the scores, what the library changes and costs, and what the checks said."""

from collections.abc import Iterator
from itertools import chain

from gym.evaluation import bill, compare_page, page, scores
from gym.evaluation.closed_book import TOLD
from gym.evaluation.compare import Comparison
from gym.evaluation.families import KEYS, by, known
from gym.evaluation.figures import count, interval
from gym.evaluation.measured import Elsewhere, Measured, told_size
from gym.evaluation.metrics import FEWEST, score
from gym.evaluation.page import Section, Table


def markdown(measured: Measured) -> str:
    """`report.md`."""
    return page.markdown(_title(measured), _lead(measured), _sections(measured))


def html(measured: Measured) -> str:
    """`report.html`: one file that loads nothing."""
    return page.html(_title(measured), _lead(measured), _sections(measured))


def _title(measured: Measured) -> str:
    return f"Evaluation {measured.folder.name}"


def _lead(measured: Measured) -> tuple[str, ...]:
    made, found = measured.taken.made, measured.score.score
    told = (
        f"{made.model}, {told_size(made.library_size)}: mean reward {interval(found.mean, found.interval)} on "
        f"{count(found.n_problems, 'problem')} of {made.dataset}, {count(made.k, 'answer')} each."
    )
    return (told, scores.told(measured.gain)) if measured.gain else (told,)


def _sections(measured: Measured) -> tuple[Section, ...]:
    compared = measured.comparison
    parts = (
        Section("Mind", measured.warnings, aside=True) if measured.warnings else None,
        compare_page.result(compared, "What it is worth") if compared else _alone(measured),
        *(_by_kind(measured, compared)),
        compare_page.overhead(compared) if compared else None,
        _closed(measured.closed_book) if measured.closed_book else None,
        _repeated(measured.again) if measured.again else None,
        *chain.from_iterable(map(_elsewhere, measured.elsewhere)),
        bill.cost(measured.bill),
        _made(measured),
    )
    return tuple(part for part in parts if part is not None)


def _alone(measured: Measured) -> Section:
    row = scores.Row(told_size(measured.taken.made.library_size), measured.score.score, strong=True)
    drawn = scores.chart([row], "alone", "Mean reward")
    return Section("Scores", (scores.MEAN,), scores.table([row], "Scores"), drawn)


def _by_kind(measured: Measured, compared: Comparison | None) -> tuple[Section | None, ...]:
    if compared:
        sides = (compared.before.label, compared.after.label)
        return tuple(scores.kinds(rows, f"By {key}", sides) for key, rows in compared.tables.items())
    there = known(measured.score.tallies)
    return tuple(_kinds(measured, key) for key in KEYS if key in there)


def _kinds(measured: Measured, key: str) -> Section:
    rows = [(name, score(tallies)) for name, tallies in by(measured.score.tallies, key).items()]
    cells = [(name, f"{one.n_problems:,}", interval(one.mean, one.interval)) for name, one in rows]
    table = Table(f"Scores by {key}", ("kind", "problems", "mean [95 %]"), cells, frozenset({1, 2}))
    bars = [scores.Row(name, one, strong=True) for name, one in rows]
    return Section(f"By {key}", (), table, scores.chart(bars, f"kinds {key}", "Mean reward by kind of problem"))


def _closed(found: Comparison, title: str = "Closed book") -> Section:
    section = compare_page.result(found, title)
    return section._replace(text=(TOLD, *compare_page.differences(found)))


def _repeated(again: Comparison) -> Section:
    found = compare_page.result(again, "The same twice (A/A)")
    return found._replace(text=(said_again(again), *compare_page.differences(again)))


def said_again(again: Comparison) -> str:
    """What a comparison of the same with the same says of the instrument."""
    if again.gain.n_problems < FEWEST:
        return f"Fewer than {FEWEST} problems cannot show a difference, so this says nothing of the instrument."
    if again.gain.verdict == "no difference":
        return "Measured twice with different seeds, the same shows no difference: the instrument sees none where there is none."
    return (
        f"Measured twice with different seeds, the same shows a {again.gain.verdict}. Chance does that about once in twenty; "
        "take another --seed, and if it stays, believe no other figure: the answers are not independent draws."
    )


def _elsewhere(there: Elsewhere) -> Iterator[Section]:
    found, closed = there
    name = f"Elsewhere: {found.after.made.dataset}"
    said = (said_elsewhere(found), *found.notes, *compare_page.differences(found))
    yield compare_page.result(found, name)._replace(text=said)
    yield compare_page.overhead(found, f"{name}, what an answer takes")
    if closed:
        yield _closed(closed, f"{name}, closed book")
    yield compare_page.made(found, f"{name}, how it was asked")


def said_elsewhere(found: Comparison, what: str = "The library") -> str:
    """What a library, or what else was learned, does where it should not matter."""
    match found.gain.verdict:
        case "loss":
            return f"{what} harms here, where it should not matter."
        case "gain":
            return f"{what} helps here too."
        case "no difference":
            loss = max(-found.gain.interval.low, 0.0) if found.gain.interval else 1.0
            return f"No difference seen; a loss of up to {100 * loss:.1f} points is not excluded by this many problems."


def _made(measured: Measured) -> Section:
    rows = [(name.replace("_", " "), value) for name, value in measured.taken.made.told().items()]
    return Section("How to repeat it", (), Table("Settings and digests", ("key", "value"), rows))
