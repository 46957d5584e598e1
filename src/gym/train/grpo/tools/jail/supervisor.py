"""Between the host and the interpreter: starts it, keeps its limits, collects its output, ends it and all it started.

It runs none of the model's code, and the code cannot reach it: in a PID namespace it is process 1, which nobody inside can
kill or trace. The host hears only from it. Between two calls everything in the session is stopped: what a call left
running costs nothing while the model thinks.
"""

import os
import select
import signal
import sys
import time
from contextlib import suppress
from typing import Any, NamedTuple

from . import frames, interpreter, kernel, lockdown, tree
from .clip import Clip, clip

_REQUEST_BYTES = 16 << 20
_TICK_MS = 40
_CHUNK = 1 << 16


class HostGone(Exception):
    """The host closed the conversation."""


class Worker(NamedTuple):
    """A running interpreter and our ends of its pipes."""

    pid: int
    requests: int
    reports: int
    output: int


class Supervisor:
    """Serves one session on standard input and output."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.limits = plan["limits"]
        self.alone = os.getpid() == 1 and lockdown.namespace("pid") != plan["outside"].get("pid")
        self.user = lockdown.spare_user(plan)
        self.layers = lockdown.layers(plan["outside"], self.user)
        self.worker: Worker | None = None
        self.ended: int | None = None
        """The exit code of the worker that ended last, below 0 for a signal."""

    def serve(self) -> None:
        """Answer until the host goes; raises `OSError` when the interpreter cannot be started as planned."""
        self._hide()
        self._make_folder()
        try:
            self.worker = self._start()
            frames.send(sys.stdout.fileno(), {"layers": self.layers})
            while (request := frames.receive(sys.stdin.fileno(), _REQUEST_BYTES)) is not None:
                frames.send(sys.stdout.fileno(), self._answer(request["code"]))
        except (HostGone, BrokenPipeError):
            pass
        finally:
            self._kill_all()

    def _hide(self) -> None:
        if kernel.LINUX:
            kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)

    def _make_folder(self) -> None:
        folder = self.plan["folder"]
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if self.user is not None:
            for path in {folder, "/tmp"} if self.alone else {folder}:
                os.chown(path, self.user, self.user)

    def _start(self) -> Worker:
        """A new interpreter that has told, before any code of the model ran, that it is locked down."""
        requests, reports, output = os.pipe(), os.pipe(), os.pipe()
        pid = os.fork()
        if not pid:
            self._become_worker(requests[0], reports[1], output[1])
        for fd in (requests[0], reports[1], output[1]):
            os.close(fd)
        worker = Worker(pid, requests[1], reports[0], output[0])
        if frames.receive(worker.reports, _CHUNK) is None:
            raise OSError(
                f"the interpreter does not start: {os.read(worker.output, _CHUNK).decode('utf-8', 'replace')}"
            )
        for fd in (worker.requests, worker.reports, worker.output):
            os.set_blocking(fd, False)
        return worker

    def _become_worker(self, requests: int, reports: int, output: int) -> None:
        """Never returns."""
        try:
            os.setsid()
            requests, reports = _arrange(requests, reports, output)
            os.chdir(self.plan["folder"])
            sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # in order with standard error
            lockdown.lock_down(self.plan, self.layers, self.user)
            sys.path.extend(self.plan["packages"])
            frames.send(reports, {})
            interpreter.converse(requests, reports, self.limits["output_chars"])
            os._exit(0)
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
            os._exit(70)

    def _answer(self, code: str) -> dict[str, Any]:
        """Run one piece of code; whatever comes of it is the answer."""
        worker = self.worker = self.worker or self._start()
        call = _Call(worker, code, self.limits)
        self._signal_all(signal.SIGCONT)
        outcome = self._outcome(call)
        if outcome == "done":
            self._signal_all(signal.SIGSTOP)
        else:
            self._kill_all()
        call.drain()
        if outcome != "done":
            self._forget(worker)
        return {"outcome": outcome, "exit": self.ended, "output": call.output.text(), **call.report}

    def _outcome(self, call: "_Call") -> str:
        """Waits for the report or for the first limit that is passed."""
        while True:
            call.wait(_TICK_MS)
            if outcome := call.passed():
                return outcome
            if self._reap(call.worker):
                call.take_reports()
                return call.passed() or "died"

    def _reap(self, worker: Worker) -> bool:
        """Take leave of whoever has ended; whether the worker has."""
        gone = False
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == worker.pid:
                    self.ended, gone = os.waitstatus_to_exitcode(ended[1]), True
        return gone

    def _signal_all(self, number: signal.Signals) -> None:
        """To every process of the session but us, at once."""
        with suppress(ProcessLookupError, PermissionError):
            if self.alone:
                os.kill(-1, number)
            elif self.worker is not None:
                os.killpg(self.worker.pid, number)

    def _kill_all(self) -> None:
        """End every process of the session, also those that left its group, and wait until they are gone."""
        with suppress(ChildProcessError):
            while True:
                self._signal_all(signal.SIGKILL)
                for pid in tree.children(os.getpid()):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                ended, status = os.waitpid(-1, 0)
                if self.worker is not None and ended == self.worker.pid:
                    self.ended = os.waitstatus_to_exitcode(status)

    def _forget(self, worker: Worker) -> None:
        for fd in worker[1:]:
            os.close(fd)
        self.worker = None


class _Call:
    """One piece of code on its way: what is still to be sent, what has come, what it may use."""

    def __init__(self, worker: Worker, code: str, limits: dict[str, Any]) -> None:
        self.worker = worker
        self.limits = limits
        self.nonce = os.urandom(16).hex()
        self.report: dict[str, str] = {}
        self.output = Clip(limits["output_chars"])
        self._unsent = memoryview(frames.encoded({"nonce": self.nonce, "code": code}))
        self._incoming = frames.Incoming(_CHUNK + 8 * limits["output_chars"])
        self._open = {worker.output, worker.reports}
        self._state = ""
        self._next_look = 0.0
        self._ends = time.monotonic() + limits["wall_s"]
        self._cpu_before = tree.use().cpu_s

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
        self._next_look = now + _TICK_MS / 1000
        used = tree.use()
        if used.cpu_s - self._cpu_before > self.limits["cpu_s"]:
            return "cpu"
        if used.processes > self.limits["processes"]:
            return "processes"
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
            chunk = self._read(self.worker.output, _CHUNK)
        except BlockingIOError:
            return 0
        self.output.add(chunk)
        return len(chunk)

    def _read(self, fd: int, most: int) -> bytes:
        """Bytes that are there; none at the end of the pipe, which is then no longer waited for."""
        if not (chunk := os.read(fd, most)):
            self._open.discard(fd)
        return chunk


def _arrange(requests: int, reports: int, output: int) -> tuple[int, int]:
    """Standard streams of a worker, its two pipes at 3 and 4, and nothing else open."""
    spare = [os.dup(fd) for fd in (requests, reports, output)]
    nowhere = os.open(os.devnull, os.O_RDONLY)
    high = [os.dup2(fd, 200 + place, inheritable=False) for place, fd in enumerate([*spare, nowhere])]
    os.dup2(high[3], 0)
    os.dup2(high[2], 1)
    os.dup2(high[2], 2)
    for fd, place in ((high[0], 3), (high[1], 4)):
        os.dup2(fd, place, inheritable=False)
    os.closerange(5, 256)
    return 3, 4
