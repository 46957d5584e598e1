"""Folders of static HTML served on loopback under stable host names, for as long as a context lasts.

Where a site is served changes from run to run; its name does not, so questions and records hold the name alone. What serves
files is aiohttp; which file an address means is decided here, and never one outside of the folder.
"""

import mimetypes
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from html import escape
from pathlib import Path
from urllib.parse import quote

from aiohttp import web
from yarl import URL

from gym.errors import ConfigError
from gym.web.address import literal
from gym.web.guard import Place
from gym.web.survey import INDEXES

MADE, PAGES = "site.json", "pages"
"""A folder that `gym web make-site` wrote has this file; its pages are below this folder, and its questions are not."""
LOOPBACK = "127.0.0.1"
LARGE = 16 << 20
"""Bytes of a file that is streamed."""
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*")


@asynccontextmanager
async def served(name: str, where: str) -> AsyncIterator[Place]:
    """Where the site of that host name is to be asked: an address as it is, a folder while the context lasts.

    Raises `ConfigError` for a name that is none, an address that is none, and a folder that is not there.
    """
    place = place_of(name, where)
    if isinstance(place, Place):
        yield place
    else:
        async with serving(place) as found:
            yield found


@asynccontextmanager
async def serving(folder: Path, port: int = 0) -> AsyncIterator[Place]:
    """A folder's pages on loopback; port 0 is any free one. Raises `ConfigError` for a port that cannot be had."""
    runner = web.AppRunner(_app(folder), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, LOOPBACK, port).start()
        except OSError as error:
            raise ConfigError(f"port {port} cannot be had: {error.strerror}; 0 is any free one") from error
        yield Place(LOOPBACK, runner.addresses[0][1])
    finally:
        await runner.cleanup()


def folders(sites: Mapping[str, str]) -> dict[str, Path]:
    """Host name -> where its pages lie, for those sites that are folders."""
    places = {name: place_of(name, where) for name, where in sites_by_host(sites).items()}
    return {name: place for name, place in places.items() if isinstance(place, Path)}


def sites_by_host(sites: Mapping[str, str]) -> dict[str, str]:
    """The sites by host names in lower case; raises `ConfigError` for a name that is none, or given twice."""
    named: dict[str, str] = {}
    for name, where in sites.items():
        if named.setdefault(checked_host(name), where) != where:
            raise ConfigError(f"web_sites names {checked_host(name)!r} twice: host names have no letter case")
    return named


def place_of(name: str, where: str) -> Place | Path:
    """The folder of a site's pages, or where it is served already; raises `ConfigError` for neither."""
    host = checked_host(name)
    if "://" not in where:
        return root(Path(where).expanduser(), f"site {host!r}: ")
    try:
        found = URL(where)
    except ValueError:
        found = URL()
    if found.scheme != "http" or not found.host or found.path != "/" or found.query_string or not found.port:
        raise ConfigError(f"site {host!r}: {where!r} is no such address: expected http://HOST:PORT, or a folder")
    return Place(found.host, found.port)


def root(folder: Path, what: str = "") -> Path:
    """Where the pages of a folder are: in it, or below it where we made it. Raises `ConfigError` when it is no folder."""
    pages = folder / PAGES if os.path.isfile(folder / MADE) else folder
    if not os.path.isdir(pages):
        none = f"{str(pages)!r} is no folder" if os.path.exists(pages) else f"the folder {str(pages)!r} does not exist"
        raise ConfigError(f"{what}{none}")
    return pages


def is_there(folder: Path) -> bool:
    """Whether it has, or is, a folder of pages."""
    try:
        return bool(root(folder))
    except ConfigError:
        return False


def checked_host(name: str) -> str:
    """A host name in lower case; raises `ConfigError` for what is none, an address for one: it would be asked itself."""
    host = name.lower()
    if not _HOST.fullmatch(host) or literal(host):
        raise ConfigError(f"site {name!r}: expected a host name such as halden.example")
    return host


def file_of(folder: Path, path: str) -> Path | None:
    """The file or folder that the path of a URL means, decoded and without its first slash; None for nothing inside."""
    if any(part.startswith(".") for part in path.split("/")) or "\0" in path or "\\" in path:
        return None
    root = Path(os.path.realpath(folder))
    found = Path(os.path.realpath(root / path))
    try:
        there = found.is_dir() or (found.is_file() and not path.endswith("/"))
    except OSError:  # a name too long, links in a circle
        return None
    return found if there and found.is_relative_to(root) else None


def _app(folder: Path) -> web.Application:
    async def answer(request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        found = file_of(folder, path)
        if found is None:
            raise web.HTTPNotFound(text="no such page")
        if found.is_file():
            return _file(found)
        if path and not path.endswith("/"):
            raise web.HTTPFound(quote(f"/{path}/"))
        index = next((found / name for name in INDEXES if (found / name).is_file()), None)
        return _file(index) if index else _listing(found, path)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    return app


def _file(path: Path) -> web.StreamResponse:
    """The file itself: `web.FileResponse` sends a packed one that lies beside it, and so takes what is too large for a page.

    Types are as the system knows them; a page says its charset itself, or is guessed at by who reads it.
    """
    kind, _ = mimetypes.guess_type(path.name)
    headers = {"Content-Type": kind or "application/octet-stream"}
    try:
        if path.stat().st_size > LARGE:
            return web.FileResponse(path, headers=headers)
        return web.Response(body=path.read_bytes(), headers=headers)
    except OSError as error:
        raise web.HTTPNotFound(text="no such page any more") from error


def _listing(folder: Path, path: str) -> web.Response:
    """What is in a folder without an index."""
    try:
        names = sorted(item.name + "/" * item.is_dir() for item in folder.iterdir() if not item.name.startswith("."))
    except OSError as error:
        raise web.HTTPNotFound(text="no such folder any more") from error
    points = "\n".join(f'<li><a href="{escape(quote(name))}">{escape(name)}</a></li>' for name in names)
    title = escape(f"/{path}")
    page = f'<!doctype html>\n<meta charset="utf-8">\n<title>{title}</title>\n<h1>{title}</h1>\n<ul>\n{points}\n</ul>\n'
    return web.Response(text=page, content_type="text/html")
