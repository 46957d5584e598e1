"""What a tool is. One object serves a whole run; what it remembers, it remembers for one rollout at a time."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from gym.core.chat import ToolSpec
from gym.core.value import Value


class ToolResult(Value):
    """What the model is told of its call."""

    text: str
    failed: bool = False
    """Whether the text says why nothing came of it; counted, and for the model to make good."""


class ToolSession(Protocol):
    """A tool within one rollout."""

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """The result for arguments that fit the tool's schema; what the model got wrong is a failed result, no exception."""
        ...


class Tool(Protocol):
    """A tool, shared by all rollouts of a run."""

    @property
    def spec(self) -> ToolSpec:
        """What the model is told."""
        ...

    def session(self) -> AbstractAsyncContextManager[ToolSession]:
        """A fresh session; nothing passes from one to another."""
        ...
