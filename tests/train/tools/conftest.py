"""Sandboxes in every mode that this system has; "limits only" works everywhere, so no test is ever skipped in all modes."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from gym.errors import ConfigError
from gym.train.grpo.tools.jailer import MODES
from gym.train.grpo.tools.limits import Isolation, Limits, Mode
from gym.train.grpo.tools.python_sandbox import PythonSandbox, PythonSession

SMALL = Limits(cpu_s=1, memory_mb=256, processes=16, folder_mb=8, file_mb=4, output_chars=2000, output_mb=4)


@pytest.fixture(params=[mode for mode in MODES if mode != "bubblewrap" or shutil.which("bwrap")])
async def sandbox(request: pytest.FixtureRequest) -> PythonSandbox:
    """With small limits."""
    return await in_mode(request.param, SMALL)


@pytest.fixture
async def isolation(sandbox: PythonSandbox) -> Isolation:
    return await sandbox.isolation()


@pytest.fixture
async def session(sandbox: PythonSandbox) -> AsyncIterator[PythonSession]:
    async with sandbox.open() as opened:
        yield opened


@pytest.fixture
def marker() -> str:
    """A word that no other test's processes carry, in whichever worker or test run they are."""
    return f"zoo-{uuid4().hex}"


async def in_mode(mode: Mode, limits: Limits) -> PythonSandbox:
    """A sandbox in this mode; skips the test where the system lacks it."""
    made = PythonSandbox(limits, mode)
    if mode == "limits only":
        return made
    try:
        await made.isolation()
    except ConfigError as error:
        pytest.skip(str(error))
    return made


async def run(session: PythonSession, code: str) -> str:
    """The text of code that must succeed."""
    result = await session.call({"code": code})
    assert not result.error, result.text
    return result.text


def processes(marker: str) -> list[Path]:
    """/proc/PID of every process with this word on its command line."""
    return [Path(f"/proc/{pid}") for pid in os.listdir("/proc") if pid.isdigit() and marker in _command(pid)]


async def settled(condition: Callable[[], bool]) -> None:
    """Until the kernel has done what it was asked to do; it sends no event for it."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0)


def _command(pid: str) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    return ""


DAEMON = """
import os, subprocess, sys, threading
def daemon(marker):
    "A double fork, a session of its own where that is allowed, standard streams of its own, no signal heeded."
    up = os.pipe()
    if os.fork() == 0:
        try:
            os.setsid()
        except PermissionError:
            pass
        if os.fork() == 0:
            os.dup2(up[1], 1)
            program = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); signal.pause()"
            os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", program, marker])
        os._exit(0)
    os.close(up[1])
    assert os.read(up[0], 3) == b"up\\n"
"""
