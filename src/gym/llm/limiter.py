"""The one limit on calls to an endpoint: how many at once, how fast, and whether at all.

Calls wait in one queue, first come, first served, retries before new calls; policy, reflector and judge share it when they
are one endpoint. The head of the queue goes when there is room (`window`), the server's rate limits have credit for it (`pacing`), no
Retry-After is running and the endpoint is not down (`breaker`). A call holds its slot only while it is being answered: not
in a retry's backoff, not while a tool or a grader runs.
"""

import asyncio
import math
import random as randomness
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

from gym.errors import ConnectionFailed, EndpointDown, ProviderError, RateLimited, ServerFailed, TimedOut
from gym.llm import stopwatch
from gym.llm.brake import Brake
from gym.llm.breaker import Breaker, GaveUp, Paused
from gym.llm.pacing import Cost, Gate, Pace, Ticket, sending
from gym.llm.window import Window

LONG_PAUSE_S = 5.0
"""From here on a Retry-After is worth a line to the user."""
LONGEST_PAUSE_S = 600.0
"""A server that asks for more is not waited for, when nothing else was said."""
OVERLOADED = frozenset({503, 529})
REMEMBERED = 101
"""Latencies that the median is taken of."""


class Limiter:
    """Slots for calls to one endpoint, on one event loop at a time. Every call is O(1).

    `limit`: calls in flight, None for as many as pay. `patience_s`: how long an endpoint that answers nobody is waited
    for before `EndpointDown` stops the run; 0 lets each call fail by itself. `say` is told of pauses. `where`: the
    endpoint's name in those lines.

    Invariant: a slot is counted in `in_flight` from the moment it is given, by whoever gives it, until it is given back;
    a waiter that ends without its slot was never counted or gives it back at once.
    """

    def __init__(
        self,
        limit: int | None = None,
        *,
        where: str = "the endpoint",
        patience_s: float = 0.0,
        pace: Pace | None = None,
        say: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self.where = where
        self.patience_s = patience_s or LONGEST_PAUSE_S
        """The longest pause that is waited for when a server asks for one."""
        self.in_flight = 0
        """Calls that hold a slot."""
        self.waiting = 0
        """Calls that want one."""
        self.served = 0
        """Calls that were answered."""
        self.latencies_s: deque[float] = deque(maxlen=REMEMBERED)
        """Of the last answered calls."""
        self._window, self._gate, self._breaker = Window(limit), Gate(random), Breaker(patience_s)
        self._pace = pace or Pace(clock)
        self._say, self._clock = say, clock
        self._waits_out = patience_s > 0
        self._new: deque[_Waiter] = deque()
        self._returning: deque[_Waiter] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._lost: EndpointDown | None = None
        self._told = False

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return self._window.limit

    @property
    def down(self) -> bool:
        """Whether the endpoint answers nobody at the moment."""
        return self._breaker.open

    def slot(self, tokens: int = 0, brake: Brake | None = None, *, first: bool = True) -> "Slot":
        """`async with limiter.slot(…):` around one attempt; its end, its error included, is what the limiter learns from.

        `tokens` are the most that the call may take; `first` says that it is no retry. Waiting ends when `brake` is
        pulled. Raises the brake's reason, and `EndpointDown`, which pulls the brake.
        """
        return Slot(self, Cost(1, tokens), brake or Brake(), first)

    def pauses_for(self, error: ProviderError) -> bool:
        """Whether the next slot waits as long as the server asked in this error, so that the caller need not."""
        return error.retry_after_s is not None and (isinstance(error, RateLimited) or error.status in OVERLOADED)

    async def _enter(self, slot: "Slot") -> None:
        slot.brake.check()
        self._check(slot.brake)
        now = self._clock()
        if not self.waiting and self._ready_at(slot.cost, now) <= now:
            self._give(slot)
            return
        if (watch := stopwatch.running()) is None:
            await self._wait(slot)
        else:
            with watch.waiting():
                await self._wait(slot)

    async def _wait(self, slot: "Slot") -> None:
        waiter = _Waiter(slot)
        queue = self._new if slot.first else self._returning
        queue.append(waiter)
        self.waiting += 1
        if len(queue) == 1:
            self._admit()
        try:
            with slot.brake.wakes(waiter.woken):
                await waiter.woken
            if not waiter.given:
                self._check(slot.brake)
                slot.brake.check()
        except BaseException:
            if waiter.given:
                self._take_back(slot, None)
            raise
        finally:
            if not waiter.given:
                waiter.gone = True
                self.waiting -= 1
                self._admit()

    def _admit(self) -> None:
        """Give slots to the head of the queue for as long as it may go; else look again when the time comes."""
        now = self._clock()
        self._stop_timer()
        while queue := self._returning or self._new:
            head = queue[0]
            if head.gone:
                queue.popleft()
                continue
            ready_at = self._ready_at(head.slot.cost, now)
            if ready_at > now:
                self._look_again(ready_at - now)
                return
            queue.popleft()
            self._wake(head)

    def _wake(self, waiter: "_Waiter") -> None:
        if waiter.woken.done():  # cancelled, or woken by the brake: it will say so itself
            return
        self.waiting -= 1
        waiter.given = True
        self._give(waiter.slot)
        waiter.woken.set_result(None)

    def _ready_at(self, cost: Cost, now: float) -> float:
        """When a call of this cost may go, as far as the clock knows; infinite where it takes another call to end."""
        if self.in_flight >= self._window.limit:
            return math.inf
        return max(self._breaker.opens_at, self._gate.opens_at, self._pace.ready_at(cost, now))

    def _give(self, slot: "Slot") -> None:
        slot.sent_at = self._clock()
        slot.probe = self._breaker.sent()
        self.in_flight += 1
        slot.ticket = self._pace.spend(slot.cost, slot.sent_at)
        self._gate.passed(slot.sent_at, self.waiting)

    def _take_back(self, slot: "Slot", error: BaseException | None, *, answered: bool = False) -> None:
        """The call of a slot ended: learn from it, then let the next one go."""
        now = self._clock()
        if answered:
            self._answered(slot, now)
        self.in_flight -= 1
        if isinstance(error, ProviderError):
            self._failed(slot, error, now)
        elif error is not None or not answered:
            self._follow(self._breaker.unprobed(now) if slot.probe else None)
        self._admit()

    def _answered(self, slot: "Slot", now: float) -> None:
        self.served += 1
        self.latencies_s.append(now - slot.sent_at)
        self._window.answered(now, sent_at=slot.sent_at, in_flight=self.in_flight)
        self._alive()

    def _failed(self, slot: "Slot", error: ProviderError, now: float) -> None:
        if isinstance(error, RateLimited):
            self._alive()
            self._refused(slot, error, now)
        elif isinstance(error, ConnectionFailed | ServerFailed):
            if not self.down and (isinstance(error, TimedOut) or error.status in OVERLOADED):
                self._window.troubled(now, sent_at=slot.sent_at)
            self._follow(self._breaker.failed(error, now, first=slot.first, probe=slot.probe))
        else:
            self._alive()  # it refuses this one request, so it is there
        if self.pauses_for(error):
            self._pause(error, now)

    def _refused(self, slot: "Slot", error: RateLimited, now: float) -> None:
        self._window.refused(now, sent_at=slot.sent_at, in_flight=self.in_flight)
        if error.retry_after_s is None and self._waits_out:
            self._gate.refused(now, sent_at=slot.sent_at, served=self.served)
            if (after_s := self._gate.stalled_s(now)) >= self.patience_s:
                self._lose(f"{self.where} has refused every call for {after_s:,.0f} s", error)
        if not self._told:
            self._told = True
            self._say(f"{self.where} refuses calls (429): fewer at once, now {self.limit}; refused ones are repeated")

    def _pause(self, error: ProviderError, now: float) -> None:
        asked = error.retry_after_s or 0.0
        if asked > self.patience_s:
            if self._waits_out:
                self._lose(f"{self.where} asks to wait {asked:,.0f} s", error)
        elif self._gate.close(now, asked) and asked >= LONG_PAUSE_S:
            self._say(f"{self.where} asks to wait {asked:.0f} s (status {error.status}): paused until then")

    def _alive(self) -> None:
        if self._breaker.answered():
            self._say(f"{self.where} answers again")

    def _follow(self, change: Paused | GaveUp | None) -> None:
        match change:
            case Paused(error, wait_s):
                self._say(f"{self.where} is not answering ({error}): paused, trying again in {wait_s:.0f} s")
            case GaveUp(error, after_s):
                self._lose(f"{self.where} has not answered for {after_s:,.0f} s", error)

    def _lose(self, story: str, error: ProviderError) -> None:
        """Nobody waits any longer: all who do, and all who come, are told why."""
        self._lost = EndpointDown(
            f"{story} ({error}): stopped. Everything paid for is saved, and the same command continues",
            status=error.status,
        )
        for waiter in (*self._returning, *self._new):
            if not waiter.woken.done():
                waiter.woken.set_result(None)

    def _check(self, brake: Brake) -> None:
        if self._lost is not None:
            brake.pull(self._lost)
            raise self._lost.with_traceback(None)

    def _look_again(self, after_s: float) -> None:
        if after_s < math.inf:
            self._timer = asyncio.get_running_loop().call_later(after_s, self._admit)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Slot:
    """The right to make one call, for as long as the context lasts. From `Limiter.slot`."""

    def __init__(self, limiter: Limiter, cost: Cost, brake: Brake, first: bool) -> None:
        self.cost, self.brake, self.first = cost, brake, first
        self.sent_at, self.probe = 0.0, False
        self.ticket: Ticket | None = None
        self._limiter = limiter
        self._watch: stopwatch.Stopwatch | None = None

    async def __aenter__(self) -> "Slot":
        await self._limiter._enter(self)
        self._token = sending.set(self.ticket)
        self._watch = stopwatch.running()
        if self._watch is not None:
            self._watch.call_began()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._watch is not None:
            self._watch.call_ended()
        sending.reset(self._token)
        self._limiter._take_back(self, error, answered=error is None)


@dataclass(eq=False)
class _Waiter:
    """A call in the queue. `given` means that it was woken with its slot."""

    slot: Slot
    woken: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    given: bool = False
    gone: bool = False
