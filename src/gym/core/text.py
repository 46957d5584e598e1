"""The one-line form of every experience text, and how its words are counted (SPEC 2.1, FAULTS M7 and M11)."""

import re
import unicodedata

_JOINERS = "\u200c\u200d"
"""Zero-width (non-)joiners spell words in some scripts and emoji; every other invisible format character goes."""

_MARKER = re.compile(
    r"""(?: [-*+•‣–—]\s+                       # a bullet
          | \(?\d{1,3}[.)]\s+                  # 1. or 1) or (1)
          | \[\s*[GC]\d+\s*\]\s*[.:)\-]?\s*    # [G3]. as a library renders it
          | [GC]\d+\s*[.:)]\s+                 # G3: as models write it
        )+""",
    re.VERBOSE | re.IGNORECASE,
)
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»", "„": "“"}


def normalise_text(text: str) -> str:
    """One line in Unicode NFC: no control characters, outer quotes, list or id markers, nor lone surrogates.

    Applying it twice changes nothing.

    >>> normalise_text(' - "[G3]. When a sum\\n is long,\\tsplit it." ')
    'When a sum is long, split it.'
    """
    line = _composed_line(text)
    while (shorter := _unwrapped(line)) != line:
        line = shorter
    return line


def count_words(text: str) -> int:
    """Words between blanks."""
    return len(text.split())


def count(number: int, noun: str, *, verb: str = "") -> str:
    """A number and what it counts, with the verb that fits when it is given as `one/several`.

    >>> count(1, "step"), count(1200, "step"), count(1, "problem", verb="is/are")
    ('1 step', '1,200 steps', '1 problem is')
    """
    one, _, several = verb.partition("/")
    told = f"{number:,} {noun}{'' if number == 1 else 's'} {one if number == 1 else several}"
    return told.rstrip()


def word_set(text: str) -> frozenset[str]:
    """The words between blanks, for word lists written as text."""
    return frozenset(text.split())


def whole_characters(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates replaced by U+FFFD, so that UTF-8 can hold it."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def shown(text: str, limit: int = 60) -> str:
    """`text` in quotes for a message, shortened at the end."""
    return repr(text if len(text) <= limit else text[: limit - 1].rstrip() + "…")


def visible_line(text: str, limit: int = 300) -> str:
    """What others wrote, as a message may quote it: one line without characters that steer a terminal, cut at its end.

    >>> visible_line("red\\x1b[2J\\nalert")
    'red [2J alert'
    """
    line = _composed_line(text[: 4 * limit])
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def cut_middle(text: str, limit: int) -> str:
    """`text` itself up to `limit` characters; else its head and tail around a line that says how much is missing.

    >>> cut_middle("a" * 6 + "b" * 6, 4)
    'aa\\n[… 8 characters left out here …]\\nbb'
    """
    half = limit // 2
    missing = len(text) - 2 * half
    return text if len(text) <= limit else f"{text[:half]}\n[… {missing:,} characters left out here …]\n{text[-half:]}"


def _composed_line(text: str) -> str:
    """NFC with blanks collapsed; composing may join what an invisible character kept apart, so it comes last."""
    visible = "".join(_visible(character) for character in whole_characters(text))
    return " ".join(unicodedata.normalize("NFC", visible).split())


def _visible(character: str) -> str:
    match unicodedata.category(character):
        case "Cc" | "Zl" | "Zp":
            return " "
        case "Cf" if character not in _JOINERS:
            return ""
        case _:
            return character


def _unwrapped(line: str) -> str:
    if marker := _MARKER.match(line):
        return line[marker.end() :].strip()
    closing = _QUOTES.get(line[:1])
    if closing and len(line) > 1 and line.endswith(closing) and not set(line[1:-1]) & {line[0], closing}:
        return line[1:-1].strip()
    return line
