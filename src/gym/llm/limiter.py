"""The one limit on calls to an endpoint: how many at once, how fast, and whether at all.

Calls wait in one queue, first come, first served, retries before new calls; policy, reflector and judge share it when they
are one endpoint. What is known of the endpoint (`health`) says when the head of the queue may go. A call holds its slot
only while it is being answered: not in a retry's backoff, not while a tool or a grader runs.
"""

import asyncio
import math
import random as randomness
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from gym.errors import ProviderError
from gym.llm import stopwatch
from gym.llm.brake import Brake
from gym.llm.health import Health, Sent
from gym.llm.pacing import Cost, Pace, sending
from gym.llm.window import MOST


class Limiter:
    """Slots for calls to one endpoint, on one event loop at a time. Every call is O(1).

    `limit`: calls in flight; None for as many as make it faster, up to `most`. `patience_s`: how long an endpoint that
    answers nobody is waited for before `EndpointDown` stops the run; 0 lets each call fail by itself. `say` is told of
    pauses, with the endpoint's name `where`.

    Invariant: a slot is counted in `in_flight` from the moment it is given, by whoever gives it, until it is given back;
    a waiter that ends without its slot was never counted or gives it back at once.
    """

    def __init__(
        self,
        limit: int | None = None,
        *,
        most: int = MOST,
        where: str = "the endpoint",
        patience_s: float = 0.0,
        pace: Pace | None = None,
        say: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self.in_flight = 0
        """Calls that hold a slot."""
        self.waiting = 0
        """Calls that want one."""
        self._health = Health(limit, most=most, where=where, patience_s=patience_s, pace=pace, say=say, random=random)
        self._clock = clock
        self._new: deque[_Waiter] = deque()
        self._returning: deque[_Waiter] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return self._health.limit

    @property
    def served(self) -> int:
        """Calls that were answered so far."""
        return self._health.served

    @property
    def down(self) -> bool:
        """Whether the endpoint answers nobody at the moment."""
        return self._health.down

    @property
    def latencies_s(self) -> Sequence[float]:
        """Of the last answered calls."""
        return self._health.latencies_s

    @property
    def patience_s(self) -> float:
        """The longest pause that is waited for when a server asks for one."""
        return self._health.patience_s

    def pauses_for(self, error: ProviderError) -> bool:
        """Whether the next slot waits as long as the server asked in this error, so that the caller need not."""
        return self._health.pauses_for(error)

    def slot(self, tokens: int = 0, brake: Brake | None = None, *, first: bool = True) -> "Slot":
        """`async with limiter.slot(…):` around one attempt; its end, its error included, is what the limiter learns from.

        `tokens` are the most that the call may take; `first` says that it is no retry. Waiting ends when `brake` is
        pulled. Raises the brake's reason, and `EndpointDown`, which pulls the brake.
        """
        return Slot(self, Cost(1, tokens), brake or Brake(), first)

    async def enter(self, slot: "Slot") -> Sent:
        """The slot's turn has come."""
        slot.brake.check()
        self._check(slot.brake)
        now = self._clock()
        if not self.waiting and self._ready_at(slot.cost, now) <= now:
            return self._give(slot)
        if (watch := stopwatch.running()) is None:
            return await self._wait(slot)
        watch.wait_began()
        try:
            return await self._wait(slot)
        finally:
            watch.wait_ended()

    def leave(self, sent: Sent, error: BaseException | None) -> None:
        """The call of a slot ended: learn from it, then let the next one go."""
        now = self._clock()
        if error is None:
            self._health.answered(sent, now, self.in_flight)
        self.in_flight -= 1
        if isinstance(error, ProviderError):
            self._health.failed(sent, error, now, self.in_flight)
        elif error is not None:
            self._health.dropped(sent, now)
        if self._health.lost is not None:
            self._send_away()
        self._admit()

    async def _wait(self, slot: "Slot") -> Sent:
        waiter = _Waiter(slot)
        queue = self._new if slot.first else self._returning
        queue.append(waiter)
        self.waiting += 1
        if len(queue) == 1:
            self._admit()
        slot.brake.wake(waiter.woken)
        try:
            await waiter.woken
            if waiter.sent is None:
                self._check(slot.brake)
                slot.brake.check()
        except BaseException as error:
            if waiter.sent is not None:
                self.leave(waiter.sent, error)
            raise
        finally:
            slot.brake.let_be(waiter.woken)
            if waiter.sent is None:
                waiter.gone = True
                self.waiting -= 1
                self._admit()
        assert waiter.sent is not None
        return waiter.sent

    def _admit(self) -> None:
        """Give slots to the head of the queue for as long as it may go; else look again when the time comes."""
        now = self._clock()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while queue := self._returning or self._new:
            head = queue[0]
            if not head.gone and not head.woken.done():
                ready_at = self._ready_at(head.slot.cost, now)
                if ready_at > now:
                    self._look_again(ready_at - now)
                    return
                self.waiting -= 1
                head.sent = self._give(head.slot)
                head.woken.set_result(None)
            queue.popleft()

    def _ready_at(self, cost: Cost, now: float) -> float:
        """When a call of this cost may go; infinite where it takes another call to end."""
        return self._health.ready_at(cost, now) if self.in_flight < self._health.limit else math.inf

    def _give(self, slot: "Slot") -> Sent:
        self.in_flight += 1
        return self._health.sent(slot.cost, self._clock(), first=slot.first, waiting=self.waiting)

    def _look_again(self, after_s: float) -> None:
        if after_s < math.inf:
            self._timer = asyncio.get_running_loop().call_later(after_s, self._admit)

    def _send_away(self) -> None:
        """Everybody who waits is woken without a slot."""
        for waiter in (*self._returning, *self._new):
            if not waiter.woken.done():
                waiter.woken.set_result(None)

    def _check(self, brake: Brake) -> None:
        if (lost := self._health.lost) is not None:
            brake.pull(lost)
            raise lost.with_traceback(None)


class Slot:
    """The right to make one call, for as long as the context lasts. From `Limiter.slot`."""

    __slots__ = ("_limiter", "_sent", "_token", "_watch", "brake", "cost", "first")

    def __init__(self, limiter: Limiter, cost: Cost, brake: Brake, first: bool) -> None:
        self.cost, self.brake, self.first = cost, brake, first
        self._limiter = limiter
        self._watch: stopwatch.Stopwatch | None = None

    async def __aenter__(self) -> "Slot":
        self._sent = await self._limiter.enter(self)
        self._token = sending.set(self._sent.ticket)
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
        self._limiter.leave(self._sent, error)


@dataclass(eq=False, slots=True)
class _Waiter:
    """A call in the queue; woken with its slot (`sent`), or without, to say why."""

    slot: Slot
    woken: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    sent: Sent | None = None
    gone: bool = False
