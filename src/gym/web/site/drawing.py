"""Draws a world from a seed: towns, then companies and the people in them, products, takeovers, prizes.

People are made when someone is needed whose age fits, so that no founder is younger than the company.
"""

from collections.abc import Sequence
from datetime import date
from random import Random
from typing import NamedTuple

from gym.web.site.names import TRADES, Names
from gym.web.site.world import TODAY, Event, Fact, Thing, World


class Sizes(NamedTuple):
    """How many of each are drawn; people come with the companies and products, about three for two."""

    companies: int
    products: int
    towns: int
    prizes: int

    @classmethod
    def of(cls, room: int) -> "Sizes":
        """For about so many pages, lists and news left aside."""
        return cls(
            companies=room // 8, products=room // 8, towns=max(6, room // 20), prizes=max(1, min(4, room // 110))
        )


def draw(seed: int, sizes: Sizes) -> World:
    """The world of a seed."""
    drawing = _Drawing(Random(f"world/{seed}"))
    towns = [drawing.town() for _ in range(sizes.towns)]
    companies = [drawing.company(towns) for _ in range(sizes.companies)]
    drawing.takeovers(companies)
    products = [drawing.product(companies) for _ in range(sizes.products)]
    for _ in range(sizes.prizes):
        drawing.prize(products)
    drawing.lives(towns)
    return World(
        dict(drawing.things), tuple(drawing.facts), tuple(sorted(drawing.events, key=lambda event: event.date))
    )


class _Drawing:
    """What was drawn so far."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.names = rng, Names(rng)
        self.things: dict[str, Thing] = {}
        self.facts: list[Fact] = []
        self.events: list[Event] = []
        self._born: dict[str, int] = {}
        self._founded: dict[str, int] = {}
        self._launched: dict[str, int] = {}
        self._busy: set[str] = set()
        """People who run a company or designed a product."""
        self._numbers = self.rng.sample(range(10_000, 100_000), 5_000)

    def town(self) -> Thing:
        """With an old charter, a mayor and a height."""
        town = self._thing("town", self.names.town())
        self._say(town, "charter", str(self.rng.randint(1104, 1898)))
        self._say(town, "population", str(self.rng.randint(1_900, 96_000)))
        self._say(town, "mayor", self.names.person())
        self._say(town, "altitude", str(self.rng.randint(4, 978)))
        return town

    def company(self, towns: Sequence[Thing]) -> Thing:
        """With its number, founder, head and seat; a large one with offices and figures."""
        rng, trade, founded = self.rng, self.rng.choice(TRADES), self.rng.randint(1898, 2004)
        company = self._thing("company", self.names.company(trade), trade=trade, large=rng.random() < 0.45)
        seat, *others = rng.sample(list(towns), min(len(towns), rng.randint(4, 6)))
        self._founded[company.id] = founded
        self._say(company, "number", f"HR-{self._numbers.pop()}")
        self._say(company, "seat", seat)
        self._say(company, "director", self._idle(1948, 1986))
        self._say(company, "founded", self._day(founded))
        self._say(company, "founder", self._person(founded - 48, founded - 23))
        if rng.random() < 0.4:
            self._say(company, "former name", self.names.company(trade))
        if company.large:
            self._figures(company, others)
        if rng.random() < 0.45:
            self._appointment(company)
        return company

    def product(self, companies: Sequence[Thing]) -> Thing:
        """Of a company, by a designer; perhaps modelled on what another company made."""
        rng, maker = self.rng, self.rng.choice(companies)
        year = rng.randint(max(self._founded[maker.id] + 1, 1951), 2021)
        model = self._model(maker, year)
        product = self._thing("product", self.names.product(near=model.name if model and rng.random() < 0.5 else ""))
        self._launched[product.id] = year
        self._say(product, "maker", maker)
        self._say(product, "designer", self._idle(year - 58, year - 24))
        self._say(product, "launched", self._day(year))
        self._say(product, "weight", str(rng.randint(140, 48_000)))
        self._say(product, "price", str(rng.randint(36, 9_900)))
        if model:
            self._say(product, "model", model)
        if rng.random() < 0.45:
            self._say(product, "codename", self.names.codename())
        return product

    def takeovers(self, companies: Sequence[Thing]) -> None:
        """A quarter of the companies belongs to another, for a price that only the news tell."""
        mixed = self.rng.sample(list(companies), len(companies))
        for bought in mixed[: len(mixed) // 4]:
            buyer = self.rng.choice(mixed[len(mixed) // 4 :])
            day = self._day(self.rng.randint(max(self._founded[bought.id], self._founded[buyer.id]) + 3, TODAY - 1))
            self._say(bought, "owner", buyer)
            self._say(bought, "taken over", day)
            self._say(bought, "takeover price", str(self.rng.randint(210, 98_000) * 1_000))
            self.events.append(Event("takeover", day, bought.id))

    def prize(self, products: Sequence[Thing]) -> None:
        """A winner a year, where something new is there, for fourteen years; no product wins twice."""
        won = {fact.target for fact in self.facts if fact.relation == "winner"}
        left = [one for one in products if one.id not in won]
        if not left:
            return
        prize, begun = self._thing("prize", self.names.prize()), self._launched[self.rng.choice(left).id]
        for year in range(begun, begun + 14):
            fresh = [one for one in left if one.id not in won and 0 <= year - self._launched[one.id] <= 12]
            if fresh and year < TODAY:
                winner = self.rng.choice(fresh)
                won.add(winner.id)
                self._say(prize, "winner", winner, qualifier=str(year))

    def lives(self, towns: Sequence[Thing]) -> None:
        """Where and when everyone was born, under whom they trained, what they are called."""
        people = [thing for thing in self.things.values() if thing.kind == "person"]
        for person in people:
            born = self._born[person.id]
            self._say(person, "born", self._day(born))
            self._say(person, "birthplace", self.rng.choice(towns))
            older = [one for one in people if 9 <= born - self._born[one.id] <= 45]
            if older and self.rng.random() < 0.55:
                self._say(person, "mentor", self.rng.choice(older))
            if self.rng.random() < 0.35:
                self._say(person, "nickname", self.names.nickname())

    def _model(self, maker: Thing, year: int) -> Thing | None:
        """An earlier product of another company, each the model of one at most."""
        taken = {fact.target for fact in self.facts if fact.relation == "model"}
        own = {fact.subject for fact in self.facts if fact.relation == "maker" and fact.target == maker.id}
        earlier = [name for name, launched in self._launched.items() if launched < year and name not in taken | own]
        return self.things[self.rng.choice(earlier)] if earlier and self.rng.random() < 0.5 else None

    def _figures(self, company: Thing, towns: Sequence[Thing]) -> None:
        for town in towns:
            opened = self.rng.randint(self._founded[company.id], TODAY - 2)
            self._say(company, "office opened", str(opened), qualifier=town.name)
            self._say(company, "staff", str(self.rng.randint(11, 940)), qualifier=town.name)
        first = self.rng.randint(2006, 2017)
        for year in range(first, first + 7):
            self._say(company, "turnover", str(self.rng.randint(2_100, 96_000)), qualifier=str(year))

    def _appointment(self, company: Thing) -> None:
        day = self._day(self.rng.randint(2005, TODAY - 1))
        self._say(company, "former director", self.names.person())
        self._say(company, "appointed", day)
        self.events.append(Event("appointment", day, company.id))

    def _idle(self, earliest: int, latest: int) -> Thing:
        """Someone of that age who has nothing to do yet, or someone new."""
        fitting = [name for name, born in self._born.items() if earliest <= born <= latest and name not in self._busy]
        chosen = (
            self.things[self.rng.choice(fitting)]
            if fitting and self.rng.random() < 0.75
            else self._person(earliest, latest)
        )
        self._busy.add(chosen.id)
        return chosen

    def _person(self, earliest: int, latest: int) -> Thing:
        person = self._thing("person", self.names.person())
        self._born[person.id] = self.rng.randint(earliest, latest)
        return person

    def _day(self, year: int) -> str:
        return date.fromordinal(date(year, 1, 1).toordinal() + self.rng.randrange(365)).isoformat()

    def _thing(self, kind: str, name: str, *, trade: str = "", large: bool = False) -> Thing:
        number = sum(thing.kind == kind for thing in self.things.values())
        thing = Thing(f"{kind}-{number}", kind, name, trade, large)  # type: ignore[arg-type]
        self.things[thing.id] = thing
        return thing

    def _say(self, subject: Thing, relation: str, value: Thing | str, qualifier: str = "") -> None:
        text, target = (value, "") if isinstance(value, str) else (value.name, value.id)
        self.facts.append(Fact(subject.id, relation, text, target, qualifier))
