"""A parsed page as text: one walk over its elements, each of which begins or ends a line, a block, a list or a cell."""

import re

from lxml import etree

from gym.core.text import word_set
from gym.web.layout import Cell, Layout
from gym.web.table import Again, Table

HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
BLOCKS = word_set("p table blockquote figure form fieldset address section article hr")
LINES = word_set(
    "div dt li dd tr caption figcaption legend summary details option br main header footer nav aside body center noscript"
)
LEFT_OUT = word_set("script style template head svg iframe object video audio canvas textarea noframes annotation")
PERMALINKS = frozenset(("¶", "#", "§", "🔗"))
MOST_ELEMENTS = 500_000
"""Of a page; ten seconds of work at the most."""
CUT = "[the rest of this page is left out: it has too many elements]"
DEEPEST_TABLE = 8
"""Tables in tables; what is deeper is read as blocks."""

_HIDDEN = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_POWER = re.compile(r"\s*[-+−]?[\dn]+\s*")


def outline(root: "etree._Element", *, most: int = MOST_ELEMENTS) -> str:
    """The text of a tree, without what the page hides; of one with more than `most` elements, its beginning, which says so."""
    reader, number = _Reader(), 0
    skipped: etree._Element | None = None
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        number += event == "start"
        if event == "start" and (number > most or _left_out(element)):
            skipped = element
            walk.skip_subtree()
            continue
        if event == "start":
            reader.begin(element)
            reader.say(element.text)
            continue
        if element is not skipped:
            reader.end(element)
        reader.say(element.tail if element is not root and number <= most else None)
    return f"{reader.text()}\n\n{CUT}" if number > most else reader.text()


def _left_out(element: "etree._Element") -> bool:
    if element.tag in LEFT_OUT or element.get("hidden") is not None:
        return True
    if element.tag == "a" and (element.text or "").strip() in PERMALINKS and not len(element):
        return (element.get("href") or "").startswith("#")
    return bool(_HIDDEN.search(element.get("style") or ""))


class _Reader:
    """Where the walk is: in which cells, lists and listings."""

    def __init__(self) -> None:
        self._layouts = [Layout()]
        self._tables: list[Table] = []
        self._again = Again()
        self._numbers: list[int | None] = []
        """Of the lists around: the next item's number; None for bullets."""
        self._listings = 0
        self._listing: list[str] = []

    @property
    def _here(self) -> Layout:
        return self._layouts[-1]

    def text(self) -> str:
        """All that was said."""
        self._here.end_line()
        return "\n".join(self._here.lines)

    def say(self, text: str | None) -> None:
        """Text between two tags."""
        if text and self._listings:
            self._listing.append(text)
        elif text:
            self._here.say(text)

    def begin(self, element: "etree._Element") -> None:
        """What a tag that opens does to the text behind it."""
        match element.tag:
            case "pre":
                self._here.end_block()
                self._listings += 1
            case "br" if self._listings:
                self.say("\n")
            case tag if sign := HEADINGS.get(tag):
                self._here.heading(sign)
            case "ul" | "ol" | "menu" | "dl":
                self._begin_list(element)
            case "li":
                self._here.item(self._bullet())
            case "dd":
                self._here.indent(1)
            case "table":
                self._here.end_block()
                self._tables.append(Table(self._again))
            case "tr":
                self._end_row()
            case "td" | "th" if self._in_table:
                self._here.end_line()
                self._layouts.append(Layout())
            case "sup" if _POWER.fullmatch(element.text or "") and self._here.said()[-1:].isalnum():
                self.say("^")
            case "img" if alt := (element.get("alt") or "").strip():
                self.say(f"[image: {alt}]")
            case tag:
                self._break(tag)

    def end(self, element: "etree._Element") -> None:
        """What a tag that closes does."""
        match element.tag:
            case "pre":
                self._end_listing()
            case tag if tag in HEADINGS:
                self._here.heading("")
            case "ul" | "ol" | "menu" | "dl":
                self._end_list(element)
            case "li":
                self._here.item("")
            case "dd":
                self._here.indent(-1)
            case "table":
                self._end_row()
                self._tables.pop()
                self._here.structured = True
                self._here.end_block()
            case "tr":
                self._end_row()
            case "td" | "th" if self._in_table:
                self._end_cell(element)
            case tag:
                self._break(tag)

    def _break(self, tag: str) -> None:
        if tag in BLOCKS:
            self._here.end_block()
        elif tag in LINES:
            self._here.end_line()

    @property
    def _in_table(self) -> bool:
        return 0 < len(self._tables) <= DEEPEST_TABLE

    def _begin_list(self, element: "etree._Element") -> None:
        if element.tag != "dl":
            self._here.indent(1)
        if not self._numbers:
            self._here.end_block()
        self._numbers.append(_whole(element.get("start"), 1) if element.tag == "ol" else None)

    def _end_list(self, element: "etree._Element") -> None:
        self._numbers.pop()
        if element.tag != "dl":
            self._here.indent(-1)
        if not self._numbers:
            self._here.end_block()

    def _bullet(self) -> str:
        number = self._numbers[-1] if self._numbers else None
        if number is None:
            return "- "
        self._numbers[-1] = number + 1
        return f"{number}. "

    def _end_row(self) -> None:
        if self._in_table:
            self._here.row(self._tables[-1].end_row())
        else:
            self._here.end_line()

    def _end_cell(self, element: "etree._Element") -> None:
        cell = self._layouts.pop()
        cell.end_line()
        columns, rows = _whole(element.get("colspan"), 1), _whole(element.get("rowspan"), 1)
        self._tables[-1].add(Cell(columns, rows, cell.lines, cell.structured))

    def _end_listing(self) -> None:
        self._listings -= 1
        if not self._listings:
            self._here.verbatim("".join(self._listing))
            self._listing.clear()


def _whole(text: str | None, otherwise: int) -> int:
    """A number in an attribute; no page needs one of more than four digits."""
    text = (text or "").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,4}", text) else otherwise
