"""One call of the interpreter as the supervisor sees it: bytes out, bytes in, and what it may use."""

import os
import select
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from . import frames
from .clip import Clip, clip
from .tree import Use

CHUNK = 1 << 16
TICK_MS = 40
MOST_FILES = 16_384
"""In a folder that is a file system of its own: their names live in memory that no limit counts."""


class HostGone(Exception):
    """The host closed the conversation."""


class Worker(NamedTuple):
    """A running interpreter and our ends of its pipes."""

    pid: int
    requests: int
    reports: int
    output: int


class Call:
    """One piece of code on its way: what is still to be sent, what has come, what it may use."""

    def __init__(self, worker: Worker, code: str, limits: dict[str, Any], use: Callable[[], Use]) -> None:
        self.worker = worker
        self.limits = limits
        self.nonce = os.urandom(16).hex()
        self.report: dict[str, str] = {}
        self.output = Clip(limits["output_chars"])
        self._unsent = memoryview(frames.encoded({"nonce": self.nonce, "code": code}))
        self._incoming = frames.Incoming(CHUNK + 8 * limits["output_chars"])
        self._open = {worker.output, worker.reports}
        self._state = ""
        self._next_look = 0.0
        self._ends = time.monotonic() + limits["wall_s"]
        self._use = use
        self._cpu_before = use().cpu_s

    def wait(self, timeout_ms: int) -> None:
        """Move what can be moved; raises `HostGone`."""
        poll = select.poll()
        for fd in (sys.stdin.fileno(), *self._open):
            poll.register(fd, select.POLLIN)
        if self._unsent:
            poll.register(self.worker.requests, select.POLLOUT)
        ready = {fd for fd, _ in poll.poll(timeout_ms)}
        if sys.stdin.fileno() in ready:
            raise HostGone
        self._send()
        self._read_output()
        self.take_reports()

    def passed(self) -> str:
        """How the call has ended; empty: it has not."""
        if self._state:
            return self._state
        if (now := time.monotonic()) > self._ends:
            return "wall"
        if self.output.bytes > self.limits["output_mb"] << 20:
            return "output"
        if now < self._next_look:
            return ""
        self._next_look = now + TICK_MS / 1000
        used = self._use()
        if used.cpu_s - self._cpu_before > self.limits["cpu_s"]:
            return "cpu"
        if used.processes > self.limits["processes"]:
            return "processes"
        if used.files > MOST_FILES:
            return "files"
        return "memory" if used.memory_bytes > self.limits["memory_mb"] << 20 else ""

    def take_reports(self) -> None:
        """Reports with another nonce are late or forged, and dropped."""
        with suppress(BlockingIOError):
            try:
                while not self._state and self.worker.reports in self._open:
                    self._incoming.add(self._read(self.worker.reports, self._incoming.wanted))
                    if (message := self._incoming.next()) is not None and message.get("nonce") == self.nonce:
                        self._state, self.report = "done", self._believed(message)
            except frames.Garbled:
                self._state = "garbled"

    def drain(self) -> None:
        """What was printed before the end is in the pipe."""
        while self.output.bytes <= self.limits["output_mb"] << 20 and self._read_output():
            pass

    def _believed(self, message: dict[str, Any]) -> dict[str, str]:
        """The texts, not much longer than an honest interpreter makes them."""
        most = 2 * self.limits["output_chars"]
        kept = {name: message.get(name, "") for name in ("value", "error")}
        return {name: clip(text, most) for name, text in kept.items() if isinstance(text, str)}

    def _send(self) -> None:
        with suppress(BlockingIOError, BrokenPipeError):
            if self._unsent:
                self._unsent = self._unsent[os.write(self.worker.requests, self._unsent) :]

    def _read_output(self) -> int:
        try:
            chunk = self._read(self.worker.output, CHUNK)
        except BlockingIOError:
            return 0
        self.output.add(chunk)
        return len(chunk)

    def _read(self, fd: int, most: int) -> bytes:
        """Bytes that are there; none at the end of the pipe, which is then no longer waited for."""
        if not (chunk := os.read(fd, most)):
            self._open.discard(fd)
        return chunk
