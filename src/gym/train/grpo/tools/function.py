"""A function as a tool, for tools of your own that remember nothing."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from gym.train.grpo.tools.base import ToolResult


class FunctionTool:
    """`function(**arguments)`, async or run in a thread; what it returns is the text, a `ToolResult` stays as it is."""

    def __init__(
        self, function: Callable[..., Any], *, name: str, description: str, parameters: Mapping[str, Any]
    ) -> None:
        self.name, self.description, self.parameters = name, description, parameters
        self._function = function

    @asynccontextmanager
    async def open(self) -> AsyncIterator["FunctionTool"]:
        """The tool itself."""
        yield self

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """What the function returns."""
        if inspect.iscoroutinefunction(self._function):
            found = await self._function(**arguments)
        else:
            found = await asyncio.to_thread(self._function, **arguments)
        return found if isinstance(found, ToolResult) else ToolResult(text=str(found))
