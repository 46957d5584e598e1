"""The world behind the site: things with names, and facts about them.

A fact is a subject, a relation and a value; where the value names a thing that has a page, `target` is that thing. Relations
that hold once for each of several (staff at each office, the winner of each year) have a qualifier.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T")

TODAY = 2025
"""The year in which the site was written."""


class Fact(NamedTuple):
    """One thing that is so."""

    subject: str
    relation: str
    value: str
    target: str = ""
    qualifier: str = ""

    @property
    def key(self) -> str:
        """Names the fact; the value is not in it."""
        return " ".join(filter(None, (self.subject, self.relation, self.qualifier)))


class Thing(NamedTuple):
    """Something that has a page."""

    id: str
    kind: Literal["company", "person", "product", "town", "prize"]
    name: str
    trade: str = ""
    """Of a company."""
    large: bool = False
    """Of a company: it has pages of its own for its history, offices, figures and products."""


class Event(NamedTuple):
    """What the news tell of a company."""

    kind: Literal["takeover", "appointment", "other"]
    date: str
    company: str


@dataclass(frozen=True)
class World:
    """Things, facts and events, in the order in which they were drawn."""

    things: Mapping[str, Thing]
    facts: tuple[Fact, ...]
    events: tuple[Event, ...]

    def of(self, kind: str) -> tuple[Thing, ...]:
        """All things of a kind."""
        return tuple(thing for thing in self.things.values() if thing.kind == kind)

    def told(self, subject: str, *relations: str) -> tuple[Fact, ...]:
        """Facts about a subject: all, or those of some relations in their order."""
        known = self._by_subject.get(subject, ())
        return known if not relations else tuple(fact for name in relations for fact in known if fact.relation == name)

    def pointing(self, target: str, *relations: str) -> tuple[Fact, ...]:
        """Facts whose value is a thing: all, or those of some relations in their order."""
        known = self._by_target.get(target, ())
        return known if not relations else tuple(fact for name in relations for fact in known if fact.relation == name)

    def stating(self, relation: str) -> tuple[Fact, ...]:
        """All facts of a relation."""
        return self._by_relation.get(relation, ())

    def named(self, name: str) -> tuple[Thing, ...]:
        """All things of a name."""
        return self._by_name.get(name, ())

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[Thing, ...]]:
        return _grouped((thing.name, thing) for thing in self.things.values())

    @cached_property
    def _by_relation(self) -> Mapping[str, tuple[Fact, ...]]:
        return _grouped((fact.relation, fact) for fact in self.facts)

    @cached_property
    def _by_subject(self) -> Mapping[str, tuple[Fact, ...]]:
        return _grouped((fact.subject, fact) for fact in self.facts)

    @cached_property
    def _by_target(self) -> Mapping[str, tuple[Fact, ...]]:
        return _grouped((fact.target, fact) for fact in self.facts if fact.target)


def _grouped(pairs: Iterable[tuple[str, T]]) -> Mapping[str, tuple[T, ...]]:
    found = defaultdict[str, list[T]](list)
    for key, one in pairs:
        found[key].append(one)
    return {key: tuple(several) for key, several in found.items()}
