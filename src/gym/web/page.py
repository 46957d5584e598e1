"""A page as a model reads it: text with headings, tables and lists kept, and the links that stand in it.

Long texts are read in parts. A part ends where a paragraph does, so that no table row or sentence is torn unless it is longer
than a part by itself.
"""

from typing import NamedTuple

from gym.core.value import Value

PART_CHARS = 6_000
"""Of one part, about 1,500 tokens."""
_UNSEEN: dict[int, str | None] = dict.fromkeys(
    (0xAD, 0x180E, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC),
     *range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), *range(0xE0000, 0xE01F0))
)  # fmt: skip
"""Controls, marks of direction, and characters without a form of their own: tags and selectors can spell a hidden text."""


def visible(text: str) -> str:
    """Without characters that nobody sees; the joiners of some scripts and emoji stay."""
    return text.translate(_UNSEEN)


class Link(Value):
    """Where a page leads."""

    text: str
    url: str
    """Absolute, without a fragment."""


class Part(NamedTuple):
    """A piece of a page's text; the first is number 1."""

    number: int
    of: int
    text: str


class Page(Value):
    """What was found at an address."""

    url: str
    """Where it really was, after redirects; without a fragment."""
    title: str
    text: str
    links: tuple[Link, ...] = ()
    """In the order of the page, each address once."""

    def parts(self, chars: int = PART_CHARS) -> tuple[Part, ...]:
        """The text in pieces of at most `chars` characters; an empty page has one, which is empty."""
        pieces = list(_pieces(self.text, chars)) or [""]
        return tuple(Part(number, len(pieces), piece) for number, piece in enumerate(pieces, 1))


def _pieces(text: str, chars: int) -> list[str]:
    pieces, start = [], 0
    while start < len(text):
        end = _end(text, start, chars)
        pieces.append(text[start:end].strip("\n"))
        start = end
    return [piece for piece in pieces if piece.strip()]


def _end(text: str, start: int, chars: int) -> int:
    """Behind the last paragraph, line or word that fits; half a part is given up for that at most."""
    if len(text) - start <= chars:
        return len(text)
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, start + chars // 2, start + chars)
        if found >= 0:
            return found + len(mark)
    return start + chars
