"""Starts the child process of a session, talks with it and ends it, in the strongest mode that works on this system."""

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gym.errors import ConfigError
from gym.train.grpo.tools.jail import frames
from gym.train.grpo.tools.limits import Answer, Isolation, Limits, Mode
from gym.train.grpo.tools.plan import FOLDER, bubblewrap_command, plan_for

MODES: tuple[Mode, ...] = ("bubblewrap", "namespaces", "limits only")
"""The strongest first; Landlock and the system call filter are added to each where the kernel has them."""
_HERE = Path(__file__).parent
_START = "import sys; sys.path.insert(0, sys.argv.pop()); from jail.launch import main; del sys.path[0]; main()"
_GRACE_S = 30.0
_STOP_S = 10.0
_ANSWER_BYTES = 64 << 20


class Broken(Exception):
    """The child did not answer, or not in our language; what it said last."""


class Jail:
    """One child process and its working folder."""

    def __init__(self, process: asyncio.subprocess.Process, layers: tuple[str, ...], folder: Path | None) -> None:
        self.layers = layers
        self._process = process
        self._folder = folder

    async def run(self, code: str, timeout_s: float) -> Answer:
        """The supervisor's answer; raises `Broken`."""
        assert self._process.stdin is not None
        try:
            async with asyncio.timeout(timeout_s + _GRACE_S):
                self._process.stdin.write(frames.encoded({"code": code}))
                await self._process.stdin.drain()
                return Answer.model_validate(await _receive(self._process))
        except (TimeoutError, ConnectionError, ValidationError) as error:
            raise Broken(f"no answer: {error!r}") from error

    async def close(self) -> None:
        """End every process of the session and remove its folder, also when this is cancelled."""
        try:
            await _end(self._process)
        finally:
            if self._folder is not None:
                await asyncio.to_thread(_remove, self._folder)


async def start(mode: Mode, limits: Limits) -> Jail:
    """A child in this mode, ready to run code; raises `Broken` when the system refuses."""
    folder = Path(tempfile.mkdtemp(prefix="zoo-gym-python-")) if mode == "limits only" else None
    plan = plan_for(mode, limits, str(folder or FOLDER))
    try:
        process = await _spawn(plan)
    except BaseException:
        if folder is not None:
            _remove(folder)
        raise
    jail = Jail(process, (), folder)
    try:
        async with asyncio.timeout(_GRACE_S):
            jail.layers = tuple((await _receive(process)).get("layers", ()))
        return jail
    except (TimeoutError, Broken) as error:
        said = await _last_words(process)
        await jail.close()
        raise Broken(f"{mode}: {said or error}") from error
    except BaseException:
        await jail.close()
        raise


async def find_isolation(limits: Limits, mode: Mode | None = None) -> Isolation:
    """The strongest mode that starts here, or the one asked for; raises `ConfigError` when it does not start."""
    refused: list[str] = []
    for candidate in (mode,) if mode else MODES:
        try:
            jail = await start(candidate, limits)
        except (Broken, OSError) as error:
            refused.append(str(error))
            continue
        await jail.close()
        return Isolation(mode=candidate, layers=jail.layers, refused=tuple(refused))
    raise ConfigError(f"the Python tool cannot run code on this system: {'; '.join(refused)}")


async def _spawn(plan: Mapping[str, Any]) -> asyncio.subprocess.Process:
    """Nothing of our environment goes along."""
    python = [sys.executable, "-I", "-S", "-c", _START, json.dumps(plan), str(_HERE)]
    command = [*bubblewrap_command(plan), *python] if plan["mode"] == "bubblewrap" else python
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": plan["folder"],
        "LANG": "C.UTF-8",
        "TMPDIR": plan["folder"],
    }
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        cwd="/",
        start_new_session=True,
    )


async def _receive(process: asyncio.subprocess.Process) -> dict[str, Any]:
    """The next message; raises `Broken`."""
    assert process.stdout is not None
    try:
        length = int.from_bytes(await process.stdout.readexactly(frames.HEADER), "big")
        if length > _ANSWER_BYTES:
            raise Broken(f"an answer of {length} bytes")
        return frames.decoded(await process.stdout.readexactly(length))
    except (asyncio.IncompleteReadError, frames.Garbled) as error:
        raise Broken(f"no whole answer: {error}") from error


async def _last_words(process: asyncio.subprocess.Process) -> str:
    """The last line on its standard error; waits for its end."""
    assert process.stderr is not None
    await _end(process)
    try:
        async with asyncio.timeout(_STOP_S):
            said = await process.stderr.read(1 << 16)
    except TimeoutError:
        return ""
    return said.decode("utf-8", "replace").strip().rpartition("\n")[2]


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close its input, at which it kills all it started and goes; kill it when it does not."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(_STOP_S):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _remove(folder: Path) -> None:
    """What is left when the supervisor could not do it; links are not followed."""
    shutil.rmtree(folder, ignore_errors=True)
