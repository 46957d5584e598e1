"""The web of a run: what fetches, what searches, and what may be visited; opened once from the configuration."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from gym.config import RunConfig
from gym.errors import ConfigError
from gym.web.fetching import Fetcher
from gym.web.guard import Guard
from gym.web.http import HttpFetcher, reading
from gym.web.pace import Pace
from gym.web.searching import Searcher
from gym.web.sites import served
from gym.web.visitor import open_visitor


@dataclass(frozen=True)
class Web:
    """One of it serves all rollouts of a run."""

    fetcher: Fetcher
    guard: Guard
    searcher: Searcher | None = None


@asynccontextmanager
async def open_web(config: RunConfig, *, say: Callable[[str], None] = lambda text: None) -> AsyncIterator[Web]:
    """The web that a configuration names, until the context ends.

    Raises `ConfigError` when it names no place to go, or one that is none; `MissingExtra` for a browser without its package.
    """
    if not (config.web_sites or config.web_hosts):
        raise ConfigError("the web tool has nowhere to go: give web_sites (a folder, an address) or web_hosts")
    async with AsyncExitStack() as stack:
        places = {
            name.lower(): await stack.enter_async_context(served(name, where))
            for name, where in config.web_sites.items()
        }
        guard = Guard(places, config.web_hosts, config.web_block)
        visitor = await stack.enter_async_context(open_visitor(guard, Pace(config.web_delay)))
        if config.web_hosts:
            hosts = ", ".join(config.web_hosts)
            say(
                f"the web tool visits {hosts}: robots.txt is kept, {config.web_delay:g} s between two requests to a host"
            )
        if config.web_fetcher == "browser":
            from gym.web.browser import open_browser  # an extra

            fetcher: Fetcher = await stack.enter_async_context(open_browser(visitor, say=say))
        else:
            fetcher = HttpFetcher(visitor, stack.enter_context(reading()))
        yield Web(fetcher, guard)
