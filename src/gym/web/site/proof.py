"""What a question must be shown to be before it is asked, over the site as it is read back from its HTML.

Every fact that it takes stands where it is known to stand and nowhere else; a pattern reads it there; no page that names what
the question names holds the answer; and the walk is the shortest that leads past all of it.
"""

from typing import NamedTuple

from gym.web.site.blocks import Statement
from gym.web.site.built import FRONT, Built
from gym.web.site.forms import accepted
from gym.web.site.meaning import anchor
from gym.web.site.question import Draft
from gym.web.site.relations import RELATIONS


class Proof(NamedTuple):
    """How a question can be answered."""

    walk: tuple[str, ...]
    """Pages from the front page on, each linked from the one before; no walk past the evidence is shorter."""
    evidence: tuple[Statement, ...]
    """One statement of each fact, on a page of the walk, in the order of the reasoning."""

    @property
    def hops(self) -> int:
        """Clicks."""
        return len(self.walk) - 1

    @property
    def pages(self) -> tuple[str, ...]:
        """Where the evidence stands."""
        return tuple(dict.fromkeys(statement.page for statement in self.evidence))


def proven(draft: Draft, built: Built) -> Proof | None:
    """The proof, or None when there is none."""
    if not all(fact in built.told for fact in draft.facts) or _gives_itself_away(draft, built):
        return None
    stated = [[one for one in built.told[fact] if built.reads(one)] for fact in draft.facts]
    walk = built.walks.shortest(FRONT, [[one.page for one in several] for several in stated])
    if walk is None:
        return None
    return Proof(walk, tuple(next(one for one in several if one.page in walk) for several in stated))


def _gives_itself_away(draft: Draft, built: Built) -> bool:
    """Whether the answer stands in the question, or beside what the question names when more than one page is needed."""
    answers = [
        draft.answer,
        *(form for fact in draft.operands for form in accepted(RELATIONS[fact.relation].kind, fact.value)),
    ]
    if any(answer.lower() in draft.question.lower() for answer in answers):
        return True
    if draft.reckoning != "read" or len(draft.facts) == 1:
        return False
    return bool(built.holding(draft.operands[0]) & _naming(draft, built))


def _naming(draft: Draft, built: Built) -> frozenset[str]:
    return frozenset().union(*(built.naming(anchor(description)) for description in draft.about))
