"""A request as the call log knows it, worked out once a call: its identity, and its text as it stands in the line."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, NamedTuple, Self

from gym.core.chat import Message, Sampling
from gym.core.value import Value


class Asked(NamedTuple):
    """Who is asked what; use `Asked.of`."""

    model: str
    key: str
    """64 hex digits over model, messages and all sampling, `sample` included (FAULTS P9)."""
    request: str
    """Messages and sampling as ASCII JSON."""

    @classmethod
    def of(cls, model: str, messages: Sequence[Message], sampling: Sampling) -> Self:
        """Equal requests give equal keys, whatever the order of a schema's members; others give others.

        The key is `gym.core.value.digest` of the three, written without a detour through pydantic.
        """
        turns, drawn = _turns(messages, encode_basestring), _CANONICAL.encode(vars(sampling))
        text = f"[{encode_basestring(model)},{turns},{drawn}]"
        key = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
        if not text.isascii():
            turns, drawn = _turns(messages, encode_basestring_ascii), _ASCII.encode(vars(sampling))
        return cls(model, key, f'{{"messages":{turns},"sampling":{drawn}}}')


def _turns(messages: Sequence[Message], quoted: Callable[[str], str]) -> str:
    """The messages as canonical JSON; by hand, because prompts are long and their two fields are known."""
    turns = [f'{{"content":{quoted(message.content)},"role":"{message.role}"}}' for message in messages]
    return f"[{','.join(turns)}]"


def _plain(value: Any) -> dict[str, Any]:
    if isinstance(value, Value):
        return vars(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} does not go into JSON")


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_plain)
_ASCII = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_plain)
