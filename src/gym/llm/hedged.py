"""A second copy of a call that takes much longer than others; the first answer wins (Dean & Barroso, The Tail at Scale, 2013).

Each copy is an attempt like any other, with its own slot, reservation and record, so the one that loses is cancelled and
still in the ledger. The answer that is used is the one that was recorded first, the one a replay would give.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from statistics import median
from typing import Any, Protocol

from gym.core.chat import Completion, Message, Sampling

FEWEST = 20
"""Answered calls before a median means anything."""
LOOK_EVERY_S = 0.1
"""Until then."""


class Startable(Protocol):
    """A `ChatModel` that says when the call really goes out; queueing is not slowness."""

    @property
    def name(self) -> str:
        """The model id."""
        ...

    async def complete(
        self, messages: Sequence[Message], sampling: Sampling, *, on_start: Callable[[], None] | None = None
    ) -> Completion:
        """One completion."""
        ...


class Hedged:
    """A `ChatModel` that asks `second` too when `first` takes over `factor` times the median of `latencies_s`."""

    def __init__(self, first: Startable, second: Startable, factor: float, latencies_s: Sequence[float]) -> None:
        self._first, self._second, self._factor, self._latencies_s = first, second, factor, latencies_s

    @property
    def name(self) -> str:
        """The model id."""
        return self._first.name

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """The first completion of either copy; when both fail, the first copy's error."""
        started, order = asyncio.Event(), list[asyncio.Task[Completion]]()
        first = _started(self._first.complete(messages, sampling, on_start=started.set), order)
        alarm = asyncio.create_task(self._late(started))
        copies = [first]
        try:
            await asyncio.wait({first, alarm}, return_when=asyncio.FIRST_COMPLETED)
            if not first.done():
                copies.append(_started(self._second.complete(messages, sampling), order))
            return await _winner(copies, order)
        finally:
            for task in (alarm, *copies):
                task.cancel()
            await asyncio.gather(alarm, *copies, return_exceptions=True)

    async def _late(self, started: asyncio.Event) -> None:
        """Returns when the call takes too long; while too few were answered to say so, it is asked again and again."""
        await started.wait()
        began = asyncio.get_running_loop().time()
        while len(self._latencies_s) < FEWEST:  # noqa: ASYNC110 - nobody tells of a new latency
            await asyncio.sleep(LOOK_EVERY_S)
        took = asyncio.get_running_loop().time() - began
        await asyncio.sleep(max(0.0, self._factor * median(self._latencies_s) - took))


async def _winner(copies: Sequence[asyncio.Task[Completion]], order: Sequence[asyncio.Task[Completion]]) -> Completion:
    """The answer that came first; `order` is the order in which the copies ended."""
    seen = 0
    while seen < len(copies):
        await asyncio.wait(set(copies) - set(order[:seen]), return_when=asyncio.FIRST_COMPLETED)
        while seen < len(order):
            if order[seen].exception() is None:
                return order[seen].result()
            seen += 1
    return copies[0].result()


def _started(call: Coroutine[Any, Any, Completion], order: list[asyncio.Task[Completion]]) -> asyncio.Task[Completion]:
    task = asyncio.create_task(call)
    task.add_done_callback(order.append)
    return task
