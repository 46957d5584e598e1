"""What is in a folder of static HTML: its pages as a model reads them, and which of their links lead nowhere."""

import os
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
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
    """Where a walk begins; empty when that is the listing of the folder itself."""


Done = Callable[[int, int], None]
"""Told how many pages of how many are done."""


def untold(done: int, of: int) -> None:
    """For whom nobody waits."""


def survey(folder: Path, done: Done = untold) -> Survey:
    """Reads every page. Raises `DataError` for a folder that is not there, has no page, or one that cannot be read."""
    files = found(folder)
    pages = list(filter(is_page, files))
    if not pages:
        raise DataError(f"{str(folder)!r} has no page: expected files that end in {', '.join(PAGE_SUFFIXES)}")
    listings = _listings(files)
    there = frozenset(files) | listings.keys()
    leads: dict[str, Sequence[str]] = {}
    for number, name in enumerate(pages, 1):
        leads[name] = targets(name, read(folder, name))
        done(number, len(pages))
    lost = tuple(Lost(name, link) for name, links in leads.items() for link in links if resolved(link, there) is None)
    front = resolved("", there) or ""
    every = leads | listings
    ways = {
        name: [end for link in links if (end := resolved(link, there)) is not None] for name, links in every.items()
    }
    reached = distances(ways, front)
    unreached = tuple(name for name in pages if name not in reached)
    return Survey(tuple(pages), len(files) - len(pages), lost, unreached, front)


def _listings(files: Sequence[str]) -> dict[str, list[str]]:
    """Every folder without an index -> the files and folders in it, which are listed in its place."""
    inside = defaultdict[str, dict[str, None]](dict)
    for name in files:
        *parents, _ = name.split("/")
        below = ""
        for parent in parents:
            inside[below][f"{below}{parent}/"] = None
            below = f"{below}{parent}/"
        inside[below][name] = None
    known = frozenset(files)
    return {
        folder: list(names) for folder, names in inside.items() if not any(folder + one in known for one in INDEXES)
    }


def found(folder: Path) -> list[str]:
    """Every file below a folder, sorted; hidden ones and those that a symbolic link has outside of it are left out."""
    if not folder.is_dir():
        raise DataError(f"{str(folder)!r} is no folder")
    root, names = folder.resolve(), list[str]()
    for place, folders, files in os.walk(root, onerror=partial(_unreadable, folder)):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(place, name) for name in files if not name.startswith("."))
        names += [path.relative_to(root).as_posix() for path in paths if _is_inside(path, root)]
    return sorted(names)


def _is_inside(path: Path, root: Path) -> bool:
    """Whether a file is really below the folder, links followed; one that is a link in a circle is nowhere."""
    end = Path(os.path.realpath(path))
    return end.is_relative_to(root) and os.path.isfile(end)


def is_page(name: str) -> bool:
    """By the end of its name."""
    return name.lower().endswith(PAGE_SUFFIXES)


def read(folder: Path, name: str) -> Page:
    """A page of the folder as our tools show it, at an address below `NOWHERE`."""
    return read_html(NOWHERE + name, decoded(page_bytes(folder / name)))


def page_bytes(path: Path) -> bytes:
    """A page as it is on the disk; raises `DataError` when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"the page {str(path)!r} cannot be read: {error.strerror}") from error


def targets(name: str, page: Page) -> tuple[str, ...]:
    """Where a page leads within the site, as paths; a folder ends in a slash."""
    inside = (urlsplit(link.url) for link in page.links if link.url.startswith(NOWHERE))
    return tuple(dict.fromkeys(unquote(link.path).lstrip("/") for link in inside if link.path != f"/{name}"))


def resolved(link: str, there: Collection[str]) -> str | None:
    """What is served for a path: a file, a folder's index, or its listing; None for nothing."""
    if link in there and not link.endswith("/"):
        return link
    below = f"{link.rstrip('/')}/" if link else ""
    return next((place for place in (*(below + name for name in INDEXES), below) if place in there), None)


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
