"""What a user named as a tool, looked at before a run spends anything: a model is told of it word for word."""

import re
from typing import Any

from jsonschema import Draft202012Validator, SchemaError  # type: ignore[import-untyped]

from gym.errors import ConfigError
from gym.train.grpo.tools.base import Tool

PARTS = ("name", "description", "parameters", "open")


def tool_of(where: str, found: Any) -> Tool:
    """The tool found at `where`; of a class, one instance for the run. Raises `ConfigError` that says what it lacks."""
    tool = _made(where, found) if isinstance(found, type) else found
    if lacking := [part for part in PARTS if not hasattr(tool, part)]:
        raise ConfigError(f"tool {where!r} is no tool: {tool!r:.80} has no {', '.join(lacking)}")
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", str(tool.name)):
        raise ConfigError(f"tool {where!r}: its name is {tool.name!r}: up to 64 letters, digits, _ and -")
    try:
        Draft202012Validator.check_schema(dict(tool.parameters))
    except (SchemaError, TypeError, ValueError) as error:
        why = getattr(error, "message", error)
        raise ConfigError(f"tool {where!r}: its parameters are no JSON schema: {why}") from error
    return tool  # type: ignore[no-any-return]


def _made(where: str, found: type) -> Any:
    try:
        return found()
    except TypeError as error:
        raise ConfigError(f"tool {where!r} is no tool: {found.__name__}() cannot be made: {error}") from error
