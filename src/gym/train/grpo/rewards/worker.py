"""One worker: a spawned process at the far end of a socket, which does a task, answers, and takes the next.

The event loop that wants the answer reads the socket itself, so no thread takes the interpreter from it; a frame is a
length and a pickle. The main module is not run again in a worker (a user's script may lack the `__main__` guard),
Ctrl-C does not reach it, what it prints goes to standard error, and it ends with its parent.
"""

import asyncio
import faulthandler
import io
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from struct import Struct
from types import ModuleType
from typing import Any, NamedTuple, TextIO

from gym.core.problem import Failure

_LENGTH = Struct("!Q")
_ORPHAN_GRACE_S = 20.0
"""How long past its deadline a task may still run when nobody is left to kill it."""
_NICENESS = 5
"""The event loop goes first where cores are few: on two busy ones it ran 1.7 times as often as with 0."""


class Task(NamedTuple):
    """A call to make, and the seconds it may take."""

    limit_s: float
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


class Died(Exception):
    """The process ended without an answer, or could not start."""


class Worker:
    """A living process that does one task at a time. Raises `Died` when the system has no room for another.

    `memory_mb` bounds its data where the system can (Linux).
    """

    def __init__(self, memory_mb: int | None) -> None:
        self._link, there = socket.socketpair()
        self._link.setblocking(False)
        spawn = multiprocessing.get_context("spawn")
        self._process = spawn.Process(target=_serve, args=(there, memory_mb), daemon=True)
        try:
            with there, _main_hidden(), _interrupt_blocked():
                self._process.start()
        except OSError as error:
            self._link.close()
            raise Died(f"no worker process could be started: {error}") from error

    @property
    def alive(self) -> bool:
        """Whether it can take a task."""
        return self._link.fileno() >= 0 and self._process.is_alive()

    async def do(self, task: Task) -> Any:
        """The task's result, or its exception as a `Failure`. Raises `TimeoutError` past the limit, and `Died`.

        The process is gone then, and when the call is cancelled.
        """
        loop, frame = asyncio.get_running_loop(), _framed(task)
        deadline = loop.call_later(task.limit_s, self.kill)
        try:
            await loop.sock_sendall(self._link, frame)
            (size,) = _LENGTH.unpack(await self._read(_LENGTH.size))
            answer = await self._read(size)
        except OSError as error:
            if deadline.when() <= loop.time():
                self.end()
                raise TimeoutError(f"no result after {task.limit_s:g} s: the worker was killed") from None
            raise Died(f"the worker process ended with code {self._exit_code()}") from error
        except BaseException:
            self.end()
            raise
        finally:
            deadline.cancel()
        return pickle.loads(answer)

    def kill(self) -> None:
        """Kill the process; who waits for its answer learns it. From any thread."""
        self._process.kill()  # SIGTERM could be ignored
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)  # a process that the task started may hold the far end open

    def end(self) -> None:
        """Kill the process and let go of it; nobody may be waiting for its answer."""
        self.kill()
        self._link.close()

    async def _read(self, size: int) -> bytearray:
        frame = bytearray(size)
        rest = memoryview(frame)
        while rest:
            got = await asyncio.get_running_loop().sock_recv_into(self._link, rest)
            if not got:
                raise ConnectionResetError
            rest = rest[got:]
        return frame

    def _exit_code(self) -> int | None:
        self.end()  # it may have closed its socket and live on
        self._process.join(1.0)
        return self._process.exitcode


def failure(kind: str, message: str) -> Failure:
    """A failure at the boundary `reward`."""
    return Failure(boundary="reward", type=kind, message=message)


def _framed(value: Any) -> memoryview:
    frame = io.BytesIO()
    frame.seek(_LENGTH.size)
    pickle.dump(value, frame)  # a long text is copied once
    view = frame.getbuffer()
    _LENGTH.pack_into(view, 0, len(view) - _LENGTH.size)
    return view


def _serve(link: socket.socket, memory_mb: int | None) -> None:
    """In the worker: tasks one after another, until the parent closes the socket or is gone."""
    os.dup2(2, 1)  # what a reward prints must not mix with the command's result
    sys.stdout = sys.stderr  # and is there line by line, however the worker ends
    if sys.platform != "win32":
        os.nice(_NICENESS)
    if memory_mb is not None and sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory_mb << 20, memory_mb << 20))
    with suppress(OSError), link, link.makefile("rb") as tasks, open(os.devnull, "w") as nowhere:
        while head := tasks.read(_LENGTH.size):
            frame = tasks.read(_LENGTH.unpack(head)[0])
            link.sendall(_answer(frame, nowhere))


def _answer(frame: bytes, nowhere: TextIO) -> memoryview:
    """The framed result, or the exception as a `Failure` (exceptions of others may not pickle)."""
    try:
        task: Task = pickle.loads(frame)
        faulthandler.dump_traceback_later(task.limit_s + _ORPHAN_GRACE_S, exit=True, file=nowhere)
        return _framed(task.function(*task.arguments))
    except BaseException as error:  # whatever user code raises, SystemExit too, is its result
        return _framed(failure(type(error).__name__, str(error)[:500] or "no message"))
    finally:
        faulthandler.cancel_dump_traceback_later()


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
    resource_tracker.ensure_running()  # when it starts, it lifts the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
