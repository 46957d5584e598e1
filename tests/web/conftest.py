"""A web server on loopback whose pages are functions, and fetchers that reach it as a site or as a live host."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from gym.web.client import Limits
from gym.web.guard import Guard, Lookup, Place
from gym.web.http import HttpFetcher, reading
from gym.web.pace import Pace
from gym.web.visitor import Visitor, open_visitor

Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]
SITE = "site.example"


@dataclass
class Server:
    """What is served by path, and what was asked for."""

    pages: Mapping[str, "str | Answering"]
    asked: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    port: int = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        self.agents.append(request.headers["User-Agent"])
        page = self.pages.get(request.path)
        if page is None:
            return web.Response(status=404, text="<h1>404</h1>", content_type="text/html")
        if isinstance(page, str):
            return web.Response(text=page, content_type="text/html")
        return await page(request)


class Loopback:
    """Starts servers, and fetchers for them; all end with the test."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack

    async def serve(self, pages: "Mapping[str, str | Answering]") -> Server:
        server = Server(pages)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", server.answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0, handler_cancellation=True)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.port = runner.addresses[0][1]
        return server

    async def visitor(
        self,
        server: Server,
        *,
        live: bool = False,
        hosts: tuple[str, ...] = (),
        block: tuple[str, ...] = (),
        limits: Limits | None = None,
        pace: Pace | None = None,
        lookup: Lookup | None = None,
    ) -> Visitor:
        """As our own site under a name, or as a live host by its address."""
        place = Place("127.0.0.1", server.port)
        guard = Guard({}, (f"127.0.0.1:{server.port}", *hosts), block) if live else Guard({SITE: place}, hosts, block)
        return await self._stack.enter_async_context(
            open_visitor(guard, pace or Pace(0), limits or Limits(), lookup=lookup)
        )

    async def fetcher(self, server: Server, **options: object) -> HttpFetcher:
        return HttpFetcher(await self.visitor(server, **options), self._stack.enter_context(reading()))  # type: ignore[arg-type]


@pytest.fixture
async def loopback() -> AsyncIterator[Loopback]:
    async with AsyncExitStack() as stack:
        yield Loopback(stack)


@pytest.fixture
def loopback_of() -> type[Loopback]:
    """For tests with a loop of their own."""
    return Loopback
