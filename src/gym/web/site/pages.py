"""The pages that tell of the world: companies, people, products, places, prizes.

Most facts stand on one page only. What is told on two (who founded what, on the company's and on the founder's) is known to
be there twice, so that the way to a fact can be measured to whichever is nearer.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

from gym.web.site.blocks import LAYOUTS, Heading, Inline, Link, Listing, Page, Prose, Writer
from gym.web.site.forms import Style
from gym.web.site.world import Event, Thing, World

BARE = 0.12
"""Share of pages that never got the site's navigation."""
REMARKS = (
    "The entry was last looked over in spring.",
    "Photographs may be seen at the reading room on weekdays.",
    "The spelling follows the papers that were handed in.",
    "Corrections are welcome and are made once a quarter.",
    "A longer account can be ordered from the printing office.",
    "Some of the papers were lost when the cellar was flooded.",
    "The register does not judge the quality of what is offered.",
    "Readers have sent in many letters about this entry.",
)


@dataclass(frozen=True)
class Plan:
    """A world and where its pages are."""

    world: World
    seed: int
    paths: Mapping[str, str]
    """Thing -> its page."""
    news: Mapping[Event, str]
    """Event -> its page."""
    notices: int = 0
    """Old notices that are left in the archive."""

    def rng(self, path: str) -> Random:
        """The same for a page whatever else is on the site."""
        return Random(f"page/{self.seed}/{path}")

    def writer(self, path: str) -> Writer:
        """For a page of its own style and layout."""
        rng = self.rng(path)
        style = Style(rng.choice(("day", "day", "month", "iso")), rng.random() < 0.6)
        return Writer(self.world, self.paths, path, style=style, layout=rng.choice(LAYOUTS))

    def bare(self, path: str) -> bool:
        """Whether the page is one of those without navigation."""
        return self.rng(f"{path}/bare").random() < BARE

    def remark(self, path: str) -> Prose:
        """A sentence that says nothing of the world."""
        return Prose((self.rng(f"{path}/remark").choice(REMARKS),))

    def link(self, thing: str) -> Link:
        """To a thing's page."""
        return Link(self.world.things[thing].name, self.paths[thing])


def paths(world: World) -> dict[str, str]:
    """Thing -> path of its page."""
    folders = {"company": "companies", "person": "people", "product": "products", "town": "places", "prize": "prizes"}
    taken: dict[str, str] = {}
    for thing in world.things.values():
        stem = f"{folders[thing.kind]}/{slug(thing.name)}"
        free = next(f"{stem}{end}" for end in ("", *(f"-{n}" for n in range(2, 99))) if f"{stem}{end}" not in taken)
        taken[free] = thing.id
    return {name: f"{stem}/index.html" if world.things[name].large else f"{stem}.html" for stem, name in taken.items()}


def slug(name: str) -> str:
    """
    >>> slug("Skömén & Brei")
    'skomen-brei'
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return "-".join(re.findall(r"[a-z0-9]+", plain.lower()))


def things(plan: Plan) -> Iterator[Page]:
    """Every page about a thing, its parts, and the stubs of earlier names."""
    makers: Mapping[str, Callable[[Plan, Thing], Iterator[Page]]] = {
        "company": _company,
        "person": _person,
        "product": _product,
        "town": _town,
        "prize": _prize,
    }
    for thing in plan.world.things.values():
        yield from makers[thing.kind](plan, thing)


def _company(plan: Plan, company: Thing) -> Iterator[Page]:
    world, path = plan.world, plan.paths[company.id]
    writer = plan.writer(path)
    writer.put(Prose((f"{company.name}, {company.trade}.",)))
    writer.facts(world.told(company.id, "number", "seat", "director"))
    if company.large:
        parts = tuple(_company_parts(plan, company))
        writer.put(Heading("More"), Listing(tuple((Link(part.title, part.path),) for part in parts)))
        yield from parts
    else:
        _history(plan, company, writer)
        _products(plan, company, writer)
    reports = [(event, page) for event, page in plan.news.items() if event.company == company.id]
    if reports:
        writer.put(Heading("In the news"), Listing(tuple((Link(headline(plan, one), page),) for one, page in reports)))
    writer.put(plan.remark(path))
    yield writer.page(company.name, bare=plan.bare(path))
    yield from _stub(plan, company)


def _company_parts(plan: Plan, company: Thing) -> Iterator[Page]:
    folder = plan.paths[company.id].removesuffix("index.html")
    for name, fill in (("history", _history), ("offices", _offices), ("figures", _figures), ("products", _products)):
        path = f"{folder}{name}.html"
        writer = plan.writer(path)
        fill(plan, company, writer)
        writer.put(plan.remark(path), Prose((Link(f"Back to {company.name}", plan.paths[company.id]),)))
        yield writer.page(f"{company.name}: {name}", bare=plan.bare(path))


def _history(plan: Plan, company: Thing, writer: Writer) -> None:
    writer.facts(plan.world.told(company.id, "founded", "founder", "owner"))
    writer.sentences(plan.world.pointing(company.id, "owner"), backwards=True)


def _offices(plan: Plan, company: Thing, writer: Writer) -> None:
    opened, staff = plan.world.told(company.id, "office opened"), plan.world.told(company.id, "staff")
    writer.put(Prose((f"Offices of {company.name} beside the head office:",)))
    writer.columns("Office", tuple(zip(opened, staff, strict=True)))


def _figures(plan: Plan, company: Thing, writer: Writer) -> None:
    writer.put(Prose((f"Turnover of {company.name} in thousand crowns, by year:",)))
    writer.columns("Year", [(fact,) for fact in plan.world.told(company.id, "turnover")])


def _products(plan: Plan, company: Thing, writer: Writer) -> None:
    made = plan.world.pointing(company.id, "maker")
    if not made:
        writer.put(Prose(("No product is entered.",)))
    writer.under("Products of {value}", made)
    writer.sentences([named for fact in made for named in plan.world.told(fact.subject, "codename")])


def _stub(plan: Plan, company: Thing) -> Iterator[Page]:
    for fact in plan.world.told(company.id, "former name"):
        path = f"companies/{slug(fact.value)}-earlier.html"
        writer = plan.writer(path)
        writer.sentences([fact])
        writer.put(plan.remark(path))
        yield writer.page(fact.value, bare=plan.bare(path))


def _person(plan: Plan, person: Thing) -> Iterator[Page]:
    world, path = plan.world, plan.paths[person.id]
    writer = plan.writer(path)
    writer.facts(world.told(person.id, "born", "birthplace", "mentor"))
    writer.sentences(world.told(person.id, "nickname"))
    writer.sentences(world.pointing(person.id, "founder", "director", "designer", "mentor"), backwards=True)
    writer.put(plan.remark(path))
    yield writer.page(person.name, bare=plan.bare(path))


def _product(plan: Plan, product: Thing) -> Iterator[Page]:
    world, path = plan.world, plan.paths[product.id]
    writer = plan.writer(path)
    writer.facts(world.told(product.id, "maker", "designer", "launched", "weight", "price", "model"))
    writer.sentences(world.pointing(product.id, "model", "winner"), backwards=True)
    writer.put(plan.remark(path))
    yield writer.page(product.name, bare=plan.bare(path))


def _town(plan: Plan, town: Thing) -> Iterator[Page]:
    path = plan.paths[town.id]
    writer = plan.writer(path)
    writer.facts(plan.world.told(town.id, "charter", "population", "mayor", "altitude"))
    writer.under("Head offices in {value}", plan.world.pointing(town.id, "seat"))
    writer.put(plan.remark(path))
    yield writer.page(town.name)


def _prize(plan: Plan, prize: Thing) -> Iterator[Page]:
    path = plan.paths[prize.id]
    writer = plan.writer(path)
    writer.put(Prose((f"The {prize.name} is given once a year. In some years nothing was found worthy.",)))
    writer.columns("Year", [(fact,) for fact in plan.world.told(prize.id, "winner")])
    yield writer.page(prize.name)


def headline(plan: Plan, event: Event) -> str:
    """What is over a report; it gives nothing away."""
    name = plan.world.things[event.company].name
    return {
        "takeover": f"A new owner for {name}",
        "appointment": f"A new head at {name}",
        "other": f"Open doors at {name}",
    }[event.kind]


def report(plan: Plan, event: Event) -> Page:
    """The page of an event."""
    path, world = plan.news[event], plan.world
    writer = plan.writer(path)
    match event.kind:
        case "takeover":
            writer.sentences(world.told(event.company, "owner", "taken over", "takeover price"))
        case "appointment":
            writer.sentences(world.told(event.company, "director", "former director", "appointed"))
        case "other":
            writer.put(_open_doors(plan, event))
    writer.put(plan.remark(path), Prose(("See the entry of ", plan.link(event.company), ".")))
    return writer.page(headline(plan, event), bare=plan.bare(path))


def _open_doors(plan: Plan, event: Event) -> Prose:
    rng = plan.rng(plan.news[event])
    visitors = ("Many visitors came", "Few came, for it rained", "A school class came", "The brass band played")
    parts: tuple[Inline, ...] = (
        f"{rng.choice(visitors)} when {plan.world.things[event.company].name} opened its doors. ",
    )
    if rng.random() < 0.5:
        parts += (Link("The notice of that day is kept in the archive.", f"archive/notice-{rng.randint(1, 12)}.html"),)
    return Prose(parts)
