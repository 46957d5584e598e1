"""What a description of a thing means in a world: everything that satisfies it, found by looking at all facts.

A question is about descriptions; it has one answer only if each of them means one thing.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gym.web.site.world import Fact, World


class Named(NamedTuple):
    """The thing of that name."""

    name: str


class Known(NamedTuple):
    """The thing of which a fact has that value: a nickname, a code name, an earlier name."""

    relation: str
    value: str


class Located(NamedTuple):
    """The company of a trade with its head office in a town."""

    trade: str
    town: str


class Step(NamedTuple):
    """The value of a relation, or with `back` the thing whose value it is."""

    relation: str
    of: "Description"
    back: bool = False
    qualifier: str = ""


Description = Named | Known | Located | Step


class Meant(NamedTuple):
    """A thing that satisfies a description, and the facts by which it does."""

    thing: str
    facts: tuple[Fact, ...] = ()


def meant(description: Description, world: World) -> tuple[Meant, ...]:
    """Every thing that satisfies it; one thing twice when it does so by different facts."""
    return tuple(_meant(description, world))


def anchor(description: Description) -> str:
    """The words of the world that the description begins with."""
    match description:
        case Named(name):
            return name
        case Known(_, value):
            return value
        case Located(_, town):
            return town
        case Step(_, of):
            return anchor(of)


def _meant(description: Description, world: World) -> Iterator[Meant]:
    match description:
        case Named(name):
            yield from (Meant(thing.id) for thing in world.named(name))
        case Known(relation, value):
            yield from (Meant(fact.subject, (fact,)) for fact in world.stating(relation) if fact.value == value)
        case Located(trade, town):
            for fact in world.stating("seat"):
                if fact.value == town and world.things[fact.subject].trade == trade:
                    yield Meant(fact.subject, (fact,))
        case Step(relation, of, back, qualifier):
            for thing, facts in _meant(of, world):
                told = world.pointing(thing, relation) if back else world.told(thing, relation)
                for fact in told:
                    end = fact.subject if back else fact.target
                    if fact.qualifier == qualifier and end:
                        yield Meant(end, (*facts, fact))
