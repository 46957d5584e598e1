"""Ctrl-C once finishes what is in flight and saves; twice stops at once."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from gym.cli.progress import Display
from gym.errors import Interrupted
from gym.llm.brake import Brake

FIRST = "stopping: the calls in flight are finished and saved; press Ctrl-C again to stop at once"
SAVED = "stopped; everything paid for is saved, and the same command continues"


@contextmanager
def two_step_interrupt(brake: Brake, display: Display) -> Iterator[None]:
    """While inside: the first SIGINT or SIGTERM pulls the brake, the second cancels the running task."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def on_signal() -> None:
        if brake.reason is None:
            display.say(FIRST)
            brake.pull(Interrupted(SAVED))
        elif task is not None:
            task.cancel()

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, on_signal)
    try:
        yield
    except asyncio.CancelledError:
        raise Interrupted(
            "stopped at once; calls in flight are lost, the rest is saved: the same command continues"
        ) from None
    finally:
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(each)
