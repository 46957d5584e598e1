"""A family of problems that share one house rule, which no question states; problems are made from a seed.

The parts of a split are cut from one draw without repetition, so that they are disjoint by construction.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, TypeVar

from gym.core.experience import Library
from gym.core.problem import Problem
from gym.core.value import canonical_json

Fact = TypeVar("Fact", bound=Hashable)


class Row(NamedTuple):
    """One problem before it has an id."""

    question: str
    answer: str


class Sizes(NamedTuple):
    """Problems of each part."""

    train: int = 16
    val: int = 20
    test: int = 24


FULL = Sizes()


class Splits(NamedTuple):
    """Three parts of which no two share a question."""

    train: tuple[Problem, ...]
    val: tuple[Problem, ...]
    test: tuple[Problem, ...]


@dataclass(frozen=True)
class Family:
    """Questions of one kind, the house rule of their answers, and sentences that state it."""

    name: str
    rule: str
    """What the rule is about: answer convention, unit, rounding, hidden priority, order of operations, label taxonomy."""
    oracle: tuple[str, ...]
    """One to three experiences, written by a person who knows the rule."""
    draw: Callable[[Random, int], Sequence[Row]]
    """As many rows as asked for, all different, their answers mixed evenly."""
    max_tokens: int = 32
    """Room for an answer."""

    @property
    def library(self) -> Library:
        """The oracle's sentences as a library, shown to a model as a learned one is."""
        library = Library()
        for text in self.oracle:
            library = library.minted(text).library
        return library

    def splits(self, seed: int, sizes: Sizes = FULL) -> Splits:
        """The problems of a seed; their ids tell family, seed and part."""
        rows = self.draw(Random(f"{self.name}/{seed}"), sum(sizes))
        assert len({row.question for row in rows}) == len(rows) == sum(sizes), f"{self.name} repeats itself"
        parts, start = [], 0
        for part, size in zip(Sizes._fields, sizes, strict=True):
            numbered = enumerate(rows[start : start + size])
            parts.append(tuple(self._problem(f"{self.name}-{seed}-{part}-{number}", row) for number, row in numbered))
            start += size
        return Splits(*parts)

    def _problem(self, name: str, row: Row) -> Problem:
        tags = {"family": self.name, "rule": self.rule}
        return Problem(id=name, query=row.question, ground_truth=row.answer, domain="house", metadata=tags)


def line(problem: Problem) -> str:
    """A problem as a row of a JSONL file."""
    return canonical_json(
        {"id": problem.id, "question": problem.query, "answer": problem.ground_truth, **problem.metadata}
    )


def in_turn(rng: Random, kinds: Sequence[Sequence[Fact]], count: int) -> list[Fact]:
    """`count` different facts, the kinds taking turns, each drawn from its pool without repetition.

    >>> in_turn(Random(0), [range(3), range(10, 13)], 4)
    [1, 10, 2, 11]
    """
    each = -(-count // len(kinds))
    drawn = [rng.sample(pool, each) for pool in kinds]
    return [fact for several in zip(*drawn, strict=True) for fact in several][:count]
