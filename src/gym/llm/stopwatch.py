"""The time limit of a rollout that counts its work and not its queueing.

`working_time` is `asyncio.timeout` with a clock that stands while the rollout can only wait for the endpoint: for a slot,
for its rate limit, for the end of a pause. The limiter finds the clock through a context variable, so solvers and tools
know nothing of it; child tasks inherit it.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType

_running: ContextVar["Stopwatch | None"] = ContextVar("stopwatch", default=None)


class Stopwatch:
    """The clock of one rollout; `outer` is the one it was started in, which stands with it.

    Invariant: it stands exactly while at least one of its calls waits and none is being answered; `_left` is then the
    time that remains, else None.
    """

    def __init__(self, timeout: asyncio.Timeout, outer: "Stopwatch | None") -> None:
        self.outer = outer
        self._timeout: asyncio.Timeout | None = timeout
        self._waiting = self._answered = 0
        self._left: float | None = None

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Around a wait for the endpoint."""
        self._count(waiting=1)
        try:
            yield
        finally:
            self._count(waiting=-1)

    def call_began(self) -> None:
        """A call of this rollout has its slot."""
        self._count(answered=1)

    def call_ended(self) -> None:
        """It gave the slot back."""
        self._count(answered=-1)

    def close(self) -> None:
        """The rollout is over; calls that outlive it change nothing any more."""
        self._timeout = None

    def _count(self, *, waiting: int = 0, answered: int = 0) -> None:
        self._waiting += waiting
        self._answered += answered
        if self._timeout is not None and not self._timeout.expired():
            self._set(self._timeout, standing=self._waiting > 0 and self._answered == 0)
        if self.outer is not None:
            self.outer._count(waiting=waiting, answered=answered)

    def _set(self, timeout: asyncio.Timeout, *, standing: bool) -> None:
        now = asyncio.get_running_loop().time()
        deadline = timeout.when()
        if standing and deadline is not None:
            self._left = deadline - now
            timeout.reschedule(None)
        elif not standing and self._left is not None:
            timeout.reschedule(now + self._left)
            self._left = None


class working_time:  # noqa: N801 - reads like asyncio.timeout, which is a class too
    """Raise `TimeoutError` after `seconds` of work; waiting for a slot of a `Limiter` is none, a retry's backoff is."""

    def __init__(self, seconds: float) -> None:
        self._timeout = asyncio.timeout(seconds)

    async def __aenter__(self) -> None:
        self._watch = Stopwatch(await self._timeout.__aenter__(), _running.get())
        self._token = _running.set(self._watch)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _running.reset(self._token)
        self._watch.close()
        await self._timeout.__aexit__(kind, error, trace)


def running() -> Stopwatch | None:
    """The clock of the rollout that is calling, if it has one."""
    return _running.get()
