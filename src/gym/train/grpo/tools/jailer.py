"""Starts the child process of a session, talks with it and ends it, in the strongest mode that works on this system."""

import asyncio
import itertools
import json
import os
import secrets
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gym.errors import ConfigError
from gym.train.grpo.tools.jail import frames, lockdown
from gym.train.grpo.tools.limits import Answer, Isolation, Limits, Mode

MODES: tuple[Mode, ...] = ("bubblewrap", "namespaces", "limits only")
"""The strongest first; Landlock and the system call filter are added to each where the kernel has them."""
FOLDER = "/tmp/work"
"""Where code works inside namespaces."""

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache", "/etc/localtime")
_HERE = Path(__file__).parent
_START = "import sys; sys.path.insert(0, sys.argv.pop()); from jail.launch import main; del sys.path[0]; main()"
_GRACE_S = 30.0
_STOP_S = 10.0
_ANSWER_BYTES = 64 << 20
_salts = itertools.count(secrets.randbelow(1 << 29))  # two sessions of this process never share a user


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
    plan = _plan(mode, limits, str(folder or FOLDER))
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


def _plan(mode: Mode, limits: Limits, folder: str) -> dict[str, Any]:
    readable, links = _visible()
    return {
        "mode": mode,
        "limits": limits.model_dump(),
        "folder": folder,
        "readable": readable,
        "links": links,
        "packages": _packages(),
        "salt": next(_salts),
        "outside": {name: lockdown.namespace(name) for name in lockdown.NAMESPACES},
    }


def _visible() -> tuple[dict[str, str], dict[str, str]]:
    """What code may read, path -> where it really is, and links at the root; a path inside another is left out."""
    paths = [*_SYSTEM, sys.base_prefix, sys.prefix, *_packages(), str(_HERE / "jail")]
    links = {path: os.readlink(path) for path in _SYSTEM if os.path.dirname(path) == "/" and os.path.islink(path)}
    found: dict[str, str] = {}
    for path in sorted({path for path in paths if os.path.exists(path)} - links.keys()):
        if not any(path.startswith(f"{outer}/") for outer in found):
            found[path] = os.path.realpath(path)
    return found, links


def _packages() -> list[str]:
    """Where this Python's packages are."""
    return sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})


async def _spawn(plan: Mapping[str, Any]) -> asyncio.subprocess.Process:
    """Nothing of our environment goes along."""
    python = [sys.executable, "-I", "-S", "-c", _START, json.dumps(plan), str(_HERE)]
    command = [*_bubblewrap(plan), *python] if plan["mode"] == "bubblewrap" else python
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


def _bubblewrap(plan: Mapping[str, Any]) -> list[str]:
    """The same root as `namespaces.py` builds; raises `Broken` when bubblewrap is not installed."""
    if (program := shutil.which("bwrap")) is None:
        raise Broken("bubblewrap: not installed")
    size = str(plan["limits"]["folder_mb"] << 20)
    command = [
        program,
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--die-with-parent",
        "--as-pid-1",
    ]
    command += ["--unshare-user"] if os.geteuid() else []
    command += [
        "--perms",
        "0755",
        "--dir",
        "/dev",
        "--proc",
        "/proc",
        "--size",
        size,
        "--tmpfs",
        "/tmp",
        "--symlink",
        "/tmp",
        "/dev/shm",
    ]
    for path, source in plan["readable"].items():
        for folder in [*reversed(Path(path).parents)][1:]:
            command += ["--perms", "0755", "--dir", str(folder)]
        command += ["--ro-bind", source, path]
    for name in ("null", "zero", "full", "random", "urandom"):
        command += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for link, target in {**plan["links"], "/dev/fd": "/proc/self/fd"}.items():
        command += ["--symlink", target, link]
    return [*command, "--remount-ro", "/", "--"]


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
    lines = (await process.stderr.read(1 << 16)).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


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
