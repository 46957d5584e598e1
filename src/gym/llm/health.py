"""What is known of an endpoint from how its calls end, and so when the next one may go.

Four things hold a call back: the calls in flight (`window`), the server's rate limits (`pacing.Pace`), a pause it asked for
(`pacing.Gate`) and an outage (`breaker`). Pure but for what it says to the user: times are given.
"""

import math
import random as randomness
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from gym.errors import ConnectionFailed, EndpointDown, ProviderError, RateLimited, ServerFailed, TimedOut
from gym.llm.breaker import Breaker, GaveUp, Paused
from gym.llm.pacing import Cost, Gate, Pace, Ticket
from gym.llm.window import MOST, Window

LONG_PAUSE_S = 5.0
"""From here on a pause that a server asks for is worth a line to the user."""
LONGEST_PAUSE_S = 600.0
"""A server that asks for more is not waited for, when nothing else was said."""
OVERLOADED = frozenset({503, 529})
REMEMBERED = 101
"""Latencies that a median is taken of."""


class Sent(NamedTuple):
    """One call in flight."""

    at: float
    first: bool
    """No retry."""
    probe: bool
    """Whether it finds out if an outage is over."""
    ticket: Ticket


class Health:
    """Of one endpoint; the arguments are those of `gym.llm.limiter.Limiter`."""

    def __init__(
        self,
        limit: int | None = None,
        *,
        most: int = MOST,
        where: str = "the endpoint",
        patience_s: float = 0.0,
        pace: Pace | None = None,
        say: Callable[[str], None] = lambda text: None,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self.served = 0
        """Calls that were answered."""
        self.latencies_s: deque[float] = deque(maxlen=REMEMBERED)
        self.lost: EndpointDown | None = None
        """Why nobody need wait any longer."""
        self.patience_s = patience_s or LONGEST_PAUSE_S
        """The longest pause that is waited for when a server asks for one."""
        self._waits_out = patience_s > 0
        self._window, self._pace, self._gate, self._breaker = (
            Window(limit, most),
            pace or Pace(),
            Gate(random),
            Breaker(patience_s),
        )
        self._where, self._say = where, say
        self._told = False

    @property
    def limit(self) -> int:
        """Calls that may be in flight."""
        return self._window.limit

    @property
    def down(self) -> bool:
        """Whether it answers nobody."""
        return self._breaker.open

    def ready_at(self, cost: Cost, now: float) -> float:
        """When a call of this cost may go if there is room, as far as the clock knows; infinite while a probe is out."""
        return max(self._breaker.opens_at, self._gate.opens_at, self._pace.ready_at(cost, now))

    def sent(self, cost: Cost, now: float, *, first: bool, waiting: int) -> Sent:
        """A call goes; `waiting` are left behind it."""
        self._gate.passed(now, waiting)
        return Sent(now, first, self._breaker.sent(), self._pace.spend(cost, now))

    def answered(self, sent: Sent, now: float, in_flight: int) -> None:
        """A call was answered; `in_flight` counts it still."""
        self.served += 1
        self.latencies_s.append(now - sent.at)
        self._window.answered(now, sent_at=sent.at, in_flight=in_flight)
        self._alive()

    def failed(self, sent: Sent, error: ProviderError, now: float, in_flight: int) -> None:
        """A call was not; `in_flight` counts it no more."""
        if isinstance(error, RateLimited):
            self._alive()
            self._refused(sent, error, now, in_flight)
        elif isinstance(error, ConnectionFailed | ServerFailed):
            if not self.down and (isinstance(error, TimedOut) or error.status in OVERLOADED):
                self._window.troubled(now, sent_at=sent.at)
            else:
                self._window.heard()
            self._follow(self._breaker.failed(error, now, first=sent.first, probe=sent.probe))
        else:
            self._alive()  # it refuses this one request, so it is there
        if self.pauses_for(error):
            self._pause(error, now)

    def dropped(self, sent: Sent, now: float) -> None:
        """A call was cancelled, or ended for reasons of ours."""
        if sent.probe:
            self._follow(self._breaker.unprobed(now))

    def pauses_for(self, error: ProviderError) -> bool:
        """Whether the next call waits as long as the server asked in this error."""
        return error.retry_after_s is not None and (isinstance(error, RateLimited) or error.status in OVERLOADED)

    def _refused(self, sent: Sent, error: RateLimited, now: float, in_flight: int) -> None:
        before = self.limit
        self._window.refused(now, sent_at=sent.at, in_flight=in_flight)
        if error.retry_after_s is None and self._waits_out:
            after_s = self._gate.refused(now, sent_at=sent.at, served=self.served)
            if after_s >= self.patience_s:
                self._lose(f"{self._where} has refused every call for {after_s:,.0f} s", error)
        if not self._told:
            self._told = True
            fewer = f"fewer at once, now {self.limit}; " if self.limit < before else ""
            self._say(f"{self._where} refuses calls (429): {fewer}refused ones are repeated")

    def _pause(self, error: ProviderError, now: float) -> None:
        asked = error.retry_after_s or 0.0
        if asked > self.patience_s:
            if self._waits_out:
                self._lose(f"{self._where} asks to wait {asked:,.0f} s", error)
        elif self._gate.close(now, asked) and asked >= LONG_PAUSE_S:
            self._say(f"{self._where} asks to wait {asked:.0f} s (status {error.status}): paused until then")

    def _alive(self) -> None:
        if self._breaker.answered():
            self._say(f"{self._where} answers again")

    def _follow(self, change: Paused | GaveUp | None) -> None:
        match change:
            case Paused(error, wait_s):
                self._say(f"{self._where} is not answering ({error}): paused, trying again in {math.ceil(wait_s)} s")
            case GaveUp(error, after_s):
                self._lose(f"{self._where} has not answered for {after_s:,.0f} s", error)

    def _lose(self, story: str, error: ProviderError) -> None:
        text = f"{story} ({error}): stopped. Everything paid for is saved, and the same command continues"
        self.lost = EndpointDown(text, status=error.status)
