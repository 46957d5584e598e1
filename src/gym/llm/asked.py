"""A request as the call log knows it, worked out once a call: its identity, and its text as it stands in the line."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, NamedTuple, Self

from gym.core.chat import OMITTED_WHEN_EMPTY, Message, Sampling
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
        turns, drawn = _turns(messages, encode_basestring, _CANONICAL), _drawn(sampling)
        text = f"[{encode_basestring(model)},{turns},{drawn}]"
        key = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
        if not text.isascii():
            turns, drawn = _turns(messages, encode_basestring_ascii, _ASCII), _ASCII.encode(_plain(sampling))
        return cls(model, key, f'{{"messages":{turns},"sampling":{drawn}}}')


def _turns(messages: Sequence[Message], quoted: Callable[[str], str], encoder: json.JSONEncoder) -> str:
    """The messages as canonical JSON; by hand where there are no tools, because prompts are long and have two fields."""
    turns = [
        encoder.encode(_plain(message))
        if message.tool_calls or message.tool_call_id or message.reasoning
        else f'{{"content":{quoted(message.content)},"role":"{message.role}"}}'
        for message in messages
    ]
    return f"[{','.join(turns)}]"


def _drawn(sampling: Sampling) -> str:
    """The sampling as canonical JSON; by hand while it holds numbers only."""
    if sampling.json_schema is not None or sampling.stop or sampling.tools:
        return _CANONICAL.encode(_plain(sampling))
    return (
        f'{{"json_schema":null,"max_tokens":{_number(sampling.max_tokens)},"sample":{sampling.sample},'
        f'"seed":{_number(sampling.seed)},"stop":[],"temperature":{_number(sampling.temperature)},'
        f'"top_p":{_number(sampling.top_p)}}}'
    )


def _number(value: float | None) -> str:
    return "null" if value is None else repr(value) if math.isfinite(value) else _CANONICAL.encode(value)


def _plain(value: Any) -> dict[str, Any]:
    if isinstance(value, Value):
        return {name: part for name, part in vars(value).items() if part or name not in OMITTED_WHEN_EMPTY}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} does not go into JSON")


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_plain)
_ASCII = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_plain)
