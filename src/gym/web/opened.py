"""The web of a run: what fetches, what searches, and what may be visited; opened once from the configuration."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from gym.config import RunConfig
from gym.errors import ConfigError
from gym.web.fetching import Fetcher
from gym.web.guard import Guard, Place
from gym.web.http import HttpFetcher, reading
from gym.web.index import pages_digest
from gym.web.pace import Pace
from gym.web.record import FILE, RecordedFetcher, RecordedSearcher, WebRecord
from gym.web.search import NONE, open_search, query_usd
from gym.web.searching import Searcher
from gym.web.sites import folders, is_there, served, sites_by_host
from gym.web.visitor import open_visitor

GONE = Place("127.0.0.1", 9)
"""Of a site that is not there: nobody is ever sent to it."""


@dataclass(frozen=True)
class Web:
    """One of it serves all rollouts of a run."""

    fetcher: Fetcher
    guard: Guard
    searcher: Searcher | None = None


class Paid(Protocol):
    """Who is told of queries to a search service."""

    def __call__(self, service: str, usd: float | None, *, paid: int = 0, replayed: int = 0) -> None: ...


def nobody(service: str, usd: float | None, *, paid: int = 0, replayed: int = 0) -> None:
    """Is told."""


@asynccontextmanager
async def open_web(
    config: RunConfig,
    *,
    folder: Path | None = None,
    environ: Mapping[str, str] | None = None,
    paid: Paid = nobody,
    say: Callable[[str], None] = lambda text: None,
) -> AsyncIterator[Web]:
    """The web that a configuration names, until the context ends; recorded in `folder`, a run's, when one is given.

    A run whose sites are gone goes on by its record. Raises `ConfigError` when there is no place to go, or one that is none,
    or a site that is not what the run began with; `MissingExtra` for a browser without its package.
    """
    if not (config.web_sites or config.web_hosts):
        raise ConfigError("the web tool has nowhere to go: give web_sites (a folder, an address) or web_hosts")
    async with AsyncExitStack() as stack:
        ask = partial(paid, config.web_search, query_usd(config.web_search, config.prices))
        if folder is None:
            yield await _opened(config, stack, environ, partial(ask, paid=1), say)
            return
        record = stack.enter_context(WebRecord.open(folder / FILE))
        if before := record.queries[config.web_search]:
            ask(paid=before)
        live = None
        gone = _gone(config.web_sites)
        if gone and all(map(record.replays, gone)):
            say(f"the folder of {', '.join(gone)} is gone: the run sees what {FILE} holds of the web, and nothing else")
        else:
            await asyncio.to_thread(_require_same, record, folders(config.web_sites))
            live = await _opened(config, stack, environ, partial(ask, paid=1), say)
        yield _recorded(live, record, config, partial(ask, replayed=1))


async def _opened(
    config: RunConfig,
    stack: AsyncExitStack,
    environ: Mapping[str, str] | None,
    asked: Callable[[], None],
    say: Callable[[str], None],
) -> Web:
    sites = sites_by_host(config.web_sites)
    places = {host: await stack.enter_async_context(served(host, where)) for host, where in sites.items()}
    guard = Guard(places, config.web_hosts, config.web_block)
    visitor = await stack.enter_async_context(open_visitor(guard, Pace(config.web_delay)))
    if config.web_hosts:
        hosts = ", ".join(config.web_hosts)
        say(f"the web tool visits {hosts}: robots.txt is kept, {config.web_delay:g} s between two requests to a host")
    if config.web_fetcher == "browser":
        from gym.web.browser import open_browser  # an extra

        fetcher: Fetcher = await stack.enter_async_context(open_browser(visitor, say=say))
    else:
        fetcher = HttpFetcher(visitor, stack.enter_context(reading()))
    search = open_search(config.web_search, folders(sites), guard, environ, asked=asked, say=say)
    return Web(fetcher, guard, await stack.enter_async_context(search))


def _recorded(live: Web | None, record: WebRecord, config: RunConfig, replayed: Callable[[], None]) -> Web:
    """The web as the run saw it first; without a live one, nothing but that."""
    fetcher = RecordedFetcher(live.fetcher if live else None, record)
    searcher = live.searcher if live else None
    sites = dict.fromkeys(sites_by_host(config.web_sites), GONE)
    guard = live.guard if live else Guard(sites, config.web_hosts, config.web_block)
    if config.web_search == NONE or (live and searcher is None):
        return Web(fetcher, guard)
    return Web(fetcher, guard, RecordedSearcher(config.web_search, searcher, record, replayed))


def _gone(sites: Mapping[str, str]) -> list[str]:
    """Sites that are to be folders and are none."""
    named = sites_by_host(sites).items()
    return [host for host, where in named if "://" not in where and not is_there(Path(where).expanduser())]


def _require_same(record: WebRecord, sites: Mapping[str, Path]) -> None:
    for host, folder in sites.items():
        record.require_same(host, pages_digest(host, folder))
