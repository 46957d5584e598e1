"""Worker processes that can be killed: for checks that may hang, crash or swallow memory (FAULTS G1, G3, G4).

No signal or thread can stop a regular expression or `9**9**9`; the death of its process can. `pebble` keeps the pool:
it counts a deadline from the moment a worker takes the task, kills the worker, and starts another. What is ours: the
main module is not run again in a worker (a user's script may lack the `__main__` guard), Ctrl-C does not reach workers,
a dead parent leaves none behind, and every way to end without a result is a `Failure`.
"""

import asyncio
import atexit
import faulthandler
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

from gym.core.problem import Failure

T = TypeVar("T")

_ORPHAN_GRACE_S = 20.0
"""How long past its deadline a task may still run when nobody is left to kill it."""


class Workers:
    """A pool of `count` processes; a task that runs longer than `limit_s` seconds is killed with its worker.

    Started by the first call and closed at exit; not bound to an event loop or to the main thread. `memory_mb` bounds
    each worker's data where the system can (Linux).
    """

    def __init__(self, count: int = 2, limit_s: float = 30.0, memory_mb: int | None = 4096) -> None:
        self.count = count
        self.limit_s = limit_s
        self.memory_mb = memory_mb
        self._prepare: tuple[Callable[[], Any], ...] = ()
        self._pool: ProcessPool | None = None
        self._lock = threading.Lock()  # at most one living pool

    def prepare(self, function: Callable[[], Any]) -> None:
        """Have every worker run this before it takes tasks, so that imports are not on a task's clock.

        It counts for workers that start later; an error in it is left for the task to meet again.
        """
        if function not in self._prepare:
            self._prepare = (*self._prepare, function)

    async def call(self, function: Callable[..., T], *arguments: Any) -> T | Failure:
        """The function's result, computed in a worker; a `Failure` when it raised, hung or took its worker down.

        The function must be importable, arguments and result picklable. A pool that broke is replaced once.
        """
        payload = pickle.dumps((function, arguments))
        for _ in range(2):
            pool = await asyncio.to_thread(self._started)
            try:
                done: tuple[bool, T] = await asyncio.wrap_future(self._schedule(pool, payload))
                return done[1]
            except TimeoutError:
                return _failure("Timeout", f"no result after {self.limit_s:g} s: the worker was killed")
            except ProcessExpired as error:
                return _failure("WorkerDied", f"the worker process ended with code {error.exitcode}")
            except BrokenProcessPool:
                self._discard(pool)
        return _failure("WorkerDied", "the worker processes do not stay alive")

    def close(self) -> None:
        """End all workers at once; a later call starts new ones."""
        pool = self._pool
        if pool is not None:
            self._discard(pool)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self) -> ProcessPool:
        with self._lock:
            if self._pool is None or not self._pool.active:
                self._pool = ProcessPool(
                    max_workers=self.count,
                    initializer=_initialize,
                    initargs=(self.memory_mb, self._prepare),
                    context=_Context(),
                )
                self._pool.active  # noqa: B018 - reading it starts the pool
                atexit.register(self.close)
            return self._pool

    def _schedule(self, pool: ProcessPool, payload: bytes) -> "Future[tuple[bool, Any]]":
        try:
            return pool.schedule(_run, args=(payload, self.limit_s), timeout=self.limit_s)
        except RuntimeError as error:  # pebble's word for a pool that is broken or closed
            raise BrokenProcessPool(str(error)) from error

    def _discard(self, pool: ProcessPool) -> None:
        with self._lock:
            if self._pool is not pool:
                return
            self._pool = None
        atexit.unregister(self.close)
        pool.stop()  # type: ignore[no-untyped-call]
        pool.join()


@cache
def shared(limit_s: float = 30.0) -> Workers:
    """The workers of those who bring none, one pool per limit."""
    return Workers(limit_s=limit_s)


def _failure(kind: str, message: str) -> Failure:
    return Failure(boundary="reward", type=kind, message=message)


def _run(payload: bytes, limit_s: float) -> tuple[bool, Any]:
    """In the worker: the function's result, or its exception as a `Failure` (exceptions of others may not pickle)."""
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(limit_s + _ORPHAN_GRACE_S, exit=True, file=nowhere)
        try:
            function, arguments = pickle.loads(payload)
            return True, function(*arguments)
        except BaseException as error:  # whatever user code raises, SystemExit too, is its result
            return False, _failure(type(error).__name__, str(error)[:500] or "no message")
        finally:
            faulthandler.cancel_dump_traceback_later()


def _initialize(memory_mb: int | None, prepare: tuple[Callable[[], Any], ...]) -> None:
    os.dup2(2, 1)  # what a reward prints must not mix with the command's result
    if memory_mb is not None and sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory_mb << 20, memory_mb << 20))
    for function in prepare:
        with suppress(Exception):
            function()


class _Process(SpawnProcess):
    """A spawned process that does not import the parent's main module, ignores Ctrl-C, and is killed outright."""

    def start(self) -> None:
        with _main_hidden(), _interrupt_blocked():
            super().start()

    def terminate(self) -> None:
        self.kill()  # SIGTERM waits for Python code to run; a hung C function never runs any


class _Context(SpawnContext):
    Process = _Process


_MAIN = threading.Lock()  # held while sys.modules["__main__"] is the stand-in


@contextmanager
def _main_hidden() -> Iterator[None]:
    with _MAIN:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """A child inherits the mask, so that Ctrl-C cannot even catch it half-way through its imports."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
