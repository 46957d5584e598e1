"""HTML to text that a model can read: the whole page, with headings, lists, definitions, tables and listings kept.

Extractors that look for "the article" drop what they take for boilerplate, and facts with it: here nothing is left out but
scripts, styles and what the page hides. lxml parses: hostile nesting does it no harm, and the event loop's thread goes on.
"""

from urllib.parse import urlsplit

from lxml import etree

from gym.web.links import links_of
from gym.web.markup import bearable
from gym.web.outline import outline
from gym.web.page import Page, visible

LONGEST_TITLE = 300


def read_html(url: str, html: str) -> Page:
    """The page at a (canonical) URL, never an error: of what cannot be parsed, a page without text."""
    root = _parsed(html)
    if root is None:
        return Page(url=url, title=_name(url), text="")
    text = _clean(outline(root))
    title = " ".join(visible(root.findtext(".//title") or "").split()) or _heading(text)
    return Page(url=url, title=title[:LONGEST_TITLE] or _name(url), text=text, links=links_of(url, root))


def read_text(url: str, text: str) -> Page:
    """A page that is plain text already."""
    return Page(url=url, title=_name(url), text=_clean("\n".join(text.splitlines())))


def _parsed(html: str) -> "etree._Element | None":
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    source = bearable(html.replace("\0", "")).encode("utf-8", "replace")
    try:
        return etree.fromstring(source, parser) if source.strip() else None
    except etree.XMLSyntaxError:
        return None


def _clean(text: str) -> str:
    return visible(text).strip("\n")


def _heading(text: str) -> str:
    return next((line.lstrip("# ") for line in text.split("\n", 20) if line.startswith("#")), "")


def _name(url: str) -> str:
    """The last part of an address, for a page without a title."""
    parts = urlsplit(url)
    return (parts.path.rstrip("/").rpartition("/")[2] or parts.netloc)[:LONGEST_TITLE]
