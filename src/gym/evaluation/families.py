"""The same figures for every kind of problem: by level, category or tag, as the data's own columns say.

Of many small tables one looks like a gain by chance: the overall figure is the one to quote.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gym.core.rollout import Tally
from gym.core.value import Value
from gym.evaluation.metrics import Paired, Score, paired, score

KEYS = ("family", "level", "category", "type", "subject", "tag", "tags")
"""Columns that are worth a table of their own."""

NONE = "(none)"


class Family(Value):
    """One kind of problem, before and after."""

    name: str
    before: Score
    after: Score
    gain: Paired


def families(
    before: Sequence[Tally], after: Sequence[Tally], key: str | None = None, *, seed: int = 0
) -> tuple[Family, ...]:
    """One row per value of `metadata[key]` (default: the `usual` one); none when no problem has it."""
    there = (*before, *after)
    key = key or usual(there)
    if key not in known(there):
        return ()
    old, new = by(before, key), by(after, key)
    return tuple(
        Family(
            name=name,
            before=score(old.get(name, ())),
            after=score(new.get(name, ())),
            gain=paired(old.get(name, ()), new.get(name, ()), seed=seed),
        )
        for name in sorted(old.keys() | new.keys())
    )


def usual(tallies: Iterable[Tally]) -> str:
    """The first of `KEYS` that a problem has; empty when none has any."""
    there = known(tallies)
    return next((name for name in KEYS if name in there), "")


def known(tallies: Iterable[Tally]) -> frozenset[str]:
    """The metadata keys that occur."""
    return frozenset(key for tally in tallies for key in tally.metadata)


def by(tallies: Iterable[Tally], key: str) -> dict[str, list[Tally]]:
    """Tallies by their problem's `metadata[key]`, names sorted; one with several tags stands under each of them."""
    table: dict[str, list[Tally]] = {}
    for tally in tallies:
        for name in labels(tally.metadata, key):
            table.setdefault(name, []).append(tally)
    return dict(sorted(table.items()))


def labels(metadata: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """What `metadata[key]` says, each once; "(none)" where it says nothing.

    >>> labels({"tags": ["algebra", "short"], "level": 3}, "tags"), labels({"level": 3}, "level"), labels({}, "level")
    (('algebra', 'short'), ('3',), ('(none)',))
    """
    value = metadata.get(key)
    several = value if isinstance(value, list | tuple) else () if value is None else (value,)
    return tuple(dict.fromkeys(str(one) for one in several)) or (NONE,)
