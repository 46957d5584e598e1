"""The tools of a run, and the desk at which one rollout uses them.

Whatever a model asks for ends in a text for it: an unknown tool, arguments that do not fit, a tool that fails or takes too
long. Only a stop of the run passes through. Outputs are untrusted: they are cut to a length and handed on as data.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Protocol

from gym.core.chat import ToolCall, ToolSpec
from gym.core.problem import ToolUse
from gym.core.text import cut_middle, normalise_text, shown
from gym.errors import ConfigError, GymError
from gym.train.grpo.tools.arguments import json_object
from gym.train.grpo.tools.base import Tool, ToolResult, ToolSession, invoke

log = logging.getLogger(__name__)

RESULT_CHARS = 16_000
"""Of one output, about 4,000 tokens; what is longer loses its middle."""
CALLS_AT_ONCE = 16
"""Calls of one reply that are run; the others are told to come again."""

MADE_UP = 8
"""Tools that are not there which a rollout's counts name; models that loop make up hundreds."""
_CONTROL = re.compile(
    r"([<\[])(?=[|｜][\w▁]{1,40}[|｜]>|/?s>|(?:start|end)_of_turn>|/?(?:tool_(?:call|output|response)|think)>|/?INST\])"
)
"""Where a chat template's mark begins: a server may read it as one wherever it stands."""


class ToolServer(Protocol):
    """Tools that share what is behind them within a rollout."""

    @property
    def tools(self) -> Sequence[Tool]: ...

    @property
    def keeps_time(self) -> bool:
        """Whether its calls end by themselves: they wait in turn for something, which is nobody's slowness."""
        ...

    def open(self) -> AbstractAsyncContextManager[Mapping[str, ToolSession]]:
        """Sessions of all its tools, by name."""
        ...


class Alone:
    """A tool as a server of one tool."""

    keeps_time = False

    def __init__(self, tool: Tool) -> None:
        self.tools = (tool,)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Mapping[str, ToolSession]]:
        """The tool's session under its name."""
        async with self.tools[0].open() as session:
            yield {self.tools[0].name: session}


class Toolbox:
    """The tools of a run. Raises `ConfigError` when two have one name."""

    def __init__(self, servers: Sequence[ToolServer], *, timeout_s: float = 90.0) -> None:
        self._servers = tuple(servers)
        self._limits = {
            tool.name: None if server.keeps_time else timeout_s for server in servers for tool in server.tools
        }
        tools = [tool for server in servers for tool in server.tools]
        self._tools = {tool.name: tool for tool in tools}
        if len(self._tools) < len(tools):
            names = [tool.name for tool in tools]
            raise ConfigError(f"two tools are called {next(name for name in names if names.count(name) > 1)!r}")
        self.specs = tuple(
            ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters) for tool in tools
        )
        """In the order of the configuration."""

    @asynccontextmanager
    async def desk(self) -> AsyncIterator["Desk"]:
        """The tools for one rollout, with nothing of any other in them."""
        async with AsyncExitStack() as stack:
            sessions: dict[str, ToolSession] = {}
            for server in self._servers:
                sessions |= await stack.enter_async_context(server.open())
            yield Desk(self._tools, sessions, self._limits)


class Desk:
    """Runs the calls of one rollout and counts them."""

    def __init__(
        self, tools: Mapping[str, Tool], sessions: Mapping[str, ToolSession], limits: Mapping[str, float | None]
    ) -> None:
        self.used: dict[str, ToolUse] = {}
        self._tools, self._sessions, self._limits = tools, sessions, limits

    async def run(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """The results of one reply's calls, in order; they run at the same time."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._run(call, place)) for place, call in enumerate(calls)]
        except ExceptionGroup as stopped:  # `except*` would wrap what is raised in it, on some versions of Python
            raise stopped.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _run(self, call: ToolCall, place: int) -> ToolResult:
        result = (
            await self._result(call)
            if place < CALLS_AT_ONCE
            else _error("Too many calls at once: repeat this one.", "too many")
        )
        text = _CONTROL.sub(r"\1 ", cut_middle(result.text.strip(), RESULT_CHARS)) or "(no output)"
        self._count(call.name, result)
        return result.model_copy(update={"text": text})

    async def _result(self, call: ToolCall) -> ToolResult:
        if not call.name:
            return _error(
                'The call cannot be read: it must be one JSON object with "name" and "arguments".', "unreadable"
            )
        if call.name not in self._tools:
            return _error(f"There is no tool {shown(call.name)}. There is: {', '.join(self._tools)}.", "unknown")
        limit = self._limits[call.name]
        try:
            async with asyncio.timeout(limit):
                return await self._invoke(call)
        except TimeoutError:
            within = "" if limit is None else f" within {limit:g} s"
            return _error(f"The tool gave no result{within}.", "timeout")
        except GymError:
            raise
        except (Exception, SystemExit) as error:  # a tool is anybody's code, and one that breaks must not cost the run
            log.warning("tool %r broke: %r", call.name, error)
            return _error(f"The tool broke: {type(error).__name__}: {error}", "broken")

    async def _invoke(self, call: ToolCall) -> ToolResult:
        arguments = json_object(call.arguments)
        return await invoke(
            self._tools[call.name], self._sessions[call.name], call.arguments if arguments is None else arguments
        )

    def _count(self, name: str, result: ToolResult) -> None:
        name = self._counted_as(name)
        labels = {result.label: 1} if result.error and result.label else {}
        self.used[name] = self.used.get(name, ToolUse()) + ToolUse(
            calls=1, errors=int(result.error), labels=labels, visits=result.visits
        )

    def _counted_as(self, name: str) -> str:
        if name in self._tools:
            return name
        made_up = normalise_text(name)[:64] or "(unreadable)"
        known = made_up in self.used or len(self.used.keys() - self._tools.keys()) < MADE_UP
        return made_up if known else "(others)"


def _error(text: str, label: str) -> ToolResult:
    return ToolResult(text=text, error=True, label=label)
