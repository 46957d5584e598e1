"""HTML to text that a model can read: the whole page, with headings, lists, definitions, tables and listings kept.

Extractors that look for "the article" drop what they take for boilerplate, and facts with it: here nothing is left out but
scripts, styles and what the page hides. lxml parses: hostile nesting does it no harm, and the event loop's thread goes on.
"""

import re
from urllib.parse import urlsplit

from lxml import etree

from gym.web.links import links_of
from gym.web.outline import outline
from gym.web.page import Page

_UNSEEN = dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF, *range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0)))
_LONG_TAG = re.compile(r"<[a-zA-Z][^<>]{1000,}")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_MOST_ATTRIBUTES = 200


def read_html(url: str, html: str) -> Page:
    """The page at a (canonical) URL, never an error: of what cannot be parsed, a page without text."""
    root = _parsed(html)
    if root is None:
        return Page(url=url, title=_name(url), text="")
    text = _clean(outline(root))
    title = " ".join((root.findtext(".//title") or "").split()) or _heading(text) or _name(url)
    return Page(url=url, title=_clean(title), text=text, links=links_of(url, root))


def read_text(url: str, text: str) -> Page:
    """A page that is plain text already."""
    return Page(url=url, title=_name(url), text=_clean("\n".join(text.splitlines())))


def _parsed(html: str) -> "etree._Element | None":
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    source = _LONG_TAG.sub(_bearable, html.replace("\0", "")).encode("utf-8", "replace")
    try:
        return etree.fromstring(source, parser) if source.strip() else None
    except etree.XMLSyntaxError:
        return None


def _bearable(tag: re.Match[str]) -> str:
    """Nothing of a tag with very many attributes: the check for doubles takes the square of their number."""
    return (
        tag[0]
        if len(re.split(r"[\s/]+", _QUOTED.sub("", tag[0]), maxsplit=_MOST_ATTRIBUTES)) <= _MOST_ATTRIBUTES
        else ""
    )


def _clean(text: str) -> str:
    """Without characters that nobody sees."""
    return text.translate(_UNSEEN).strip("\n")


def _heading(text: str) -> str:
    return next((line.lstrip("# ") for line in text.split("\n", 20) if line.startswith("#")), "")


def _name(url: str) -> str:
    """The last part of an address, for a page without a title."""
    parts = urlsplit(url)
    return parts.path.rstrip("/").rpartition("/")[2] or parts.netloc
