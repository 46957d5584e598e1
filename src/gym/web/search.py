"""What searches for a run: an index of its own sites, a service, or nothing (`web_search`)."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from gym import plugins
from gym.web.guard import Guard
from gym.web.index import SiteIndex
from gym.web.live_search import open_live_search
from gym.web.searchers import Service
from gym.web.searching import Searcher

SITE, NONE = "site", "none"
PER_1000 = "per_1000"
"""In `prices:`, dollars for a thousand queries to a service."""


@asynccontextmanager
async def open_search(
    name: str,
    sites: Mapping[str, Path],
    guard: Guard,
    environ: Mapping[str, str] | None = None,
    *,
    asked: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda text: None,
) -> AsyncIterator[Searcher | None]:
    """The searcher called `name`; None for `none`, and where there is no folder of a site to index.

    `asked` is told of each query that a service answered. Pages that may not be visited are not among an index's hits.
    Raises `ConfigError` for an unknown service, or one without its key.
    """
    if name == NONE or (name == SITE and not sites):
        yield None
    elif name == SITE:
        index = await _indexed(sites, guard, say)
        try:
            yield index
        finally:
            index.close()
    else:
        async with open_live_search(name, environ, asked=asked) as service:
            yield service


async def _indexed(sites: Mapping[str, Path], guard: Guard, say: Callable[[str], None]) -> SiteIndex:
    """In a thread, which ends with the next page when nobody waits for it any more."""
    left = threading.Event()

    def done(number: int, of: int) -> None:
        if left.is_set():
            raise InterruptedError

    try:
        return await asyncio.to_thread(SiteIndex.of, sites, shows=guard.listed, say=say, done=done)
    except asyncio.CancelledError:
        left.set()
        raise


def query_usd(name: str, prices: Mapping[str, Mapping[str, float]]) -> float | None:
    """Dollars for one query to the service of that name, by the configuration or the service's table; None when unknown."""
    if name in (SITE, NONE):
        return 0.0
    service: Service = plugins.resolve("searcher", name)
    each = prices.get(name, {}).get(PER_1000, service.usd_per_1000)
    return None if each is None else each / 1000
