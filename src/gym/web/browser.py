"""Pages as a real browser shows them, for those that need JavaScript.

The browser runs the scripts; we fetch. Each of its requests is answered from our own guarded connection, so that a page's
scripts reach what the guard allows and nothing else, within the same limits. Only GET is answered, and no image, font or style.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from gym.web.chromium import BrowserError, BrowserTimeout, Chromium, find_chromium
from gym.web.client import Answer
from gym.web.fetching import Refusal, too_slow
from gym.web.http import HTML, Reader, content_type, reading, unwanted
from gym.web.page import Page
from gym.web.visitor import Visitor

if TYPE_CHECKING:
    from playwright.async_api import Page as Tab
    from playwright.async_api import Route

log = logging.getLogger(__name__)

TABS = 4
"""Pages that are open at a time."""
SETTLE_MS = 5_000
"""How long scripts may work on a page that is there; half a second without a request ends it."""
REQUESTS = 100
"""Of one page."""
WANTED = frozenset(("document", "script", "xhr", "fetch"))
DROPPED = frozenset(("content-encoding", "content-length", "transfer-encoding", "connection", "set-cookie"))
"""Headers that speak of our connection, not of the page."""

_SOURCE = "limit => { const html = document.documentElement.outerHTML; return html.length > limit ? null : html }"


class BrowserFetcher:
    """A `gym.web.fetching.Fetcher`; what is no HTML is read without the browser."""

    def __init__(self, visitor: Visitor, chromium: Chromium, read: Reader) -> None:
        self._visitor, self._chromium, self._read = visitor, chromium, read
        self._tabs = asyncio.Semaphore(TABS)

    async def fetch(self, url: str) -> Page | Refusal:
        """The page after its scripts, or why there is none; once more when the browser ended under it."""
        async with self._tabs:
            try:
                return await self._fetched(url)
            except BrowserError as error:
                if self._chromium.alive():
                    return _broken(url, error)
            try:
                return await self._fetched(url)
            except BrowserError as error:
                return _broken(url, error)

    async def _fetched(self, url: str) -> Page | Refusal:
        await self._chromium.start()
        seconds = self._visitor.limits.seconds
        try:
            async with asyncio.timeout(seconds) as deadline:
                answer = await self._visitor.visit(url, deadline, unwanted)
                if isinstance(answer, Refusal):
                    return answer
                shown = await self._shown(answer) if _is_html(answer) else answer
                return shown if isinstance(shown, Refusal) else await self._read(shown)
        except TimeoutError:
            return too_slow(url, seconds)

    async def _shown(self, answer: Answer) -> Answer | Refusal:
        """The answer with the source as it is after the scripts, at the address where they led."""
        async with self._chromium.context() as context:
            await context.route("**/*", _Requests(self._visitor, answer))
            tab = await context.new_page()
            await tab.goto(str(answer.url), wait_until="commit", timeout=0)
            source = await _settled(tab, self._visitor.limits.bytes)
            place = self._visitor.guard.checked(tab.url)
        if isinstance(place, Refusal):
            return Refusal(url=str(answer.url), label="script", reason="the page's scripts lead where nobody may go")
        if source is None:
            return Refusal(url=str(place), label="size", reason="the page's scripts made it too large to be read")
        return Answer(
            place, answer.status, {"Content-Type": "text/html; charset=utf-8"}, source.encode("utf-8", "replace")
        )


class _Requests:
    """Answers what a page asks for: the page itself from what was fetched, the rest through the visitor."""

    def __init__(self, visitor: Visitor, first: Answer) -> None:
        self._visitor, self._first = visitor, first
        self._asked = self._bytes = 0

    async def __call__(self, route: "Route") -> None:
        """A page that was left meanwhile hears nothing more."""
        with suppress(BrowserError):
            await self._answer(route)

    async def _answer(self, route: "Route") -> None:
        request = route.request
        self._asked += 1
        if self._asked == 1:
            return await _fulfil(route, self._first)
        if request.method != "GET" or request.resource_type not in WANTED or self._asked > REQUESTS:
            return await _refuse(route)
        answer = await self._visitor.fetch_part(request.url, request.headers.get("accept", "*/*"))
        if isinstance(answer, Refusal) or self._too_much(answer):
            return await _refuse(route)
        return await _fulfil(route, answer)

    def _too_much(self, answer: Answer) -> bool:
        self._bytes += len(answer.body)
        return self._bytes > self._visitor.limits.bytes


async def _fulfil(route: "Route", answer: Answer) -> None:
    headers = {name: value for name, value in answer.headers.items() if name.lower() not in DROPPED}
    await route.fulfill(status=answer.status, headers=headers, body=answer.body)


async def _refuse(route: "Route") -> None:
    """A script's request fails; a page that would move on stays where it is."""
    if route.request.is_navigation_request():
        await route.abort("aborted")
    else:
        await route.abort("blockedbyclient")


async def _settled(tab: "Tab", limit: int) -> str | None:
    """The source once the page is quiet; None when it is longer than `limit`. A page that moves on meanwhile is waited for.

    Raises `BrowserError` when the page's scripts give something else for its source.
    """
    await _quiet(tab)
    try:
        found = await tab.evaluate(_SOURCE, limit)
    except BrowserError:
        await _quiet(tab)
        found = await tab.evaluate(_SOURCE, limit)
    if not isinstance(found, str | None):
        raise BrowserError("the page has no source")
    return found


async def _quiet(tab: "Tab") -> None:
    with suppress(BrowserTimeout):
        await tab.wait_for_load_state("networkidle", timeout=SETTLE_MS)


def _is_html(answer: Answer) -> bool:
    kind, _ = content_type(answer.headers.get("Content-Type", ""))
    return answer.status < 400 and (kind in HTML or (not kind and answer.body.lstrip()[:1] == b"<"))


def _broken(url: str, error: Exception) -> Refusal:
    """What the browser says of it goes to the log alone: a page's scripts may write it."""
    log.info("%s: %s", url, error)
    return Refusal(url=url, label="script", reason="the browser could not show it")


@asynccontextmanager
async def open_browser(
    visitor: Visitor, *, say: Callable[[str], None] = lambda text: None
) -> AsyncIterator[BrowserFetcher]:
    """The fetcher until the context ends; raises `ConfigError` where no Chromium is installed."""
    chromium = Chromium(find_chromium(), say)
    with reading() as read:
        try:
            yield BrowserFetcher(visitor, chromium, read)
        finally:
            await chromium.close()
