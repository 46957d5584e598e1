"""Bringing a file to the disk in the background, many writes at a time.

A write is on the disk at most `interval_s` after it was noted, or as soon as `group` of them wait; one `fsync` covers
all that came before it. Nobody waits for it: it guards against power loss, the operating system against a kill.
"""

import threading
from collections.abc import Callable

INTERVAL_S = 0.05
GROUP = 64


class GroupCommit:
    """A thread that calls `sync` after noted writes. `note` and `close` are for one thread.

    Invariant, which spares a lock: only the writing thread sets `_noted`, only the other sets `_covered`, and
    `_covered` is at most the number of writes noted before the latest `sync` began.
    """

    def __init__(
        self, sync: Callable[[], None], name: str, *, interval_s: float = INTERVAL_S, group: int = GROUP
    ) -> None:
        self._sync, self._interval_s, self._group = sync, interval_s, group
        self._noted = self._covered = 0
        self._some, self._many, self._closing = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def note(self) -> None:
        """Something was written."""
        self._noted += 1
        if not self._some.is_set():
            self._some.set()
        if self._noted - self._covered >= self._group and not self._many.is_set():
            self._many.set()

    def close(self) -> None:
        """Return when all that was noted is on the disk and the thread has ended."""
        for event in (self._closing, self._some, self._many):
            event.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._some.wait()
            self._many.wait(self._interval_s)
            self._some.clear()
            self._many.clear()
            self._cover()
        self._cover()

    def _cover(self) -> None:
        if self._noted > self._covered:
            self._covered = self._noted
            self._sync()
