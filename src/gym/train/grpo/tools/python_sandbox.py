"""Python for a model: each rollout has an interpreter of its own, kept apart from the host (docs/sandbox.md).

No daemon, no container engine: child processes in namespaces (bubblewrap's where it is installed), behind Landlock and a
system call filter. An interpreter starts with the first call, so a rollout that computes nothing costs nothing.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from gym.core.text import whole_characters
from gym.llm.local.cores import available_cores
from gym.train.grpo.tools import jailer
from gym.train.grpo.tools.base import ToolResult
from gym.train.grpo.tools.jailer import Broken, Jail
from gym.train.grpo.tools.limits import Answer, Isolation, Limits, Mode

MAX_CODE_CHARS = 200_000


class PythonSandbox:
    """Runs a model's code. `mode` asks for one mode instead of the strongest that works."""

    name = "python"
    description = (
        "Run Python code. Variables, imports and files in the working folder stay for later calls. Printed output and the "
        "value of a last expression come back. There is no network and no input."
    )
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"code": {"type": "string", "maxLength": MAX_CODE_CHARS, "description": "Python code"}},
        "required": ["code"],
        "additionalProperties": False,
    }

    def __init__(self, limits: Limits | None = None, mode: Mode | None = None) -> None:
        self.limits = limits or Limits()
        self.mode = mode
        self._isolation: Isolation | None = None
        self._lock = asyncio.Lock()  # at most one search for the mode
        self._starting = asyncio.Semaphore(available_cores())  # more would only starve the event loop

    async def isolation(self) -> Isolation:
        """What keeps sessions apart here, found once by starting one; raises `ConfigError` when none starts."""
        async with self._lock:
            if self._isolation is None:
                self._isolation = await jailer.find_isolation(self.limits, self.mode)
            return self._isolation

    @asynccontextmanager
    async def open(self) -> AsyncIterator["PythonSession"]:
        """A session; its processes and files are gone when the context ends."""
        session = PythonSession(self.limits, (await self.isolation()).mode, self._starting)
        try:
            yield session
        finally:
            await session.close()


class PythonSession:
    """The interpreter of one rollout."""

    def __init__(self, limits: Limits, mode: Mode, starting: asyncio.Semaphore) -> None:
        self.restarts = 0
        """How often the state was lost."""
        self._limits = limits
        self._mode = mode
        self._starting = starting
        self._jail: Jail | None = None
        self._lock = asyncio.Lock()  # one request is under way in a jail at a time

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """What the code printed and its value, or what was raised, or which limit ended it."""
        async with self._lock:
            try:
                answer = await self._answer(arguments["code"])
            except (Broken, OSError):
                await self._discard()
                answer = Answer(outcome="broken")
            if answer.outcome == "files":
                await self._discard()
        self.restarts += answer.outcome != "done"
        return _result(answer, self._limits)

    async def close(self) -> None:
        """End the interpreter and all it started."""
        async with self._lock:
            await self._discard()

    async def _answer(self, code: str) -> Answer:
        """A call that is cancelled takes its interpreter with it: nobody is left to hear the answer."""
        try:
            if self._jail is None:
                async with self._starting:
                    self._jail = await jailer.start(self._mode, self._limits)
            return await self._jail.run(code, self._limits.wall_s)
        except asyncio.CancelledError:
            await self._discard()
            raise

    async def _discard(self) -> None:
        if (jail := self._jail) is not None:
            self._jail = None
            await jail.close()


def _result(answer: Answer, limits: Limits) -> ToolResult:
    parts = [text.rstrip("\n") for text in (answer.output, answer.value, answer.error)]
    ended = answer.outcome != "done"
    if ended:
        parts.append(f"[{_reason(answer, limits)} The interpreter starts anew: variables and imports are lost.]")
    text = "\n".join(part for part in parts if part) or "(no output)"
    label = answer.outcome if ended else "exception" if answer.error else ""
    return ToolResult(text=whole_characters(text), error=bool(label), label=label)


def _reason(answer: Answer, limits: Limits) -> str:
    match answer.outcome:
        case "wall":
            return f"Stopped: not finished after {limits.wall_s:g} s."
        case "cpu":
            return f"Stopped: more than {limits.cpu_s:g} s of computing."
        case "memory":
            return f"Stopped: more than {limits.memory_mb} MB of memory."
        case "output":
            return f"Stopped: more than {limits.output_mb} MB of output."
        case "processes":
            return f"Stopped: more than {limits.processes} processes."
        case "files":
            return "Stopped: too many files, which are gone now."
        case "died":
            return f"The interpreter ended with {_exit(answer.exit)}."
        case _:
            return "The interpreter broke down."


def _exit(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


TOOL = PythonSandbox
"""Made once per run."""
