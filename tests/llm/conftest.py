"""Virtual time: an event loop whose clock jumps to the next timer, so that minutes of waiting take no time."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

InVirtualTime = Callable[[Coroutine[Any, Any, Any]], Any]


class _Jumping(selectors.DefaultSelector):
    """A selector that never waits: the time it was told to wait has passed."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found and timeout is None:
            raise AssertionError("everybody waits and nothing will happen any more")
        self.now += 0.0 if found else (timeout or 0.0)
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its `time()` starts at 0 and moves only while everybody waits."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


@pytest.fixture
def in_virtual_time() -> InVirtualTime:
    """Runs a coroutine to its end on a `VirtualLoop`."""

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(work)

    return run
