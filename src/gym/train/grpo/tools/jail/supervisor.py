"""Between the host and the interpreter: starts it, keeps its limits, collects its output, ends it and all it started.

It runs none of the model's code, and the code cannot reach it: in a PID namespace it is process 1, which nobody inside can
kill or trace. The host hears only from it. Between two calls everything in the session is stopped: what a call left
running costs nothing while the model thinks.
"""

import os
import signal
import sys
from contextlib import suppress
from typing import Any

from . import frames, interpreter, kernel, lockdown, tree
from .call import CHUNK, TICK_MS, Call, HostGone, Worker

_REQUEST_BYTES = 16 << 20


class Supervisor:
    """Serves one session on standard input and output."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.limits = plan["limits"]
        self.alone = os.getpid() == 1 and lockdown.namespace("pid") != plan["outside"].get("pid")
        self.user = lockdown.spare_user(plan)
        self.layers = lockdown.layers(plan["outside"], self.user)
        self.meter = tree.Meter(plan["folder"] if self.alone else None)
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
        if frames.receive(worker.reports, CHUNK) is None:
            raise OSError(f"the interpreter does not start: {os.read(worker.output, CHUNK).decode('utf-8', 'replace')}")
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
        call = Call(worker, code, self.limits, self.meter.use)
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

    def _outcome(self, call: Call) -> str:
        """Waits for the report or for the first limit that is passed."""
        while True:
            call.wait(TICK_MS)
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
