"""The way to a page: every hop of a redirect is checked by the guard, asked of robots.txt, and takes its turn at its host.

Robots and turns are for the live web; the sites of a configuration are ours and asked as fast as they answer.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urljoin

from yarl import URL

from gym.llm.rejections import retry_after_s
from gym.web.client import REDIRECTS, Answer, Client, Limits, Unwanted, anything, open_client
from gym.web.fetching import Refusal, too_slow
from gym.web.guard import Guard, Lookup
from gym.web.pace import Pace
from gym.web.robots import Robots

BUSY = (429, 503)

Ask = Callable[[URL], Awaitable[Answer | Refusal]]


class Visitor:
    """Gets what is at a URL, wherever that leads within the guard."""

    def __init__(self, client: Client, guard: Guard, pace: Pace, limits: Limits) -> None:
        self.guard, self.limits = guard, limits
        self._client, self._pace = client, pace
        self.robots = Robots(self._robots_file, pace.slow_down)

    async def visit(self, url: str, deadline: asyncio.Timeout, unwanted: Unwanted = anything) -> Answer | Refusal:
        """The last answer of a chain of redirects. While it waits for a turn at a host, the deadline waits too."""
        return await self._followed(url, partial(self._in_turn, deadline=deadline, unwanted=unwanted))

    async def fetch_part(self, url: str, accept: str) -> Answer | Refusal:
        """What belongs to a page that was visited (a script, its data): out of turn, as browsers do, within the same limits."""
        return await self._in_time(url, partial(self._allowed, accept=accept))

    async def _robots_file(self, url: URL) -> Answer | Refusal:
        return await self._in_time(str(url), self._client.get)

    async def _in_time(self, url: str, ask: Ask) -> Answer | Refusal:
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._followed(url, ask)
        except TimeoutError:
            return too_slow(url, self.limits.seconds)

    async def _followed(self, url: str, ask: Ask) -> Answer | Refusal:
        seen = list[str]()
        while True:
            place = self.guard.checked(url)
            if isinstance(place, Refusal):
                return _told(place, seen)
            if str(place) in seen or len(seen) > self.limits.redirects:
                what = "in a circle" if str(place) in seen else f"on more than {self.limits.redirects} times"
                return Refusal(url=str(place), label="redirects", reason=f"the page sends its reader {what}")
            answer = await ask(place)
            if isinstance(answer, Refusal) or answer.status not in REDIRECTS or "Location" not in answer.headers:
                return answer
            seen.append(str(place))
            url = _target(place, answer.headers["Location"])

    async def _allowed(self, url: URL, *, accept: str) -> Answer | Refusal:
        return await self._forbidden(url) or await self._client.get(url, accept=accept)

    async def _in_turn(self, url: URL, *, deadline: asyncio.Timeout, unwanted: Unwanted) -> Answer | Refusal:
        if self.guard.is_site(url):
            return await self._client.get(url, unwanted)
        if refusal := await self._forbidden(url):
            return refusal
        await self._turn(url, deadline)
        answer = await self._client.get(url, unwanted)
        if isinstance(answer, Answer) and answer.status in BUSY and self._paused(answer):
            await self._turn(url, deadline)
            answer = await self._client.get(url, unwanted)
        return answer

    async def _forbidden(self, url: URL) -> Refusal | None:
        return None if self.guard.is_site(url) else await self.robots.forbid(url)

    async def _turn(self, url: URL, deadline: asyncio.Timeout) -> None:
        """Wait at the host with the clock stopped."""
        loop, when = asyncio.get_running_loop(), deadline.when()
        left = None if when is None else when - loop.time()
        deadline.reschedule(None)
        await self._pace.turn(url.raw_host or "")
        deadline.reschedule(None if left is None else loop.time() + left)

    def _paused(self, answer: Answer) -> bool:
        """Whether everybody keeps away from the host for as long as it asks, and comes back then."""
        seconds = retry_after_s(answer.headers, datetime.now(UTC))
        if seconds is None:
            return False
        self._pace.pause(answer.url.raw_host or "", seconds)
        return seconds <= self.limits.patience_s


@asynccontextmanager
async def open_visitor(
    guard: Guard, pace: Pace, limits: Limits | None = None, *, lookup: Lookup | None = None
) -> AsyncIterator[Visitor]:
    """A visitor until the context ends."""
    limits = limits or Limits()
    async with open_client(guard, limits, lookup=lookup) as client:
        visitor = Visitor(client, guard, pace, limits)
        try:
            yield visitor
        finally:
            await visitor.robots.close()


def _target(url: URL, location: str) -> str:
    try:
        return urljoin(str(url), location)
    except ValueError:
        return location  # the guard says what is wrong with it


def _told(refusal: Refusal, seen: list[str]) -> Refusal:
    """The same, saying that it was not the model who asked for that address."""
    if not seen:
        return refusal
    return refusal.model_copy(update={"reason": f"the page sends its reader elsewhere: {refusal.reason}"})
