"""Sync façades over async code: one daemon event loop a process runs every coroutine (FAULTS P4).

So a second call finds the loop of the first alive, and a call from inside a running loop (Jupyter) works too.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from gym.loop import new_event_loop

T = TypeVar("T")


class _Background:
    """The loop and its thread. Invariant: made under `_lock`, anew in a forked child."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="gym", daemon=True)
        self.thread.start()


_lock = threading.Lock()
_background: _Background | None = None


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Start the coroutine on the process's background loop."""
    global _background
    with _lock:
        if _background is None or _background.pid != os.getpid():
            _background = _Background()
        return asyncio.run_coroutine_threadsafe(coroutine, _background.loop)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The coroutine's result; Ctrl-C cancels it. Not for use on the background loop itself (`RuntimeError`)."""
    if _background is not None and threading.current_thread() is _background.thread:
        coroutine.close()
        raise RuntimeError("a sync call from inside the background loop would wait for itself: use the async twin")
    future = submit(coroutine)
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise
