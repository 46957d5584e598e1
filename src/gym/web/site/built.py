"""A world's site as files, read back: what each page says and where it leads, and by that, where a fact can be found.

Nothing of this trusts the pages' makers: text and links come from the HTML, as a model's tools show them.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from gym.web.page import Page as Shown
from gym.web.readable import read_html
from gym.web.site.blocks import Page, Statement
from gym.web.site.drawing import Sizes, draw
from gym.web.site.forms import Style, read, written
from gym.web.site.html import html
from gym.web.site.lists import NOTICES, lists, turns
from gym.web.site.pages import Plan, paths, report, slug, things
from gym.web.site.relations import RELATIONS
from gym.web.site.walks import Walks
from gym.web.site.world import Event, Fact, World
from gym.web.survey import NOWHERE, resolved, targets

FRONT = "index.html"
LISTS = 30
"""Pages of a small site that are about no one thing."""


@dataclass(frozen=True)
class Built:
    """A site; `files` are its HTML by path."""

    seed: int
    world: World
    files: Mapping[str, str]
    statements: Mapping[Fact, tuple[Statement, ...]]

    @cached_property
    def shown(self) -> Mapping[str, Shown]:
        """Pages as our tools show them."""
        return {path: read_html(NOWHERE + path, text) for path, text in self.files.items()}

    @cached_property
    def walks(self) -> Walks:
        """Over the links that the tools list."""
        return Walks(
            {
                path: [end for link in targets(path, page) if (end := resolved(link, self.files))]
                for path, page in self.shown.items()
            }
        )

    @cached_property
    def told(self) -> Mapping[Fact, tuple[Statement, ...]]:
        """Facts that can be relied on: every page that names both subject and value is one where the fact is known to stand."""
        return {fact: known for fact, known in self.statements.items() if self._only_there(fact, known)}

    def reads(self, statement: Statement) -> bool:
        """Whether the statement's pattern, on the page's text, gives the fact's value."""
        found = re.search(statement.pattern, self.shown[statement.page].text)
        kind = RELATIONS[statement.fact.relation].kind
        return found is not None and read(kind, found[1]) == statement.fact.value

    def naming(self, text: str) -> frozenset[str]:
        """Pages on which a text stands as a whole word or several."""
        if text not in self._named:
            pattern = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")
            pages = frozenset.intersection(*(self._words.get(word, frozenset()) for word in re.findall(r"\w+", text)))
            self._named[text] = frozenset(path for path in pages if pattern.search(_whole(self.shown[path])))
        return self._named[text]

    def holding(self, fact: Fact) -> frozenset[str]:
        """Pages on which the fact's value stands, in any form."""
        kind = RELATIONS[fact.relation].kind
        styles = (Style(), Style("month"), Style("iso", commas=False))
        return frozenset().union(
            *(self.naming(form) for form in {written(kind, fact.value, style) for style in styles})
        )

    @cached_property
    def _named(self) -> dict[str, frozenset[str]]:
        return {}

    @cached_property
    def _words(self) -> Mapping[str, frozenset[str]]:
        found = defaultdict[str, set[str]](set)
        for path, page in self.shown.items():
            for word in re.findall(r"\w+", _whole(page)):
                found[word].add(path)
        return {word: frozenset(pages) for word, pages in found.items()}

    def _only_there(self, fact: Fact, known: tuple[Statement, ...]) -> bool:
        subject = self.naming(self.world.things[fact.subject].name)
        return self.holding(fact) & subject <= {statement.page for statement in known}


def _whole(page: Shown) -> str:
    return f"{page.title}\n{page.text}"


def build(seed: int, pages: int) -> Built:
    """The site of a seed with exactly so many pages."""
    world, plan = _fitting(seed, pages)
    made = _pages(plan)
    assert len({page.path for page in made}) == len(made) == pages
    statements: dict[Fact, tuple[Statement, ...]] = {}
    for page in made:
        for one in page.statements:
            statements[one.fact] = (*statements.get(one.fact, ()), one)
    files = {page.path: html(page, Random(f"html/{seed}/{page.path}")) for page in made}
    return Built(seed, world, files, statements)


def _pages(plan: Plan) -> list[Page]:
    return [*lists(plan), *things(plan), *(report(plan, event) for event in plan.news)]


def _fitting(seed: int, pages: int) -> tuple[World, Plan]:
    """The largest of ever smaller worlds whose pages leave the site some room."""
    room = pages - LISTS
    while True:
        world = draw(seed, Sizes.of(room))
        where = paths(world)
        missing = pages - len(_pages(_plan(world, seed, where, world.events)))
        if missing >= 0:
            return world, _filled(world, seed, where, missing)
        room -= max(4, room // 30)


def _filled(world: World, seed: int, where: Mapping[str, str], missing: int) -> Plan:
    """With as much small news as fills the site, and a notice more where a page of the list would be one too many."""
    rng, events = Random(f"news/{seed}"), list(world.events)
    while missing:
        event = _small_news(world, rng)
        needed = 1 + turns(len(events) + 1) - turns(len(events))
        if needed > missing:
            break
        if event not in events:
            events.append(event)
            missing -= needed
    return _plan(world, seed, where, events, notices=NOTICES + missing)


def _plan(world: World, seed: int, where: Mapping[str, str], events: Sequence[Event], notices: int = NOTICES) -> Plan:
    dated = sorted(events, key=lambda event: (event.date, event.company, event.kind))
    names = (f"{event.date[:7]}-{slug(world.things[event.company].name)}" for event in dated)
    filed = {event: f"news/{name}-{number}.html" for number, (event, name) in enumerate(zip(dated, names, strict=True))}
    return Plan(world, seed, where, filed, notices)


def _small_news(world: World, rng: Random) -> Event:
    day = f"{rng.randint(2012, 2024)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    return Event("other", day, rng.choice(world.of("company")).id)
