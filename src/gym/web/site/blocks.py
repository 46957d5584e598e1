"""What a page consists of before it is HTML, and how facts are put on it.

Facts about one subject go onto a page as a table, a list of definitions or prose. Wherever one stands, a pattern is kept that
reads it from the page's text; its one group takes the value.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from gym.web.site.forms import PATTERNS, Style, written
from gym.web.site.relations import RELATIONS
from gym.web.site.world import Fact, World

Layout = Literal["table", "definitions", "prose"]
LAYOUTS: tuple[Layout, ...] = ("table", "definitions", "prose")


class Link(NamedTuple):
    """A text that leads to a page of the site."""

    text: str
    path: str


Inline = str | Link


class Heading(NamedTuple):
    """Between parts of a page."""

    text: str


class Prose(NamedTuple):
    """A paragraph."""

    parts: tuple[Inline, ...]


class Table(NamedTuple):
    """With a row of headings, or none."""

    head: tuple[str, ...]
    rows: tuple[tuple[Inline, ...], ...]


class Definitions(NamedTuple):
    """Labels and what is behind them."""

    pairs: tuple[tuple[str, tuple[Inline, ...]], ...]


class Listing(NamedTuple):
    """Points."""

    items: tuple[tuple[Inline, ...], ...]


Block = Heading | Prose | Table | Definitions | Listing


class Statement(NamedTuple):
    """That a page tells a fact."""

    fact: Fact
    page: str
    pattern: str


class Page(NamedTuple):
    """One page of the site."""

    path: str
    title: str
    blocks: tuple[Block, ...]
    statements: tuple[Statement, ...] = ()
    bare: bool = False
    """Without the site's navigation."""


class Writer:
    """Collects one page; `paths` says where each thing's page is."""

    def __init__(self, world: World, paths: Mapping[str, str], path: str, *, style: Style, layout: Layout) -> None:
        self._world, self._paths, self._path, self._style, self._layout = world, paths, path, style, layout
        self._blocks: list[Block] = []
        self._statements: list[Statement] = []

    def page(self, title: str, *, bare: bool = False) -> Page:
        """What was put in."""
        return Page(self._path, title, tuple(self._blocks), tuple(self._statements), bare)

    def put(self, *blocks: Block) -> None:
        """Blocks that tell no fact."""
        self._blocks.extend(blocks)

    def facts(self, facts: Sequence[Fact]) -> None:
        """Facts about one subject, in the page's layout."""
        if not facts:
            return
        rows = [(RELATIONS[fact.relation].label, self._value(fact)) for fact in facts]
        match self._layout:
            case "prose":
                self.sentences(facts)
                return
            case "table":
                self.put(Table((), tuple((label, value) for label, value in rows)))
            case "definitions":
                self.put(Definitions(tuple((label, (value,)) for label, value in rows)))
        for (label, _), fact in zip(rows, facts, strict=True):
            self._keep(fact, rf"{_spaced(label)}\W+({PATTERNS[RELATIONS[fact.relation].kind]})")

    def sentences(self, facts: Iterable[Fact], *, backwards: bool = False) -> None:
        """Facts in a paragraph; `backwards`: on the page of their value."""
        parts: list[Inline] = []
        for fact in facts:
            relation = RELATIONS[fact.relation]
            template = relation.backwards if backwards else relation.sentence
            parts += [*self._filled(template, fact), " "]
            self._keep(fact, self._pattern(template, fact))
        if parts:
            self.put(Prose(tuple(parts[:-1])))

    def columns(self, first: str, several: Sequence[Sequence[Fact]]) -> None:
        """A table with a row for each qualifier, and a column for each fact in a row."""
        heads = tuple(RELATIONS[fact.relation].label for fact in several[0])
        rows = tuple((row[0].qualifier, *map(self._value, row)) for row in several)
        self.put(Table((first, *heads), rows))
        for row in several:
            before = _spaced(row[0].qualifier)
            for fact in row:
                pattern = PATTERNS[RELATIONS[fact.relation].kind]
                self._keep(fact, rf"\b{before}\W+({pattern})")
                before += rf"\W+(?:{pattern})"

    def under(self, heading: str, facts: Sequence[Fact]) -> None:
        """A list of subjects below a heading that names the value of all of them."""
        if not facts:
            return
        words = heading.format(value=self._world.things[facts[0].target].name)
        self.put(Heading(words), Listing(tuple((self._link(fact.subject),) for fact in facts)))
        for fact in facts:
            subject = _spaced(self._world.things[fact.subject].name)
            self._keep(fact, rf"{self._pattern(heading, fact)}\b[\s\S]{{0,4000}}?\b{subject}\b")

    def _keep(self, fact: Fact, pattern: str) -> None:
        self._statements.append(Statement(fact, self._path, pattern))

    def _value(self, fact: Fact) -> Inline:
        text = written(RELATIONS[fact.relation].kind, fact.value, self._style)
        return Link(text, self._paths[fact.target]) if fact.target in self._paths else text

    def _link(self, thing: str) -> Inline:
        name = self._world.things[thing].name
        return name if self._paths[thing] == self._path else Link(name, self._paths[thing])

    def _filled(self, template: str, fact: Fact) -> list[Inline]:
        fillings = {
            "{subject}": self._link(fact.subject),
            "{value}": self._value(fact),
            "{qualifier}": fact.qualifier,
        }
        return [fillings.get(piece, piece) for piece in re.split(r"(\{\w+\})", template) if piece]

    def _pattern(self, template: str, fact: Fact) -> str:
        fillings = {
            "{subject}": _spaced(self._world.things[fact.subject].name),
            "{value}": f"({PATTERNS[RELATIONS[fact.relation].kind]})",
            "{qualifier}": _spaced(fact.qualifier),
        }
        pieces = [piece for piece in re.split(r"(\{\w+\})", template.rstrip(".")) if piece]
        return r"\W*".join(fillings.get(piece, _spaced(piece.strip())) for piece in pieces)


def _spaced(text: str) -> str:
    """A pattern for the words of a text, however they are broken into lines or marked as links."""
    return r"\W+".join(re.escape(word) for word in re.findall(r"\w+", text))
