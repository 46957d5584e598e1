"""From the arguments that a model wrote to arguments that fit the tool's schema, or the reason why they do not."""

import json
from collections.abc import Mapping
from typing import Any

from json_repair import repair_json
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from referencing import Registry
from referencing.exceptions import Unresolvable

from gym.core.chat import ToolSpec
from gym.core.text import shown
from gym.errors import ConfigError

MOST_CHARS, MOST_OPENERS = 20_000, 300
"""Of a text that is repaired; JSON as it should be has no such limit."""


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object in `text`, repaired when it is almost one, unwrapped when it is a string that holds one.

    >>> json_object('{"code": "print(1)",}')
    {'code': 'print(1)'}
    >>> json_object("no idea") is None
    True
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, strict=False)
        value = json.loads(value, strict=False) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        value = _repaired(text)
    return value if isinstance(value, dict) else None


class Arguments:
    """Reads the arguments of one tool. Raises `ConfigError` for a tool whose schema is none."""

    def __init__(self, spec: ToolSpec) -> None:
        try:
            Draft202012Validator.check_schema(spec.parameters)
        except SchemaError as error:
            raise ConfigError(f"tool {spec.name!r}: its parameters are no JSON schema: {error.message}") from error
        self._validator = Draft202012Validator(spec.parameters, registry=Registry())  # which fetches nothing

    def read(self, text: str) -> Mapping[str, Any] | str:
        """The arguments, or what is wrong with them, for the model to read."""
        found = json_object(text)
        if found is None:
            return f"the arguments are not a JSON object: {shown(text, 200)}"
        try:
            error = best_match(  # type: ignore[no-untyped-call]
                self._validator.iter_errors(found)
            )
        except Unresolvable as missing:
            return f"the tool's schema refers to {missing.ref!r}, which is not in it"
        if error is None:
            return found
        where = "".join(f"[{part!r}]" for part in error.absolute_path)
        return f"the arguments do not fit the tool's schema: {f'{where}: ' if where else ''}{_brief(error.message)}"


def _brief(message: str) -> str:
    """A validator's sentence, cut where it quotes a long value."""
    return message if len(message) <= 300 else f"{message[:150]} … {message[-140:]}"


def _repaired(text: str) -> object:
    """The repair is quadratic in nested openers, which a looping model writes by the thousand."""
    if len(text) > MOST_CHARS or text.count("{") + text.count("[") > MOST_OPENERS:
        return None
    try:
        return repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
