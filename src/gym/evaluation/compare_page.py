"""A comparison as a page: what differs and how sure that is, by kind of problem, what the library costs, how each was made."""

from gym.evaluation import page, scores
from gym.evaluation.compare import Comparison, Side
from gym.evaluation.figures import UNKNOWN, dollars
from gym.evaluation.page import Section, Table


def markdown(found: Comparison) -> str:
    """For a terminal or a file that is read as text."""
    return page.markdown(_title(found), lead(found), sections(found))


def html(found: Comparison) -> str:
    """One file that loads nothing."""
    return page.html(_title(found), lead(found), sections(found))


def _title(found: Comparison) -> str:
    return f"{found.after.label} against {found.before.label}"


def lead(found: Comparison) -> tuple[str, ...]:
    """The result in one sentence."""
    return (scores.told(found.gain, "Paired"),)


def sections(found: Comparison) -> tuple[Section, ...]:
    """Warnings first; a part without content is left out."""
    sides = (found.before.label, found.after.label)
    parts = (
        Section("Mind", found.notes, aside=True) if found.notes else None,
        result(found, "What differs"),
        *(scores.kinds(rows, f"By {key}", sides) for key, rows in found.tables.items()),
        overhead(found),
        made(found),
    )
    return tuple(part for part in parts if part is not None)


def result(found: Comparison, title: str) -> Section:
    """Both scores, and their difference under both denominators."""
    rows = [scores.Row(found.before.label, found.before.score), scores.Row(found.after.label, found.after.score, True)]
    return Section(
        title, (scores.MEAN, *differences(found)), scores.table(rows, title), scores.chart(rows, title, "Mean reward")
    )


def differences(found: Comparison) -> tuple[str, ...]:
    """The paired difference under both denominators, and what a bootstrap says of it."""
    lines = [
        scores.told(found.gain, "Among the scored answers, paired"),
        scores.told(found.gain_failed_as_0, "With failed answers as 0, paired"),
    ]
    if found.bootstrap:
        low, high = found.bootstrap
        lines.append(f"Bootstrap over problems, of the scored answers: [{low:+z.3f}, {high:+z.3f}].")
    return tuple(lines)


def overhead(found: Comparison, title: str = "What an answer takes") -> Section:
    """What an answer takes on either side, and what they took together."""
    header = ("", found.before.label, found.after.label, "difference")
    rows = [
        *_of_an_answer(found),
        ("library, estimated tokens", *(f"{side.made.library_tokens:,}" for side in _sides(found)), ""),
        ("tokens of all answers", *(f"{side.score.tokens.total:,}" for side in _sides(found)), ""),
        ("dollars of all answers", *(dollars(side.usd) for side in _sides(found)), ""),
    ]
    return Section(title, (), Table("Tokens, dollars and time", header, rows, frozenset({1, 2, 3})))


def _of_an_answer(found: Comparison) -> list[tuple[str, ...]]:
    cost = found.overhead
    if cost is None:
        return []
    prompts = [UNKNOWN if told is None else f"{told:,.1f}" for told in (cost.before_prompt, cost.after_prompt)]
    more = UNKNOWN if cost.tokens is None else f"{cost.tokens:+z,.1f}"
    share = "" if cost.share is None else f" ({100 * cost.share:.1f} % of the prompt)"
    seconds = (cost.before_latency_s, cost.after_latency_s)
    return [
        ("prompt tokens an answer", *prompts, more + share),
        ("seconds an answer", *(f"{told:.2f}" for told in seconds), f"{seconds[1] - seconds[0]:+z.2f}"),
    ]


def made(found: Comparison, title: str = "How each was made") -> Section:
    """What was measured on either side."""
    old, new = (side.made.told() for side in _sides(found))
    rows = [(name.replace("_", " "), old.get(name, "none"), new.get(name, "none")) for name in old | new]
    return Section(title, (), Table("Settings and digests", ("", found.before.label, found.after.label), rows))


def _sides(found: Comparison) -> tuple[Side, Side]:
    return found.before, found.after
