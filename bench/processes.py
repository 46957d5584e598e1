"""The processes of a bench: the mock server, and clients that each run in a fresh interpreter."""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from bench.cores import SERVER
from bench.plan import MODEL, Plan
from gym.config import RunConfig

ROOT = Path(__file__).parents[1]
LIMIT_S = 900.0
POLL_S = 0.01

Settings = Mapping[str, object]


class Book(NamedTuple):
    """The mock server's ledger at one moment; see `bench.ledger`."""

    received: int
    answered: int
    limited: int
    lost: int
    in_flight: int
    most_in_flight: int
    faults: Mapping[str, int]
    first_at: float
    last_at: float
    busy_s: float
    identities: int
    cpu_s: float
    calls: Mapping[str, tuple[int, int, list[str]]] = {}
    """Requests, answers and faults of each identity; empty unless asked for."""

    @property
    def span_s(self) -> float:
        """From the first request received to the last answer sent."""
        return self.last_at - self.first_at

    @property
    def all_faults(self) -> int:
        """Faults of every kind, and what came too fast."""
        return sum(self.faults.values()) + self.limited


class Served(NamedTuple):
    """A running mock server."""

    url: str

    @property
    def base_url(self) -> str:
        """What stands before /chat/completions."""
        return f"{self.url}/v1"

    def book(self, *, calls: bool = False) -> Book:
        """Its ledger now."""
        with urllib.request.urlopen(f"{self.url}/ledger{'?calls' if calls else ''}") as reply:
            return Book(**json.load(reply))

    def start(self, plan: Plan) -> None:
        """Serve another plan at the same address, with an empty ledger."""
        urllib.request.urlopen(f"{self.url}/plan", data=plan.to_json().encode()).close()


@contextmanager
def served(plan: Plan) -> Iterator[Served]:
    """A mock server in a process of its own, on a core of its own where there are two."""
    command = [sys.executable, "-m", "bench.server", plan.to_json(), str(SERVER)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Served(process.stdout.readline().strip())
        process.stdin.close()


class Ended(NamedTuple):
    """How a process ended and what it took."""

    code: int
    cpu_s: float
    rss_mb: float
    """At its peak."""
    wall_s: float
    out: str

    def require_success(self) -> Self:
        """Itself; raises `RuntimeError` with its last words otherwise."""
        if self.code:
            raise RuntimeError(f"exit code {self.code}: {self.out[-2000:]}")
        return self


class Client:
    """A command in a fresh interpreter. `started_at` is on the clock of the server's ledger."""

    def __init__(self, *words: str) -> None:
        self._out = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - read at the end
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, stdout=self._out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )

    def ended(self, limit_s: float = LIMIT_S) -> Ended:
        """Wait for its end; after `limit_s` seconds it is killed and its code is -9."""
        while True:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - self.started_at > limit_s:
                self.process.kill()
            time.sleep(POLL_S)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - self.started_at
        self._out.seek(0)
        scale = 2**20 if sys.platform == "darwin" else 2**10
        return Ended(
            self.process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale, wall_s, self._out.read()
        )

    def wait_until(self, reached: Callable[[], bool], limit_s: float = LIMIT_S) -> bool:
        """Whether it came to be before the process ended or the limit passed."""
        while not reached():
            if os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return reached()
            if time.monotonic() - self.started_at > limit_s:
                return False
            time.sleep(POLL_S)
        return True

    def peak_mb(self) -> float | None:
        """Its peak RSS so far, where the system tells of a living process."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        except OSError:
            return None
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    def kill(self) -> Ended:
        """End it as a power cut would, with SIGKILL."""
        self.process.kill()
        return self.ended()


def gym(command: str, folder: Path, settings: Settings, *more: str) -> Client:
    """`gym train` or `gym eval` with these settings, which go through a file: not every key is an option of both."""
    file = folder / f"{settings['experiment_name']}.yaml"
    file.write_text(json.dumps(settings), encoding="utf-8")
    return Client("-m", "gym", command, str(file), *more)


def job(task: str, **arguments: object) -> dict[str, Any]:
    """What `bench.client` measured of one task in a fresh process: see there."""
    ended = Client("-m", "bench.client", task, json.dumps(arguments)).ended().require_success()
    found: dict[str, Any] = json.loads(ended.out.splitlines()[-1])
    return found


def settings(server: Served, folder: Path, **more: object) -> dict[str, object]:
    """What all runs of the product have in common; `folder` holds data.jsonl and gets the output."""
    return {
        "model": MODEL,
        "base_url": server.base_url,
        "dataset": str(folder / "data.jsonl"),
        "reward": "exact",
        "output_dir": str(folder / "output"),
        "experiment_name": "run",
        **more,
    }


def offered(**keys: object) -> dict[str, object]:
    """Those of the settings that this version of the product has."""
    return {key: value for key, value in keys.items() if key in RunConfig.model_fields}
