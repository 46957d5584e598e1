"""What an agent's loop needs of a tool: a name, a schema, and sessions whose state lasts as long as one rollout.

Arguments come from a model, so they are text that may be anything: what does not fit is told to the model, not raised.
"""

import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from referencing import Registry

from gym.core.text import shown
from gym.core.value import Value


class ToolResult(Value):
    """What the model is told."""

    text: str
    error: bool = False
    """The call did not do what was asked."""
    label: str = ""
    """One word for counting why, such as "arguments" or "wall"; empty for an ordinary result."""
    visits: int = 0
    """Pages that were fetched for it."""


class ToolSession(Protocol):
    """A tool during one rollout: later calls may build on earlier ones; one call at a time."""

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """The result of arguments that fit the schema; raises only what the host is to blame for."""


class Tool(Protocol):
    """What a model is offered."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """A JSON schema of an object."""

    def open(self) -> AbstractAsyncContextManager[ToolSession]:
        """A session; nothing of it is left when the context ends."""


async def invoke(tool: Tool, session: ToolSession, arguments: str | Mapping[str, Any]) -> ToolResult:
    """Call with what a model sent: JSON text or a parsed object."""
    try:
        given = json.loads(arguments, strict=False) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError) as error:
        return _refusal(tool, f"are not JSON: {error}")
    try:
        complaints = [_complaint(error) for error in _validator(tool.parameters).iter_errors(given)]
    except RecursionError:
        return _refusal(tool, "are nested too deeply")
    if complaints:
        return _refusal(tool, "do not fit: " + "; ".join(sorted(complaints)[:5]))
    return await session.call(given)


def _validator(schema: Mapping[str, Any]) -> Any:
    """With an empty registry, so that a schema from elsewhere cannot have its references fetched."""
    return Draft202012Validator(schema, registry=Registry())


def _complaint(error: Any) -> str:
    place = "".join(f"[{part!r}]" for part in error.absolute_path)
    return f"{place}: {shown(error.message, 200)}" if place else shown(error.message, 200)


def _refusal(tool: Tool, why: str) -> ToolResult:
    wanted = json.dumps(tool.parameters.get("properties", {}))
    return ToolResult(
        text=f"The arguments of {tool.name} {why}. Expected an object with {wanted}.", error=True, label="arguments"
    )
