"""Pages as HTML, in the shapes that hand-made sites have: with navigation above, at the side, or none; links are relative."""

from collections.abc import Iterable
from html import escape
from posixpath import dirname, relpath
from random import Random

from gym.web.site.blocks import Block, Definitions, Heading, Inline, Link, Listing, Page, Prose, Table
from gym.web.site.lists import SECTIONS

SITE = "The Halden Register"
STYLE = "body { max-width: 46em; margin: 1em auto; font-family: Georgia, serif } td, th { padding: 0 1em 0 0; text-align: left }"


def html(page: Page, rng: Random) -> str:
    """The whole document; `rng` chooses among the ways to say the same in HTML."""
    body = "\n".join(_block(block, page.path) for block in page.blocks)
    title = f"<h1>{escape(page.title)}</h1>"
    match "bare" if page.bare else rng.choice(("above", "above", "aside")):
        case "bare":
            shape = f"{title}\n{body}"
        case "above":
            shape = (
                f"<header><nav>{_navigation(page)}</nav></header>\n<main>\n{title}\n{body}\n</main>\n{_footer(page)}"
            )
        case _:
            shape = f"<main><article>\n{title}\n{body}\n</article></main>\n<aside>{_navigation(page)}</aside>\n{_footer(page)}"
    name = escape(page.title if page.path == "index.html" else f"{page.title} · {SITE}")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{name}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n{shape}\n</body>\n</html>\n"
    )


def _navigation(page: Page) -> str:
    return " | ".join(_inline(link, page.path) for link in (Link("Front page", "index.html"), *SECTIONS))


def _footer(page: Page) -> str:
    return f"<footer>{_inline(Link('About the register', 'about.html'), page.path)}</footer>"


def _block(block: Block, path: str) -> str:
    match block:
        case Heading(text):
            return f"<h2>{escape(text)}</h2>"
        case Prose(parts):
            return f"<p>{_joined(parts, path)}</p>"
        case Listing(items):
            return f"<ul>\n{_lines(f'<li>{_joined(item, path)}</li>' for item in items)}\n</ul>"
        case Definitions(pairs):
            return f"<dl>\n{_lines(f'<dt>{escape(name)}</dt><dd>{_joined(what, path)}</dd>' for name, what in pairs)}\n</dl>"
        case Table(head, rows):
            return f"<table>\n{_head(head)}{_lines(_row(row, path) for row in rows)}\n</table>"


def _head(head: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in head)}</tr>\n" if head else ""


def _row(row: tuple[Inline, ...], path: str) -> str:
    return f"<tr>{''.join(f'<td>{_inline(cell, path)}</td>' for cell in row)}</tr>"


def _joined(parts: Iterable[Inline], path: str) -> str:
    return "".join(_inline(part, path) for part in parts)


def _inline(part: Inline, path: str) -> str:
    if isinstance(part, str):
        return escape(part)
    return f'<a href="{escape(relpath(part.path, dirname(path) or "."))}">{escape(part.text)}</a>'


def _lines(pieces: Iterable[str]) -> str:
    return "\n".join(pieces)
