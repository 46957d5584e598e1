"""Pages that lead to others: the front page, registers by letter and trade, lists to turn over; and some that lead nowhere."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from gym.web.site.blocks import Heading, Inline, Link, Listing, Page, Prose, Table
from gym.web.site.pages import Plan, headline, slug
from gym.web.site.world import Thing, World

A_PAGE = 16
"""Entries of a list before one has to turn over."""
LETTERS = 12
"""Companies under one group of letters, about."""
NOTICES = 3
"""Of the archive's notices that are left; links to others lead nowhere."""
SECTIONS = (
    Link("Companies", "companies/index.html"),
    Link("People", "people/index.html"),
    Link("Products", "products/index.html"),
    Link("Places", "places/index.html"),
    Link("Prizes", "prizes/index.html"),
    Link("News", "news/index.html"),
)


def lists(plan: Plan) -> Iterator[Page]:
    """Every page that is not about one thing."""
    yield _front(plan)
    yield from _companies(plan)
    yield from _turned("people/index.html", "People", [(plan.link(one.id),) for one in _sorted(plan.world, "person")])
    yield from _turned("places/index.html", "Places", [(plan.link(one.id),) for one in _sorted(plan.world, "town")])
    yield from _turned("prizes/index.html", "Prizes", [(plan.link(one.id),) for one in _sorted(plan.world, "prize")])
    yield _page(
        "products/index.html", "Products", Prose(("Products are entered with their makers: see ", SECTIONS[0], "."))
    )
    yield from _turned("news/index.html", "News", _news(plan))
    yield from _aside(plan.notices)


def _front(plan: Plan) -> Page:
    latest = list(plan.news.items())[-1:-3:-1]
    return _page(
        "index.html",
        "The Halden Register",
        Prose(("Companies, people, products and places of Halden. A register of record, kept by hand.",)),
        Listing(tuple((section,) for section in SECTIONS)),
        Heading("Latest news"),
        Listing(tuple((Link(headline(plan, event), path),) for event, path in latest)),
        Prose((Link("About the register", "about.html"),)),
    )


def _companies(plan: Plan) -> Iterator[Page]:
    """An index of letters and trades; what is filed under an earlier name is found under its letter."""
    earlier = {
        fact.value: Link(f"{fact.value} (earlier name)", f"companies/{slug(fact.value)}-earlier.html")
        for fact in plan.world.facts
        if fact.relation == "former name"
    }
    entries = {one.name: plan.link(one.id) for one in plan.world.of("company")} | earlier
    groups = _lettered(entries)
    trades = {trade: list(few) for trade, few in groupby(_by_trade(plan.world), key=lambda one: one.trade)}
    by_letter = [
        (Link(f"{name[0]} to {name[1]}", f"companies/letters-{slug(''.join(name))}.html"), few) for name, few in groups
    ]
    by_trade = [(Link(trade, f"companies/trade-{slug(trade)}.html"), few) for trade, few in trades.items()]
    yield _page(
        "companies/index.html",
        "Companies",
        Heading("By name"),
        Listing(tuple((link,) for link, _ in by_letter)),
        Heading("By trade"),
        Listing(tuple((link,) for link, _ in by_trade)),
    )
    for link, links in by_letter:
        yield from _turned(link.path, f"Companies from {link.text}", [(one,) for one in links])
    for link, companies in by_trade:
        yield from _turned(link.path, f"Companies by trade: {link.text}", [(plan.link(one.id),) for one in companies])


def _lettered(entries: Mapping[str, Link]) -> list[tuple[tuple[str, str], list[Link]]]:
    """Runs of first letters with about `LETTERS` entries each; a letter is never torn."""
    groups: list[tuple[tuple[str, str], list[Link]]] = []
    for letter, names in groupby(sorted(entries, key=slug), key=lambda name: slug(name)[0].upper()):
        links = [entries[name] for name in names]
        if groups and len(groups[-1][1]) < LETTERS:
            (first, _), before = groups.pop()
            groups.append(((first, letter), before + links))
        else:
            groups.append(((letter, letter), links))
    return groups


def _by_trade(world: World) -> list[Thing]:
    return sorted(world.of("company"), key=lambda one: (one.trade, slug(one.name)))


def _sorted(world: World, kind: str) -> list[Thing]:
    return sorted(world.of(kind), key=lambda one: slug(one.name))


def _news(plan: Plan) -> list[tuple[Inline, ...]]:
    """The newest first."""
    return [
        (f"{event.date[:4]}: ", Link(headline(plan, event), path)) for event, path in reversed(tuple(plan.news.items()))
    ]


def _turned(path: str, title: str, items: Sequence[tuple[Inline, ...]]) -> Iterator[Page]:
    """A list on as many pages as it needs, each with a link to the next and the one before."""
    places = [
        path if number == 0 else path.replace(".html", f"-{number + 1}.html") for number in range(turns(len(items)))
    ]
    for number, place in enumerate(places):
        shown = tuple(items[number * A_PAGE : (number + 1) * A_PAGE])
        turn: list[Inline] = []
        if number > 0:
            turn += [Link("Previous page", places[number - 1]), " "]
        if number + 1 < len(places):
            turn += [Link("Next page", places[number + 1])]
        blocks = (Listing(shown), *((Prose(tuple(turn)),) if turn else ()))
        yield _page(place, title if number == 0 else f"{title}, page {number + 1}", *blocks)


def turns(count: int) -> int:
    """Pages of a list; one, when it is empty."""
    return max(1, -(-count // A_PAGE))


def _aside(notices: int) -> Iterator[Page]:
    yield _page(
        "about.html",
        "About the register",
        Prose(("The register is invented, and so is everything in it. ", Link("Contact", "contact.html"), ".")),
        Prose(("Old notices: ", Link("archive", "archive/index.html"), ".")),
    )
    hours = Table(("Day", "Hours"), (("Monday", "9 to 12"), ("Thursday", "14 to 18")))
    yield _page("contact.html", "Contact", Prose(("The reading room is open on two days.",)), hours, bare=True)
    yield _page(
        "archive/index.html", "Archive", Prose(("The archive was moved. Most of the notices are lost.",)), bare=True
    )
    for number in range(1, notices + 1):
        text = "The doors will be open. Children are to be accompanied."
        yield _page(f"archive/notice-{number}.html", f"Notice {number}", Prose((text,)), bare=True)


def _page(path: str, title: str, *blocks: Heading | Listing | Prose | Table, bare: bool = False) -> Page:
    return Page(path, title, blocks, bare=bare)
