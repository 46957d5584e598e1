"""The brake: once pulled, calls in flight finish and are recorded, and no new one starts.

Ctrl-C, a budget, or a fatal provider error (a key that stopped working) pull it.

Invariant: `_reason` is set once and never cleared; whoever waits is woken on its own event loop.
"""

import asyncio
import contextlib

from gym.errors import GymError


class Brake:
    """Shared by everything that sends calls in a run; `pull` may be called from any thread or signal handler."""

    def __init__(self) -> None:
        self._reason: GymError | None = None
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def reason(self) -> GymError | None:
        """Why no new call starts, or None while they do."""
        return self._reason

    def pull(self, reason: GymError) -> None:
        """Stop new calls; the first reason stands."""
        self._reason = self._reason or reason
        for future in tuple(self._waiting):
            with contextlib.suppress(RuntimeError):  # its loop is closed: nobody waits any more
                future.get_loop().call_soon_threadsafe(_wake, future)

    def check(self) -> None:
        """Raise the reason when pulled."""
        if self._reason is not None:
            raise self._reason.with_traceback(None)

    def wake(self, future: asyncio.Future[None]) -> None:
        """Until it is let be, a pull sets `future`'s result: for whoever waits for something else as well."""
        self._waiting.add(future)
        if self._reason is not None:
            _wake(future)

    def let_be(self, future: asyncio.Future[None]) -> None:
        """Nobody waits for `future` any more."""
        self._waiting.discard(future)

    async def sleep(self, seconds: float) -> None:
        """Sleep, but no longer than until the brake is pulled."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.wake(future)
        try:
            await asyncio.wait({future}, timeout=seconds)
        finally:
            self.let_be(future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
