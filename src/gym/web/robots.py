"""What a host's robots.txt allows us (RFC 9309), read once a run; parsed by protego.

A file that is not there allows everything; one that cannot be had now allows nothing now, and is asked for again.
"""

import asyncio
from collections.abc import Awaitable, Callable

from protego import Protego
from yarl import URL

from gym.web.client import AGENT, Answer
from gym.web.fetching import Refusal

LONGEST_FILE = 500 * 1024
"""Bytes that are read of one."""
UNREACHED = ("connection", "timeout")
NOT_THERE = ("host", "private", "blocked", "redirects", "scheme", "address")
"""Refusals of a redirect to where nobody finds a file."""


class Robots:
    """`get` brings a file, redirects followed. `slow_down` is told what a host asks to wait between two requests."""

    def __init__(
        self, get: Callable[[URL], Awaitable[Answer | Refusal]], slow_down: Callable[[str, float], None]
    ) -> None:
        self._get, self._slow_down = get, slow_down
        self._rules: dict[URL, asyncio.Task[Protego | Refusal]] = {}

    async def forbid(self, url: URL) -> Refusal | None:
        """Why we may not ask for this page, or None."""
        origin = url.origin()
        if origin not in self._rules:
            self._rules[origin] = asyncio.create_task(self._read(origin))
        rules = await asyncio.shield(reading := self._rules[origin])  # the others wait for it too
        if isinstance(rules, Refusal):
            if self._rules.get(origin) is reading:
                del self._rules[origin]
            return rules.model_copy(update={"url": str(url)})
        if rules.can_fetch(str(url), AGENT):
            return None
        return _refusal(url, "the site's robots.txt asks programs not to read this page")

    async def close(self) -> None:
        """Give up what is still being read."""
        for task in self._rules.values():
            task.cancel()
        await asyncio.gather(*self._rules.values(), return_exceptions=True)

    async def _read(self, origin: URL) -> Protego | Refusal:
        found = _text(origin, await self._get(origin / "robots.txt"))
        if isinstance(found, Refusal):
            return found
        rules = Protego.parse(found)
        if delay := rules.crawl_delay(AGENT):
            self._slow_down(origin.raw_host or "", float(delay))
        return rules


def _text(origin: URL, answer: Answer | Refusal) -> str | Refusal:
    """The rules; empty where there are none, a refusal where nobody can say."""
    if isinstance(answer, Refusal):
        if answer.label in UNREACHED:
            return answer
        return "" if answer.label in NOT_THERE else _refusal(origin, f"robots.txt is not to be had: {answer.reason}")
    if answer.status >= 500:
        return _refusal(origin, "the server fails over its robots.txt, so that no page may be read now")
    return answer.body[:LONGEST_FILE].decode("utf-8", "replace") if answer.status < 300 else ""


def _refusal(url: URL, reason: str) -> Refusal:
    return Refusal(url=str(url), label="robots", reason=reason)
