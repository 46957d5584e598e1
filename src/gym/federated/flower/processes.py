"""Flower's processes beside ours: started with a log of their own, stopped with us, never left behind."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gym.federated.certificates import AUTHORITY
from gym.federated.flower import require_flower
from gym.federated.flower.told import plainly
from gym.federated.keys import LINK, RUNTIME

STOP_TIMEOUT_S = 5.0
SERVER_LOG, NODE_LOG = "superlink.log", "supernode.log"
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}
"""Flower would report its use, look for updates, and install packages."""
_EXIT_CODE = re.compile(r"Exit Code: \d+$")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Child:
    """A running process of Flower's."""

    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def ended(self) -> bool:
        """Whether it has stopped by itself."""
        return self.process.poll() is not None

    def last_words(self) -> str:
        """Why it ended in our words, else the last line of its log that says something went wrong, else the last line."""
        text = _COLOUR.sub("", self.log.read_text(encoding="utf-8", errors="replace"))
        if (plain := plainly(text)) is not None:
            return plain
        lines = text.splitlines()
        said = [line.strip() for line in lines if line.strip()]
        wrong = [place for place, line in enumerate(said) if re.match(r"\[code: \d+\]|ERROR|\w*Error\b", line)]
        if wrong and _EXIT_CODE.search(said[wrong[-1]]):  # what it stands for is said in the next line
            return said[min(wrong[-1] + 1, len(said) - 1)]
        return said[wrong[-1] if wrong else -1] if said else "it said nothing"


@contextmanager
def superlink(folder: Path, host: str, port: int) -> Iterator[Child]:
    """The server's SuperLink, while inside."""
    with _running(["superlink", str(folder), host, str(port)], folder, SERVER_LOG) as child:
        yield child


@contextmanager
def supernode(folder: Path, server: str, runtime_port: int) -> Iterator[Child]:
    """A node's SuperNode, connected to `server` (host:port) with the keys in its folder, while inside."""
    arguments = [
        "supernode",
        *("--superlink", server),
        *("--root-certificates", str(folder / AUTHORITY)),
        *("--auth-supernode-private-key", str(folder / LINK)),
        *("--isolation", "process"),
        *("--superexec-auth-secret-file", str(folder / RUNTIME)),
        *("--host", "127.0.0.1"),
        *("--port", str(runtime_port)),
    ]
    with _running(arguments, folder, NODE_LOG) as child:
        yield child


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def _running(arguments: Sequence[str], folder: Path, log: str) -> Iterator[Child]:
    require_flower()
    environment = {**os.environ, **QUIET, "FLWR_HOME": str(folder / "flower")}
    with (folder / log).open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gym.federated.flower.child", str(os.getpid()), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )
    try:
        yield Child(process, folder / log)
    finally:
        _stop(process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Ask, wait, kill."""
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
