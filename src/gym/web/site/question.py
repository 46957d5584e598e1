"""A question before it has an address, and how its answer follows from the values that stand on pages."""

from collections.abc import Sequence
from itertools import product
from typing import Literal, NamedTuple

from gym.web.site import forms
from gym.web.site.forms import Kind
from gym.web.site.meaning import Description
from gym.web.site.relations import RELATIONS
from gym.web.site.world import Fact

Reckoning = Literal["read", "both", "sum", "difference", "earlier"]
"""`earlier`: of names with a date behind each, the name with the first date."""


class Draft(NamedTuple):
    """A question with all facts that it takes."""

    question: str
    reckoning: Reckoning
    facts: tuple[Fact, ...]
    """In the order of the reasoning."""
    operands: tuple[Fact, ...]
    """Those whose values the answer is made of, in order."""
    about: tuple[Description, ...]
    """What the question describes; each means one thing."""

    @property
    def kind(self) -> str:
        """Names what is asked for, for counting how answers are spread."""
        return f"{self.reckoning} {' + '.join(dict.fromkeys(fact.relation for fact in self.operands))}"

    @property
    def answer(self) -> str:
        """In the form that is asked for."""
        return reckoned(self.reckoning, [(RELATIONS[fact.relation].kind, fact.value) for fact in self.operands])

    @property
    def accepted(self) -> tuple[str, ...]:
        """Other forms that are as right."""
        values = [(RELATIONS[fact.relation].kind, fact.value) for fact in self.operands]
        match self.reckoning:
            case "read" | "both":
                ways = product(*((forms.answer(*value), *forms.accepted(*value)) for value in values))
                return tuple(text for way in ways if (text := "; ".join(way)) != self.answer)
            case "sum" | "difference":
                return forms.accepted("number", self.answer)
            case "earlier":
                return ()


def reckoned(reckoning: Reckoning, values: Sequence[tuple[Kind, str]]) -> str:
    """The answer from canonical values.

    >>> reckoned("difference", [("number", "40"), ("number", "1200")])
    '1160'
    >>> reckoned("earlier", [("person", "Una Krav"), ("date", "1950-02-01"), ("person", "Ivo Stam"), ("date", "1949-12-31")])
    'Ivo Stam'
    """
    texts = [value for _, value in values]
    match reckoning:
        case "read" | "both":
            return "; ".join(forms.answer(kind, value) for kind, value in values)
        case "sum":
            return str(sum(map(int, texts)))
        case "difference":
            one, other = map(int, texts)
            return str(abs(one - other))
        case "earlier":
            return min(zip(texts[1::2], texts[::2], strict=True))[1]
