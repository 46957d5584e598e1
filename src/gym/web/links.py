"""Where a page leads: anchors, image maps, frames, and a page that only sends its reader on."""

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import urljoin

from lxml import etree

from gym.web.address import canonical
from gym.web.page import Link, visible

LONGEST_TEXT = 120
MOST_LINKS = 20_000
"""Of a page that are looked at."""
MOST_PIECES = 50
"""Of a link's text that are looked at."""

_REFRESH = re.compile(r"\s*\d+\s*[;,]\s*url\s*=\s*['\"]?([^'\"]+)", re.IGNORECASE)


def links_of(url: str, root: "etree._Element") -> tuple[Link, ...]:
    """The pages that a page links to, itself left out, each once with the first text that says something."""
    base = _joined(url, next((each.get("href") for each in root.iter("base") if each.get("href")), "")) or url
    found: dict[str, str] = {}
    for text, target in islice(_targets(root), MOST_LINKS):
        address = _joined(base, target)
        if address and address != url:
            found[address] = found.get(address) or " ".join(visible(text).split())[:LONGEST_TEXT]
    return tuple(Link(text=text, url=address) for address, text in found.items())


def _targets(root: "etree._Element") -> Iterator[tuple[str, str]]:
    for element in root.iter("a", "area", "frame", "iframe", "meta"):
        match element.tag:
            case "a" | "area":
                yield _text(element), element.get("href") or ""
            case "meta":
                if (element.get("http-equiv") or "").lower() == "refresh":
                    sent = _REFRESH.match(element.get("content") or "")
                    yield "this page leads on", sent[1] if sent else ""
            case _:
                yield element.get("title") or element.get("name") or "frame", element.get("src") or ""


def _text(element: "etree._Element") -> str:
    said = " ".join("".join(islice(element.itertext(), MOST_PIECES)).split())
    if not said:
        images = (image.get("alt") for image in islice(element.iter("img"), 3))
        said = next((alt for alt in images if alt), "") or element.get("title") or element.get("alt") or ""
    return said


def _joined(base: str, target: str) -> str | None:
    """The absolute address of a link over HTTP; None for what leads nowhere else."""
    target = target.strip()
    if not target or target.startswith("#"):
        return None
    try:
        found = canonical(urljoin(base, target))
    except ValueError:
        return None
    return str(found) if found.scheme in ("http", "https") and found.raw_host else None
