"""The time limit of a rollout that counts its work and not its queueing.

`working_time` is `asyncio.timeout` with a clock that stands while the rollout can only wait for the endpoint: for a slot,
for its rate limit, for the end of a pause. The limiter finds the clock through a context variable, so solvers and tools
know nothing of it; child tasks inherit it.
"""

import asyncio
from contextvars import ContextVar
from types import TracebackType

_running: ContextVar["Stopwatch | None"] = ContextVar("stopwatch", default=None)


class Stopwatch:
    """The clock of one rollout; `outer` is the one it was started in, which stands with it.

    Invariant: it stands, since `_stands_since`, exactly while at least one of its calls waits and none is being answered.
    The end moves on by every wait, and the timer follows only when it rings too early: most rollouts end before it rings.
    """

    __slots__ = ("_answered", "_ends_at", "_loop", "_over", "_stands_since", "_timeout", "_timer", "_waiting", "outer")

    def __init__(self, seconds: float, timeout: asyncio.Timeout, outer: "Stopwatch | None") -> None:
        self.outer = outer
        self._loop, self._timeout = asyncio.get_running_loop(), timeout
        self._waiting = self._answered = 0
        self._stands_since: float | None = None
        self._ends_at = self._loop.time() + seconds
        self._timer: asyncio.TimerHandle | None = None
        self._over = False
        self._look()

    def wait_began(self) -> None:
        """A call of this rollout waits for the endpoint."""
        self._count(waiting=1)

    def wait_ended(self) -> None:
        """It waits no more."""
        self._count(waiting=-1)

    def call_began(self) -> None:
        """A call of this rollout has its slot."""
        self._count(answered=1)

    def call_ended(self) -> None:
        """It gave the slot back."""
        self._count(answered=-1)

    def close(self) -> None:
        """The rollout is over; calls that outlive it change nothing any more."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()

    def _count(self, *, waiting: int = 0, answered: int = 0) -> None:
        self._waiting += waiting
        self._answered += answered
        if (self._waiting > 0 and self._answered == 0) != (self._stands_since is not None):
            self._turn()
        if self.outer is not None:
            self.outer._count(waiting=waiting, answered=answered)

    def _turn(self) -> None:
        """Stand, or go on."""
        now = self._loop.time()
        if self._stands_since is None:
            self._stands_since = now
            return
        self._ends_at += now - self._stands_since
        self._stands_since = None
        if self._timer is None:
            self._look()

    def _look(self) -> None:
        self._timer = None
        if self._over or self._stands_since is not None:
            return
        now = self._loop.time()
        if now < self._ends_at:
            self._timer = self._loop.call_at(self._ends_at, self._look)
        else:
            self._over = True
            self._timeout.reschedule(now)


class working_time:  # noqa: N801 - reads like asyncio.timeout, which is a class too
    """Raise `TimeoutError` after `seconds` of work; waiting for a slot of a `Limiter` is none, a retry's backoff is."""

    __slots__ = ("_seconds", "_timeout", "_token", "_watch")

    def __init__(self, seconds: float) -> None:
        self._seconds, self._timeout = seconds, asyncio.timeout(None)

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()
        self._watch = Stopwatch(self._seconds, self._timeout, _running.get())
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
