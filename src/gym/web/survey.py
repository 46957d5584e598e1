"""What is in a folder of static HTML: its pages as a model reads them, and which of their links lead nowhere."""

import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from gym.errors import DataError
from gym.web.charset import decoded
from gym.web.page import Page
from gym.web.readable import read_html

PAGE_SUFFIXES = (".html", ".htm", ".xhtml")
INDEXES = ("index.html", "index.htm")
"""What stands for a folder, the first that is there."""
NOWHERE = "http://site.invalid/"
"""The address of a site as long as it has none."""


class Lost(NamedTuple):
    """A link within the site to something that is not there."""

    page: str
    link: str


class Survey(NamedTuple):
    """Of one folder. Paths are below it, with forward slashes."""

    pages: tuple[str, ...]
    others: int
    """Files that are no pages: images, style sheets."""
    lost: tuple[Lost, ...]
    unreached: tuple[str, ...]
    """Pages to which no way leads from the front page by links."""
    front: str
    """Where a walk begins; empty when the folder has neither an index nor a page."""


def survey(folder: Path) -> Survey:
    """Reads every page. Raises `DataError` for a folder that is not there or has no page."""
    files = found(folder)
    pages = [name for name in files if name.lower().endswith(PAGE_SUFFIXES)]
    if not pages:
        raise DataError(f"{str(folder)!r} has no page: expected files that end in {', '.join(PAGE_SUFFIXES)}")
    there = frozenset(files)
    leads = {name: targets(name, read(folder, name)) for name in pages}
    lost = tuple(Lost(name, link) for name, links in leads.items() for link in links if resolved(link, there) is None)
    front = resolved("", there) or pages[0]
    ways = {name: [end for link in links if (end := resolved(link, there))] for name, links in leads.items()}
    reached = distances(ways, front)
    return Survey(
        tuple(pages), len(files) - len(pages), lost, tuple(name for name in pages if name not in reached), front
    )


def found(folder: Path) -> list[str]:
    """Every file below a folder, sorted; hidden ones and those that a symbolic link has outside of it are left out."""
    if not folder.is_dir():
        raise DataError(f"{str(folder)!r} is no folder")
    root, names = folder.resolve(), list[str]()
    for place, folders, files in os.walk(root, onerror=partial(_unreadable, folder)):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(place, name) for name in files if not name.startswith("."))
        names += [path.relative_to(root).as_posix() for path in paths if path.resolve().is_relative_to(root)]
    return sorted(names)


def read(folder: Path, name: str) -> Page:
    """A page of the folder as our tools show it, at an address below `NOWHERE`."""
    return read_html(NOWHERE + name, decoded((folder / name).read_bytes()))


def targets(name: str, page: Page) -> tuple[str, ...]:
    """Where a page leads within the site, as paths; a folder ends in a slash."""
    inside = (urlsplit(link.url) for link in page.links if link.url.startswith(NOWHERE))
    return tuple(dict.fromkeys(unquote(link.path).lstrip("/") for link in inside if link.path != f"/{name}"))


def resolved(link: str, there: Iterable[str]) -> str | None:
    """The file that is served for a path, or None."""
    known = there if isinstance(there, frozenset) else frozenset(there)
    if link in known:
        return link
    below = f"{link.rstrip('/')}/" if link else ""
    if index := next((below + name for name in INDEXES if below + name in known), None):
        return index
    return None


def distances(ways: Mapping[str, Sequence[str]], start: str) -> dict[str, int]:
    """Clicks from a page to every page that can be reached (breadth first)."""
    known, queue = {start: 0}, deque([start])
    while queue:
        here = queue.popleft()
        for there in ways.get(here, ()):
            if there not in known:
                known[there] = known[here] + 1
                queue.append(there)
    return known


def _unreadable(folder: Path, error: OSError) -> None:
    raise DataError(f"{str(folder)!r} cannot be read whole: {error.filename}: {error.strerror}")
