"""Descriptions and questions in English; of several wordings that mean the same, one is drawn."""

from random import Random

from gym.web.site.meaning import Description, Known, Located, Named, Step
from gym.web.site.relations import RELATIONS

KNOWN = {
    "nickname": ("the person known as “{}”", "the person whom old colleagues call “{}”"),
    "codename": ("the product that had the code name {}", "the product developed as {}"),
    "former name": ("the company that was first called {}", "the company that began under the name {}"),
}


def phrase(description: Description, rng: Random) -> str:
    """A noun phrase."""
    match description:
        case Named(name):
            return name
        case Known(relation, value):
            return rng.choice(KNOWN[relation]).format(value)
        case Located(trade, town):
            return f"the {trade} with its head office in {town}"
        case Step("winner", of, _, year):
            return f"the winner of the {phrase(of, rng)} of {year}"
        case Step(relation, of, back, _):
            known = RELATIONS[relation]
            return rng.choice(known.back if back else known.step).format(phrase(of, rng))


def asked(relation: str, of: Description, rng: Random) -> str:
    """A question for one value."""
    return rng.choice(RELATIONS[relation].asks).format(phrase(of, rng))


def both(first: str, second: str) -> str:
    """Two questions in one.

    >>> both("Who founded A?", "Who designed B?")
    'Who founded A, and who designed B?'
    """
    return f"{first[:-1]}, and {second[0].lower()}{second[1:]}"
