"""The base of every value: frozen, strict about unknown fields, the same on disk as in memory."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen pydantic model; equality is by content."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text.

    >>> canonical_json({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, 64 hex digits; lone surrogates are escaped, never an error."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "backslashreplace")).hexdigest()
