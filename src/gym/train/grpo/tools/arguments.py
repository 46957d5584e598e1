"""The JSON object that a model meant by a call's arguments."""

import json
from typing import Any

from json_repair import repair_json

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


def _repaired(text: str) -> object:
    """The repair is quadratic in nested openers, which a looping model writes by the thousand."""
    if len(text) > MOST_CHARS or text.count("{") + text.count("[") > MOST_OPENERS:
        return None
    try:
        return repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
