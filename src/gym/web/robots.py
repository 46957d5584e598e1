"""What a host's robots.txt allows us (RFC 9309), read once a run; parsed by protego.

A file that is not there allows everything; one that cannot be had because the server fails allows nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable

from protego import Protego
from yarl import URL

from gym.web.client import AGENT, Answer
from gym.web.fetching import Refusal

LONGEST_FILE = 500 * 1024
"""Bytes that are read of one."""
ALL, NOTHING = "", "User-agent: *\nDisallow: /"


class Robots:
    """`get` brings a file, redirects followed. `slow_down` is told what a host asks to wait between two requests."""

    def __init__(
        self, get: Callable[[URL], Awaitable[Answer | Refusal]], slow_down: Callable[[str, float], None]
    ) -> None:
        self._get, self._slow_down = get, slow_down
        self._rules: dict[URL, asyncio.Task[Protego]] = {}

    async def allow(self, url: URL) -> bool:
        """Whether we may ask for this page."""
        origin = url.origin()
        if origin not in self._rules:
            self._rules[origin] = asyncio.create_task(self._read(origin))
        rules = await asyncio.shield(self._rules[origin])  # the others wait for it too
        return bool(rules.can_fetch(str(url), AGENT))

    async def close(self) -> None:
        """Give up what is still being read."""
        for task in self._rules.values():
            task.cancel()
        await asyncio.gather(*self._rules.values(), return_exceptions=True)

    async def _read(self, origin: URL) -> Protego:
        rules = Protego.parse(_text(await self._get(origin / "robots.txt")))
        delay = rules.crawl_delay(AGENT)
        if delay:
            self._slow_down(origin.raw_host or "", float(delay))
        return rules


def _text(answer: Answer | Refusal) -> str:
    if isinstance(answer, Refusal):
        return ALL if answer.label in ("host", "private", "blocked", "redirects") else NOTHING
    if answer.status >= 500:
        return NOTHING
    return answer.body[:LONGEST_FILE].decode("utf-8", "replace") if answer.status < 300 else ALL
