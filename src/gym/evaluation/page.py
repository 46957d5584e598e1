"""A self-contained page: sections of text, a table and a chart, in Markdown or in HTML, from the same strings.

The HTML loads nothing: style and charts are inline, there is no script. Every text is escaped here, so what a model wrote
appears literally in both forms.
"""

import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

_MARKED = re.compile(r"([\\`*\[\]|<>#~]|(?<!\w)_|_(?!\w))")

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""No page may hold them, and in a terminal they steer."""

_LONG = 30
"""Characters from which a cell is text that wraps, also inside a digest."""

_CSS = """
:root { color-scheme: light dark; --ink: #1d2430; --paper: #fcfcfa; --quiet: #aab2bd; --faint: #e6e8ea; --accent: #14746f;
  --note: #5b6573; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --paper: #14181d; --quiet: #5d6773; --faint: #2a3038;
  --accent: #4fc3b5; --note: #9aa4b0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 56rem; padding: 2rem 1.1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.6rem 0 .6rem; padding-top: .9rem; border-top: 1px solid var(--faint); }
p { margin: .5rem 0; max-width: 46rem; overflow-wrap: anywhere; }
.lead { font-size: 1.15rem; }
.sub { color: var(--note); font-size: .92rem; }
.aside { border-left: 3px solid var(--accent); margin: 1.6rem 0; padding-left: 1rem; }
.aside h2 { border: 0; margin: 0; padding: 0; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .8rem 0; font-size: .92rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--note); border-bottom: 1px solid var(--quiet); vertical-align: bottom; }
td { border-bottom: 1px solid var(--faint); vertical-align: top; }
th, td { padding: .35rem .9rem .35rem 0; }
th.number, td.number { text-align: right; }
td.number { white-space: nowrap; }
td.text { min-width: 13rem; overflow-wrap: anywhere; }
@media (max-width: 32rem) { table { font-size: .8rem; } th, td { padding-right: .55rem; } }
figure { margin: 1.2rem 0; }
figcaption { color: var(--note); font-size: .92rem; margin-bottom: .3rem; }
svg { width: 100%; max-width: 32rem; height: auto; display: block; }
svg text { font-family: inherit !important; }
""".strip()


class Table(NamedTuple):
    """Cells as they are to be read; `numbers` are the columns set flush right."""

    caption: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: frozenset[int] = frozenset()


class Chart(NamedTuple):
    """An inline SVG, all that it shows in words, and a short caption."""

    svg: str
    label: str
    caption: str


class Section(NamedTuple):
    """One heading's worth of a page."""

    title: str
    text: tuple[str, ...] = ()
    table: Table | None = None
    charts: tuple[Chart, ...] = ()
    aside: bool = False
    """A warning, set apart."""


def markdown(title: str, lead: Sequence[str], sections: Sequence[Section]) -> str:
    """The page as CommonMark with pipe tables; charts are left to the HTML."""
    blocks = [f"# {_plain(title)}", *map(_plain, lead)]
    for section in sections:
        blocks += [f"## {_plain(section.title)}", *map(_plain, section.text)]
        if section.table:
            blocks.append(_pipes(section.table))
    return "\n\n".join(blocks) + "\n"


def html(title: str, lead: Sequence[str], sections: Sequence[Section]) -> str:
    """The page as one HTML document."""
    body = "\n".join(_section(section) for section in sections)
    intro = "\n".join(f'<p class="{"sub" if n else "lead"}">{_text(line)}</p>' for n, line in enumerate(lead))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{_text(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{_CSS}\n</style>\n</head>\n<body>\n<main>\n<h1>{_text(title)}</h1>\n{intro}\n{body}\n</main>\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    parts = [f"<h2>{_text(section.title)}</h2>", *(f"<p>{_text(line)}</p>" for line in section.text)]
    for chart in section.charts:
        labelled = chart.svg.replace("<svg ", f'<svg aria-label="{_text(chart.label)}" ', 1)
        parts.append(f"<figure><figcaption>{_text(chart.caption)}</figcaption>{labelled}</figure>")
    if section.table:
        parts.append(_rows(section.table))
    opening = '<section class="aside">' if section.aside else "<section>"
    return "\n".join((opening, *parts, "</section>"))


def _rows(table: Table) -> str:
    head = "".join(f'<th scope="col"{_kind(table, n)}>{_text(cell)}</th>' for n, cell in enumerate(table.header))
    rows = "\n".join(
        "<tr>" + "".join(f"<td{_kind(table, n, cell)}>{_text(cell)}</td>" for n, cell in enumerate(row)) + "</tr>"
        for row in table.rows
    )
    label = f'aria-label="{_text(table.caption)}"'
    return (
        f'<div class="table" role="region" tabindex="0" {label}><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _kind(table: Table, place: int, cell: str = "") -> str:
    if place in table.numbers:
        return ' class="number"'
    return ' class="text"' if len(cell) > _LONG else ""


def _pipes(table: Table) -> str:
    ruler = ["---:" if place in table.numbers else "---" for place in range(len(table.header))]
    lines = [map(_plain, table.header), ruler, *(map(_plain, row) for row in table.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(value: str) -> str:
    """Escaped for HTML; a lone surrogate becomes a question mark, a control character a box, so that the page is always valid."""
    return escape(_encodable(value), quote=True)


def _plain(value: str) -> str:
    """Escaped for Markdown, on one line."""
    return _MARKED.sub(r"\\\1", " ".join(_encodable(value).split())).replace("&", "&amp;")


def _encodable(value: str) -> str:
    return _CONTROL.sub("\ufffd", value).encode("utf-8", "replace").decode("utf-8")
