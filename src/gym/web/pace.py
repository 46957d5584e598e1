"""How often one host may be asked: a request a while, and not before a server that was too busy says so."""

import asyncio
import time
from collections.abc import Awaitable, Callable

LONGEST_PAUSE_S = 60.0
"""Of what a server asks for."""


class Pace:
    """Turns at hosts, in the order in which they were asked for."""

    def __init__(
        self,
        delay_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._delay_s, self._clock, self._sleep = delay_s, clock, sleep
        self._delays: dict[str, float] = {}
        self._free: dict[str, float] = {}
        """When the next request to a host may start."""
        self._paused: dict[str, float] = {}
        """Until when nobody asks a host: who waits for an earlier turn takes a new one."""

    async def turn(self, host: str) -> None:
        """Returns when a request to the host may start."""
        while True:
            start = self._next(host)
            if (wait := start - self._clock()) > 0:
                await self._sleep(wait)
            if start >= self._paused.get(host, start):
                return

    def _next(self, host: str) -> float:
        """When the next turn begins; the one after it is later by the delay."""
        now = self._clock()
        start = max(now, self._free.get(host, now))
        self._free[host] = start + max(self._delay_s, self._delays.get(host, 0.0))
        return start

    def slow_down(self, host: str, delay_s: float) -> None:
        """Keep at least this between two requests from now on (a robots.txt asks for it)."""
        self._delays[host] = min(delay_s, LONGEST_PAUSE_S)

    def pause(self, host: str, seconds: float) -> None:
        """Nobody asks the host for so long (a Retry-After)."""
        self._paused[host] = self._clock() + min(seconds, LONGEST_PAUSE_S)
        self._free[host] = max(self._free.get(host, 0.0), self._paused[host])
