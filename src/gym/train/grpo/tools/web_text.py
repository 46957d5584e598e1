"""What the web tools tell a model. A page's text is data: it stands between marks that nothing inside can close."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import islice

from gym.web.page import Link, Page, Part
from gym.web.searching import Hit

LINK_CHARS = 75
"""Of one in a list of links, about: a part of the list is as long as a part of a page."""
MATCHES_SHOWN = 8
LONGEST_PHRASE = 40
"""Words that are looked for in their order; of more, the lines that have them all are shown."""
AROUND = 200
"""Characters shown on each side of what was found in a long line."""
NEAREST = 5
COMPARED, LONGEST_COMPARED = 500, 200
"""Links seen last, and characters of one, that are compared with an address that leads nowhere."""

_MARK = re.compile(r"[<＜](?=[\s\u200c\u200d/]*(?:page|links|matches|results|tool_\w+)\b)", re.IGNORECASE)
"""Ours, and those around what any tool says; joiners are not seen."""


def fenced(tag: str, text: str, **about: object) -> str:
    """`text` between marks; marks inside lose their bracket.

    >>> print(fenced("page", "x </page> y", url="http://a.example/"))
    <page url="http://a.example/">
    x ‹/page> y
    </page>
    """
    said = "".join(f' {name}="{str(value).replace(chr(34), "%22")}"' for name, value in about.items())
    return f"<{tag}{_MARK.sub('‹', said)}>\n{_MARK.sub('‹', text)}\n</{tag}>"


def page_text(page: Page, number: int, left: int, chars: int) -> str:
    """A part of a page, of about `chars` characters, and how to go on."""
    parts = page.parts(chars)
    part = parts[min(number, len(parts)) - 1]
    head = f"{page.title}\n\n" if part.number == 1 else ""
    body = fenced("page", head + (part.text or "(no text)"), url=page.url, part=f"{part.number} of {part.of}")
    more = [f'the next part: open with "part": {part.number + 1}'] if part.number < part.of else []
    more.append(f"{len(page.links)} links: call links")
    return f"{body}\n[{'; '.join(more)}; {visits_left(left)}]"


def links_text(page: Page, links: Sequence[Link], number: int, left: int, chars: int) -> str:
    """A part of the links that may be followed, about as long as a part of a page."""
    each = chars // LINK_CHARS
    parts = max(1, -(-len(links) // each))
    number = min(number, parts)
    shown = links[(number - 1) * each : number * each]
    lines = [f"- {link.text or '(no text)'}: {link.url}" for link in shown]
    body = fenced("links", "\n".join(lines) or "(none)", url=page.url, part=f"{number} of {parts}")
    notes = [f'the next part: links with "part": {number + 1}'] if number < parts else []
    if outside := len(page.links) - len(links):
        notes.append(f"{outside} links lead where you may not go and are left out")
    return f"{body}\n[{'; '.join([*notes, visits_left(left)])}]"


def matches_text(page: Page, wanted: str, left: int, chars: int) -> str:
    """Where a text stands in a page; when it does not, the lines that have all its words."""
    words = wanted.split()
    words = [word for word in words if word.strip("|/")] or words[:1]  # between the others these count as blanks
    parts = page.parts(chars)
    shown, number = _exactly(parts, words)
    what = f"matches: {number}"
    if not number:
        shown, number = _with_all(parts, words)
        what = f"not there word for word; lines with all its words: {number}" if number else "no match"
    more = f", the first {MATCHES_SHOWN} are shown" if number > MATCHES_SHOWN else ""
    body = fenced("matches", "\n".join(dict.fromkeys(shown)) or "(none)", url=page.url)
    return f"{body}\n[{what}{more}; {visits_left(left)}]"


def hits_text(query: str, hits: Sequence[Hit]) -> str:
    """Results of a search."""
    lines = [
        f"{place}. {' '.join(hit.title.split())}\n   {hit.url}\n   {' '.join(hit.snippet.split())}".rstrip()
        for place, hit in enumerate(hits, 1)
    ]
    return fenced("results", "\n".join(lines) or "(nothing found; try other words)", query=" ".join(query.split()))


def lost_text(url: str, unread: dict[str, str]) -> str:
    """For a page that is not there: links seen so far that were not opened, the most alike first."""
    if not unread:
        return ""
    candidates = [each for each in islice(reversed(unread), COMPARED) if len(each) <= LONGEST_COMPARED]
    alike = get_close_matches(url[:LONGEST_COMPARED], candidates, n=NEAREST, cutoff=0.6)
    chosen = [*alike, *islice((each for each in unread if each not in alike), NEAREST - len(alike))]
    lines = [f"- {unread[each] or '(no text)'}: {each}" for each in chosen]
    return "\nAddresses are not to be guessed. Links seen so far and not opened:\n" + fenced("links", "\n".join(lines))


def visits_left(left: int) -> str:
    """How many pages may still be opened."""
    return "no more pages can be opened: answer with what you have" if left < 1 else f"pages left to open: {left}"


def _exactly(parts: Sequence[Part], words: Sequence[str]) -> tuple[list[str], int]:
    """The first places where the words stand in this order, and how many there are."""
    if not 0 < len(words) <= LONGEST_PHRASE:
        return [], 0
    pattern = re.compile(r"[\s|/]+".join(map(re.escape, words)), re.IGNORECASE)
    shown, number = list[str](), 0
    for part in parts:
        for match in pattern.finditer(part.text):
            number += 1
            if number <= MATCHES_SHOWN:
                shown.append(f"(part {part.number}) {_around(part.text, match)}")
    return shown, number


def _around(text: str, match: re.Match[str]) -> str:
    """The lines of a match, cut when they are long."""
    start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - AROUND)
    line_end = text.find("\n", match.end())
    end = min(len(text) if line_end < 0 else line_end, match.end() + AROUND)
    return text[start:end].strip()


def _with_all(parts: Sequence[Part], words: Sequence[str]) -> tuple[list[str], int]:
    """The first lines that have all of the words, and how many have."""
    wanted = [word.casefold() for word in words]
    lines = [
        f"(part {part.number}) {line.strip()[: 2 * AROUND]}"
        for part in parts
        for line in part.text.splitlines()
        if wanted and _has_all(line.casefold(), wanted)
    ]
    return lines[:MATCHES_SHOWN], len(lines)


def _has_all(line: str, words: Sequence[str]) -> bool:
    return all(word in line for word in words)
