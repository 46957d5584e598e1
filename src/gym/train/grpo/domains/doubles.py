"""Questions that a file asks more than once: one of equals is kept; of two answers nobody knows which is right."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

SHOWN = 8


class Asked(NamedTuple):
    """A row as far as repetition goes; `name` is its own id, or empty."""

    line: int
    question: str
    answer: str | None
    name: str = ""


class Once(NamedTuple):
    """Lines to leave out, and why, with every line of a contradiction named."""

    dropped: frozenset[int]
    notes: tuple[str, ...]


def once(asked: Sequence[Asked], same: Callable[[str], str]) -> Once:
    """The first of each question stays, none of a question with different answers; `same` is a question's form."""
    groups: defaultdict[str, list[Asked]] = defaultdict(list)
    for item in asked:
        groups[same(item.question)].append(item)
    several = [group for group in groups.values() if len(group) > 1]
    contradictory = [group for group in several if len({item.answer for item in group}) > 1]
    repeated = [group for group in several if len({item.answer for item in group}) == 1]
    dropped = {item.line for group in contradictory for item in group}
    dropped |= {item.line for group in repeated for item in group[1:]}
    return Once(frozenset(dropped), (*map(_contradiction, contradictory), *_repetitions(repeated)))


def lines(found: Sequence[int]) -> str:
    """Line numbers in words, the first of them when there are many."""
    return f"line {found[0]}" if len(found) == 1 else f"lines {few(found)}"


def few(items: Sequence[object]) -> str:
    """The first items, and how many more there are."""
    shown = ", ".join(map(str, items[:SHOWN]))
    return f"{shown} and {len(items) - SHOWN} more" if len(items) > SHOWN else shown


def _contradiction(group: Sequence[Asked]) -> str:
    places = ", ".join(str(item.line) for item in group)
    names = ", ".join(item.name for item in group if item.name)
    answers = ", ".join(repr(answer) for answer in dict.fromkeys(item.answer for item in group))
    called = f" ({names})" if names else ""
    return f"lines {places}{called} ask the same question with different answers ({answers}): all dropped"


def _repetitions(groups: Sequence[Sequence[Asked]]) -> tuple[str, ...]:
    """A note for each while they are few, else one for all."""
    pairs = [(item.line, group[0].line) for group in groups for item in group[1:]]
    if len(pairs) > SHOWN:
        shown = few([f"{line} = {first}" for line, first in pairs])
        return (f"{len(pairs):,} lines repeat an earlier question: dropped ({shown})",)
    return tuple(
        f"{lines([item.line for item in group[1:]])} repeat{'s' if len(group) == 2 else ''} line {group[0].line}: dropped"
        for group in groups
    )
