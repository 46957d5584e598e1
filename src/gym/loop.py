"""The event loop that calls run on: uvloop's where there is one, else Python's own.

With a thousand calls in flight it saves a sixth of the CPU of a call; the difference is not visible otherwise.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

try:
    from uvloop import new_event_loop
except ImportError:  # there is none for Windows
    from asyncio import new_event_loop  # type: ignore[assignment]

T = TypeVar("T")

__all__ = ["new_event_loop", "run_on_new_loop"]


def run_on_new_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on that loop, for a program's entry point."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(coroutine)
