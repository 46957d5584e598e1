"""What `gym eval` found: every measurement of one command, and what they say of each other."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gym.evaluation.closed_book import LABEL
from gym.evaluation.compare import Comparison, Named
from gym.evaluation.compare import compare as compared
from gym.evaluation.evaluate import Evaluation
from gym.evaluation.figures import count
from gym.evaluation.instrument import Taken
from gym.evaluation.metrics import Paired


class Elsewhere(NamedTuple):
    """What the library does on another target."""

    found: Comparison
    """Without against with the library."""
    closed_book: Comparison | None
    """Without tools and library against with the library; None where the target has no such baseline."""

    def as_object(self) -> dict[str, Any]:
        """For `--json` and report.json."""
        closed = {"closed_book": self.closed_book.as_object()} if self.closed_book else {}
        return {**self.found.as_object(), **closed}


class Measured(NamedTuple):
    """What was measured, one after the other."""

    taken: Taken
    """The result: with the library, or without when there is none."""
    without: Taken | None
    """Without the library, when a comparison was asked for."""
    comparison: Comparison | None
    """Without against with the library."""
    again: Comparison | None
    """The same library, or none, twice."""
    elsewhere: tuple[Elsewhere, ...]
    """The other targets, in the order they were named."""
    closed_book: Comparison | None
    """Without tools and library against the result."""
    bill: Mapping[str, Any]
    """`Meter.snapshot()`."""
    notes: tuple[str, ...]
    folder: Path

    @property
    def score(self) -> Evaluation:
        """The result."""
        return self.taken.found

    @property
    def plain(self) -> Evaluation | None:
        """Without the library."""
        return self.without.found if self.without else None

    @property
    def gain(self) -> Paired | None:
        """What the library changed among the scored answers."""
        return self.comparison.gain if self.comparison else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know of the data, and of the comparison."""
        return (*self.notes, *(self.comparison.notes if self.comparison else ()))

    @property
    def spent(self) -> Mapping[str, Any]:
        """Calls, tokens and dollars of the whole folder."""
        total: Mapping[str, Any] = self.bill["total"]
        return total


class Took(NamedTuple):
    """The measurements on one target."""

    taken: Taken
    """With the library, or without when there is none."""
    without: Taken | None
    closed_book: Taken | None

    @property
    def all(self) -> tuple[Taken, ...]:
        """One after the other."""
        return tuple(filter(None, self))

    def comparison(self, seed: int) -> Comparison | None:
        """Without against with the library."""
        return _by_library(self.without, self.taken, seed) if self.without else None

    def over_closed_book(self, seed: int) -> Comparison | None:
        """Without tools and library against what was taken."""
        return _by_tools(self.closed_book, self.taken, seed) if self.closed_book else None

    def elsewhere(self, seed: int) -> Elsewhere:
        """Of a target that was measured without and with the library."""
        found = self.comparison(seed)
        assert found is not None
        return Elsewhere(found, self.over_closed_book(seed))


def _by_library(before: Taken, after: Taken, seed: int) -> Comparison:
    labels = [told_size(one.made.library_size) for one in (before, after)]
    return compared(Named(labels[0], before.record()), Named(labels[1], after.record()), seed=seed)


def by_seed(before: Taken, after: Taken, seed: int) -> Comparison:
    """The same twice."""
    labels = [f"seed {one.made.seed}" for one in (before, after)]
    return compared(Named(labels[0], before.record()), Named(labels[1], after.record()), seed=seed)


def _by_tools(before: Taken, after: Taken, seed: int) -> Comparison:
    named = Named(LABEL, before.record()), Named(told_size(after.made.library_size), after.record())
    return compared(*named, seed=seed)


def told_size(experiences: int) -> str:
    """
    >>> told_size(0), told_size(1), told_size(12)
    ('no library', '1 experience', '12 experiences')
    """
    return count(experiences, "experience") if experiences else "no library"
