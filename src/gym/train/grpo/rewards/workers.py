"""A pool of killable processes: for checks that may hang, crash or swallow memory (FAULTS G1, G3, G4).

No signal or thread can stop a regular expression or `9**9**9`; the death of its process can. A deadline counts from the
moment a worker takes the task, a dead worker is replaced, and every way to end without a result is a `Failure`.
"""

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

from gym.core.problem import Failure
from gym.train.grpo.rewards.worker import Died, Task, Worker, failure

T = TypeVar("T")

PREPARE_S = 120.0
"""How long a new worker may take to get ready."""


class Workers:
    """At most `count` processes; a task that runs longer than `limit_s` seconds is killed with its worker.

    Processes start when there is work for them and end with `close` or at exit. Not bound to an event loop or to the
    main thread. `memory_mb` bounds each worker's data where the system can (Linux).
    """

    def __init__(self, count: int = 2, limit_s: float = 30.0, memory_mb: int | None = 4096) -> None:
        self.count = count
        self.limit_s = limit_s
        self._prepare: tuple[Callable[[], Any], ...] = ()
        self._seats = tuple(_Seat(memory_mb) for _ in range(count))
        self._lock = threading.Lock()  # a seat is free, or one caller's; none is free while a caller waits
        self._free = list(self._seats)
        self._waiting: deque[Future[_Seat]] = deque()

    def prepare(self, function: Callable[[], Any]) -> None:
        """Have every worker run this before its next task, so that imports are not on a task's clock.

        An error in it is left for the task to meet again.
        """
        if function not in self._prepare:
            self._prepare = (*self._prepare, function)

    async def call(self, function: Callable[..., T], *arguments: Any) -> T | Failure:
        """The function's result, computed in a worker; a `Failure` when it raised, hung or took its worker down.

        The function must be importable, arguments and result picklable. To cancel the call is to kill its worker.
        """
        seat = await self._take()
        try:
            result: T | Failure = await seat.do(Task(self.limit_s, function, arguments), self._prepare)
            return result
        except TimeoutError as error:
            return failure("Timeout", str(error))
        except Died as error:
            return failure("WorkerDied", str(error))
        finally:
            self._give_back(seat)

    def close(self) -> None:
        """End all workers at once; a later call starts new ones."""
        with self._lock:
            for seat in self._seats:
                seat.vacate(idle=seat in self._free)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _take(self) -> "_Seat":
        promise: Future[_Seat] = Future()
        with self._lock:
            if self._free:
                return self._free.pop()
            self._waiting.append(promise)
        try:
            return await asyncio.wrap_future(promise)
        except asyncio.CancelledError:
            if not promise.cancelled():  # it was kept while the caller was being cancelled
                self._give_back(promise.result())
            raise

    def _give_back(self, seat: "_Seat") -> None:
        with self._lock:
            while self._waiting:
                promise = self._waiting.popleft()
                if promise.set_running_or_notify_cancel():
                    promise.set_result(seat)
                    return
            self._free.append(seat)


@cache
def shared(limit_s: float = 30.0) -> Workers:
    """The workers of those who bring none, one pool per limit."""
    return Workers(limit_s=limit_s)


class _Seat:
    """One worker's place: empty until there is work, and again when the process was killed or died."""

    def __init__(self, memory_mb: int | None) -> None:
        self._memory_mb = memory_mb
        self._worker: Worker | None = None
        self._path: tuple[str, ...] = ()
        self._prepared = 0

    async def do(self, task: Task, prepare: Sequence[Callable[[], Any]]) -> Any:
        """The worker's answer to the task, after what it had yet to prepare. Raises like `Worker.do`."""
        path = tuple(sys.path)  # a worker looks for modules where this process did when it started
        if self._worker is None or not self._worker.alive or self._path != path:
            self.vacate(idle=True)
            self._worker, self._path, self._prepared = Worker(self._memory_mb), path, 0
        worker = self._worker
        for function in (_be_there, *prepare)[self._prepared :]:
            await worker.do(Task(PREPARE_S, function))
            self._prepared += 1
        return await worker.do(task)

    def vacate(self, *, idle: bool) -> None:
        """End the process, if there is one; `idle`: nobody waits for its answer."""
        if self._worker is not None:
            self._worker.end() if idle else self._worker.kill()


def _be_there() -> None:
    """What every worker does first: its start is on no task's clock."""
