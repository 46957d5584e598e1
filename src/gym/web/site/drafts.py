"""Draws questions over a world: chains of descriptions that end in a value, tables to add up, two things to compare.

What is drawn is only a candidate; `proof` decides.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from gym.web.site.meaning import Description, Known, Located, Meant, Named, Step, meant
from gym.web.site.question import Draft, Reckoning
from gym.web.site.relations import RELATIONS
from gym.web.site.wording import KNOWN, asked, both, phrase
from gym.web.site.world import Fact, Thing, World

Shape = Callable[[], Draft | None]


class Found(NamedTuple):
    """A description that means one thing."""

    description: Description
    thing: Thing
    facts: tuple[Fact, ...]


class Drafts:
    """Draws from one world."""

    def __init__(self, world: World, rng: Random) -> None:
        self._world, self._rng = world, rng
        self._shapes: Mapping[Shape, int] = {
            self._chain: 13,
            self._difference: 3,
            self._earlier: 2,
            self._both: 2,
            self._report: 2,
            self._offices: 1,
            self._turnover: 1,
        }

    def shape(self) -> Shape:
        """What draws candidates of one shape; each gives None when a draw led nowhere."""
        return self._rng.choices(list(self._shapes), list(self._shapes.values()))[0]

    def _chain(self) -> Draft | None:
        """What is said of a thing that two to four facts lead to."""
        return self._read(self._described(self._rng.choice((1, 2, 2, 3))))

    def _report(self) -> Draft | None:
        """What only the news tell."""
        company = self._rng.choice(self._world.of("company"))
        told = self._world.told(company.id, "takeover price", "taken over", "former director", "appointed")
        return self._asked(Found(Named(company.name), company, ()), self._rng.choice(told)) if told else None

    def _offices(self) -> Draft | None:
        """The staff of all offices together."""
        company = self._rng.choice(self._world.of("company"))
        staff = self._world.told(company.id, "staff")
        question = f"How many people work in the offices of {company.name} altogether, the head office left aside?"
        return Draft(question, "sum", staff, staff, (Named(company.name),)) if staff else None

    def _turnover(self) -> Draft | None:
        """Between two years of one company."""
        company = self._rng.choice(self._world.of("company"))
        told = self._world.told(company.id, "turnover")
        if not told:
            return None
        one, other = sorted(self._rng.sample(told, 2), key=lambda fact: fact.qualifier)
        question = (
            f"By how many thousand crowns do the turnovers of {company.name} in {one.qualifier} and in "
            f"{other.qualifier} differ?"
        )
        return Draft(question, "difference", (one, other), (one, other), (Named(company.name),))

    def _difference(self) -> Draft | None:
        relation = self._rng.choice([name for name, one in RELATIONS.items() if one.more])
        ends = [self._ending_in(relation) for _ in range(2)]
        one, other = ends
        if one is None or other is None or one.thing == other.thing:
            return None
        facts = [self._world.told(found.thing.id, relation)[0] for found in (one, other)]
        words = RELATIONS[relation].more.format(*(phrase(found.description, self._rng) for found in (one, other)))
        return _joined(words, "difference", (one, other), [(fact,) for fact in facts])

    def _earlier(self) -> Draft | None:
        """The name of one of two people, who are described."""
        one, other = (self._ending_in("born") for _ in range(2))
        if one is None or other is None or one.thing == other.thing:
            return None
        if not all(found.facts and found.facts[-1].target == found.thing.id for found in (one, other)):
            return None
        words = [phrase(found.description, self._rng) for found in (one, other)]
        operands = [(found.facts[-1], self._world.told(found.thing.id, "born")[0]) for found in (one, other)]
        if operands[0][1].value == operands[1][1].value:
            return None
        return _joined(f"Who was born first, {words[0]} or {words[1]}?", "earlier", (one, other), operands)

    def _both(self) -> Draft | None:
        drafts = [self._read(self._described(1)) for _ in range(2)]
        one, other = drafts
        if one is None or other is None or set(one.facts) & set(other.facts):
            return None
        facts, about = (*one.facts, *other.facts), (*one.about, *other.about)
        return Draft(both(one.question, other.question), "both", facts, (*one.operands, *other.operands), about)

    def _read(self, found: Found | None) -> Draft | None:
        if found is None:
            return None
        told = [fact for fact in self._world.told(found.thing.id) if RELATIONS[fact.relation].asks]
        return self._asked(found, self._rng.choice(told)) if told else None

    def _asked(self, found: Found, fact: Fact) -> Draft | None:
        if fact in found.facts:
            return None
        question = asked(fact.relation, found.description, self._rng)
        return Draft(question, "read", (*found.facts, fact), (fact,), (found.description,))

    def _ending_in(self, relation: str) -> Found | None:
        """Something that has this relation, one fact away from what is named."""
        found = self._described(1)
        return found if found and self._world.told(found.thing.id, relation) else None

    def _described(self, facts: int) -> Found | None:
        """Something that so many facts lead to."""
        found = self._anchor()
        while found and len(found.facts) < facts:
            found = self._further(found)
        return found if found and len(found.facts) == facts else None

    def _anchor(self) -> Found | None:
        rng, world = self._rng, self._world
        known = [fact for relation in KNOWN for fact in world.stating(relation)]
        choices: list[Description] = [Named(rng.choice(list(world.things.values())).name)] * 3
        if known:
            chosen = rng.choice(known)
            choices.append(Known(chosen.relation, chosen.value))
        seat = rng.choice(world.stating("seat"))
        choices.append(Located(world.things[seat.subject].trade, seat.value))
        return self._only(rng.choice(choices))

    def _further(self, found: Found) -> Found | None:
        """A fact further on; never back to where it was."""
        world, here = self._world, found.thing.id
        ahead = [fact for fact in world.told(here) if RELATIONS[fact.relation].step or fact.relation == "winner"]
        behind = [fact for fact in world.pointing(here) if RELATIONS[fact.relation].back]
        steps = [Step(fact.relation, found.description, qualifier=fact.qualifier) for fact in ahead]
        steps += [Step(fact.relation, found.description, back=True) for fact in behind]
        further = self._only(self._rng.choice(steps)) if steps else None
        if further is None or len({fact.key for fact in further.facts}) < len(further.facts):
            return None
        return further

    def _only(self, description: Description) -> Found | None:
        """What is described, if that is one thing in one way."""
        match meant(description, self._world):
            case (Meant(thing, facts),):
                return Found(description, self._world.things[thing], facts)
            case _:
                return None


def _joined(question: str, reckoning: Reckoning, ways: Sequence[Found], operands: Sequence[tuple[Fact, ...]]) -> Draft:
    facts = tuple(
        dict.fromkeys(fact for found, own in zip(ways, operands, strict=True) for fact in (*found.facts, *own))
    )
    flat = tuple(fact for own in operands for fact in own)
    return Draft(question, reckoning, facts, flat, tuple(found.description for found in ways))
