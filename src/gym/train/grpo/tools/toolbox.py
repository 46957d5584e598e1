"""The tools of a run, and the desk at which one rollout uses them.

Whatever a model asks for ends in a text for it: an unknown tool, arguments that do not fit, a tool that fails or takes too
long. Only a stop of the run passes through. Outputs are untrusted: they are cut to a length and handed on as data.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from gym.core.chat import ToolCall, ToolSpec
from gym.core.problem import ToolUse
from gym.core.text import cut_middle, shown
from gym.errors import ConfigError, GymError
from gym.train.grpo.tools.arguments import Arguments
from gym.train.grpo.tools.base import Tool, ToolResult, ToolSession

log = logging.getLogger(__name__)

RESULT_CHARS = 8_000
"""Of one output, about 2,000 tokens; what is longer loses its middle."""
CALLS_AT_ONCE = 16
"""Calls of one reply that are run; the others are told to come again."""


class ToolServer(Protocol):
    """Several tools that share one process within a rollout."""

    @property
    def specs(self) -> Sequence[ToolSpec]: ...

    def session(self) -> AbstractAsyncContextManager[Mapping[str, ToolSession]]:
        """Sessions of all its tools, by name."""
        ...


class Alone:
    """A tool as a server of one tool."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self.specs = (tool.spec,)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Mapping[str, ToolSession]]:
        """The tool's session under its name."""
        async with self._tool.session() as session:
            yield {self._tool.spec.name: session}


class Toolbox:
    """The tools of a run. Raises `ConfigError` when two have one name or a schema is none."""

    def __init__(self, servers: Sequence[ToolServer], *, timeout_s: float = 30.0) -> None:
        self._servers, self._timeout_s = tuple(servers), timeout_s
        self.specs = tuple(spec for server in servers for spec in server.specs)
        """In the order of the configuration."""
        names = [spec.name for spec in self.specs]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ConfigError(f"two tools are called {', '.join(sorted(twice))}")
        self._arguments = {spec.name: Arguments(spec) for spec in self.specs}

    @asynccontextmanager
    async def desk(self) -> AsyncIterator["Desk"]:
        """The tools for one rollout, with nothing of any other in them."""
        async with AsyncExitStack() as stack:
            sessions: dict[str, ToolSession] = {}
            for server in self._servers:
                sessions |= await stack.enter_async_context(server.session())
            yield Desk(sessions, self._arguments, self._timeout_s)


class Desk:
    """Runs the calls of one rollout and counts them."""

    def __init__(
        self, sessions: Mapping[str, ToolSession], arguments: Mapping[str, Arguments], timeout_s: float
    ) -> None:
        self.used: dict[str, ToolUse] = {}
        self._sessions, self._arguments, self._timeout_s = sessions, arguments, timeout_s

    async def run(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """The results of one reply's calls, in order; they run at the same time."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._run(call, place)) for place, call in enumerate(calls)]
        except* GymError as stopped:
            raise _first(stopped) from None
        return [task.result() for task in tasks]

    async def _run(self, call: ToolCall, place: int) -> ToolResult:
        result = (
            await self._result(call) if place < CALLS_AT_ONCE else _failed("too many calls at once: repeat this one")
        )
        text = cut_middle(result.text.strip(), RESULT_CHARS) or "(no output)"
        self._count(call.name, result.failed)
        return ToolResult(text=text, failed=result.failed)

    async def _result(self, call: ToolCall) -> ToolResult:
        if not call.name:
            return _failed('the call could not be read: it must be one JSON object with "name" and "arguments"')
        if call.name not in self._sessions:
            return _failed(f"there is no tool {shown(call.name)}; there is: {', '.join(self._sessions)}")
        arguments = self._arguments[call.name].read(call.arguments)
        if isinstance(arguments, str):
            return _failed(arguments)
        return await self._call(call.name, arguments)

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._sessions[name].call(arguments)
        except TimeoutError:
            return _failed(f"the tool gave no result within {self._timeout_s:g} s")
        except GymError:
            raise
        except Exception as error:  # a tool is anybody's code, and one that breaks must not cost the run
            log.warning("tool %r broke: %r", name, error)
            return _failed(f"the tool broke: {type(error).__name__}: {error}")

    def _count(self, name: str, failed: bool) -> None:
        name = name[:64] or "(unreadable)"
        self.used[name] = self.used.get(name, ToolUse()) + ToolUse(calls=1, errors=int(failed))


def _failed(reason: str) -> ToolResult:
    return ToolResult(text=f"Error: {reason}", failed=True)


def _first(errors: BaseExceptionGroup[GymError]) -> GymError:
    found = errors.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found
