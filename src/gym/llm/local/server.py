"""A model server of our own: started, health-checked, used and stopped by us, never orphaned.

The server is a child process, so that its crash costs a request and not the run. It ends when its standard input does,
and on Linux the kernel ends it with us, so a kill -9 leaves nothing behind. It runs in a session of its own: a Ctrl-C
in the terminal reaches us alone, and calls in flight can finish.
"""

import asyncio
import contextlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import aiohttp

from gym.errors import ConfigError, Interrupted, MissingExtra
from gym.llm.local.catalogue import PREFIX, Weights, find, is_embedded
from gym.llm.local.cores import available_cores
from gym.llm.local.get import fetch
from gym.llm.local.weights import cached, check_gguf, weights_digest

CONTEXT_STEP = 256
"""llama.cpp rounds the tokens of a slot up to a multiple of this."""
CACHE_RAM_MIB = 512
"""Memory for prompts that no slot holds at the moment."""
STOP_TIMEOUT_S = 5.0
_STAMP = re.compile(r"^[\d.]+ ")

Say = Callable[[str], None]


@dataclass(frozen=True)
class LocalServer:
    """A running server. Its weights' digest was read from the file just before it was loaded."""

    base_url: str
    """OpenAI-compatible, ends in /v1."""
    model: str
    """The name that requests use."""
    path: Path
    sha256: str
    slots: int
    """Requests answered at once; more wait in the server."""
    context: int
    """Tokens of prompt and answer together, per request, as rounded up."""
    log: Path
    """What the server says; kept only when it does not start or dies."""
    process: "subprocess.Popen[str]"

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    def last_words(self) -> str:
        """What its log says went wrong, one line, for an error message."""
        return _tail(self.log)


@contextlib.asynccontextmanager
async def serve(
    model: str,
    *,
    slots: int = 4,
    context: int = 4096,
    threads: int | None = None,
    start_timeout_s: float = 180.0,
    say: Say = lambda text: None,
) -> AsyncIterator[LocalServer]:
    """A server for `local:NAME` (fetched first when it is not cached) or for the path of a GGUF file.

    `context` is in tokens per slot; `threads` defaults to the cores this process may use; `say` is told what is being
    waited for. Raises `MissingExtra` without xllamacpp, and `ConfigError` for an unknown name, a file that is no GGUF,
    other bytes than the pinned ones, or a server that does not start (with the end of its log).
    """
    if find_spec("xllamacpp") is None:
        raise MissingExtra(f"the embedded model {model!r}", "local")
    name, path, pinned = _locate(model)
    if path is None:
        path = await _fetch(find(name), say)
    sha256 = await asyncio.to_thread(weights_digest, path)
    if pinned and sha256 != pinned:
        raise ConfigError(
            f"model file {str(path)!r} has changed: its SHA-256 is {sha256}, not {pinned}; run: gym model get {name}"
        )
    context = math.ceil(context / CONTEXT_STEP) * CONTEXT_STEP
    options = {
        "path": str(path),
        "name": name,
        "slots": slots,
        "context": context,
        "threads": threads or available_cores(),
        "cache_ram_mib": CACHE_RAM_MIB,
    }
    log = _new_log()
    process = _start(options, log)
    try:
        say(f"loading {name} ({path.stat().st_size / 1e9:.2f} GB)")
        address = await _ready(process, log, path, start_timeout_s)
        say(f"{name} answers on {address}")
        yield LocalServer(f"{address}/v1", name, path, sha256, slots, context, log, process)
    finally:
        if process.poll() is None:
            log.unlink(missing_ok=True)
        await _stop(process)


def _locate(model: str) -> tuple[str, Path | None, str | None]:
    """Name, file (None: not cached yet) and pinned digest of a model id."""
    if not is_embedded(model):
        raise ConfigError(f"{model!r} is no embedded model: expected {PREFIX}NAME or a path that ends in .gguf")
    if model.lower().endswith(".gguf"):
        path = check_gguf(Path(model.removeprefix(PREFIX)).expanduser().absolute())
        return path.stem, path, None
    weights = find(model)
    return weights.name, cached(weights), weights.sha256


async def _fetch(weights: Weights, say: Say) -> Path:
    """The model, got in a thread that gives up when we are cancelled."""
    cancelled, told = threading.Event(), -1

    def progress(done: int) -> None:
        nonlocal told
        if cancelled.is_set():
            raise Interrupted(f"getting {weights.name} was stopped")
        if (percent := done * 10 // weights.size * 10) > told:
            told = percent
            say(f"getting {weights.name}: {percent} % of {weights.size / 1e9:.2f} GB")

    try:
        return await asyncio.to_thread(fetch, weights.name, progress=progress)
    finally:
        cancelled.set()


def _start(options: dict[str, object], log: Path) -> "subprocess.Popen[str]":
    """The child; `-P` keeps a folder called gym in the working directory from taking our place."""
    with log.open("wb") as stderr:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "gym.llm.local.child", json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={"OMP_WAIT_POLICY": "PASSIVE", **os.environ},
            start_new_session=True,
            text=True,
        )


async def _ready(process: "subprocess.Popen[str]", log: Path, path: Path, timeout_s: float) -> str:
    """The address, once /health says 200. The child prints it when the weights are loaded."""
    assert process.stdout is not None
    try:
        async with asyncio.timeout(timeout_s):
            address = (await asyncio.to_thread(process.stdout.readline)).strip()
            if address:
                await _healthy(address)
                return address
    except (TimeoutError, aiohttp.ClientError) as error:
        process.kill()
        process.wait()
        raise ConfigError(
            f"the server for {str(path)!r} does not answer within {timeout_s:g} s: {_tail(log)}"
        ) from error
    code = await asyncio.to_thread(process.wait)
    raise ConfigError(f"the server for {str(path)!r} did not start (exit code {code}): {_tail(log)}")


async def _healthy(address: str) -> None:
    async with aiohttp.ClientSession(raise_for_status=True) as session, session.get(f"{address}/health"):
        pass


async def _stop(process: "subprocess.Popen[str]") -> None:
    """Ask, wait, kill; a second cancellation while waiting kills at once."""
    try:
        if process.poll() is None:
            process.terminate()
            await asyncio.to_thread(process.wait, STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _new_log() -> Path:
    descriptor, name = tempfile.mkstemp(prefix="zoo-gym-server-", suffix=".log")
    os.close(descriptor)
    return Path(name)


def _tail(log: Path, lines: int = 3) -> str:
    """The log's end without time stamps, in one line: its first errors when it has any, for the first is the cause."""
    said = [_STAMP.sub("", line).strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    errors = [line.removeprefix("E ") for line in said if line.startswith("E ")]
    return "; ".join(errors[:lines] or said[-lines:]) + f" (log: {log})"
