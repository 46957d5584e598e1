"""One line of calls.jsonl: a request, and the completion or the error it ended in, as ASCII JSON.

Values for whoever audits a log; for the hot path, a line written and a completion read without them.
`gym.llm.call_facts` relies on the order of the fields.
"""

import json
from json.encoder import encode_basestring_ascii as quoted

from pydantic import Field

from gym.core.chat import Completion, Message, Sampling
from gym.core.value import Value
from gym.llm.asked import Asked


class Request(Value):
    """What was asked."""

    messages: tuple[Message, ...]
    sampling: Sampling


class CallError(Value):
    """Why there is no completion: the class of the error, its message, and the HTTP status where there was one."""

    type: str
    message: str
    status: int | None = None


class Call(Value):
    """One line: a completion, or the error in its place."""

    key: str = Field(pattern="^[0-9a-f]{64}$")
    stage: str
    model: str
    request: Request
    completion: Completion | None = None
    error: CallError | None = None
    at: str
    """When it ended, ISO 8601 in UTC."""


def write_line(asked: Asked, outcome: Completion | CallError, *, stage: str, at: str) -> bytes:
    """The line of a call, with its newline; `json.loads` of it is a `Call`."""
    ended = _json(outcome)
    end = f'{ended},"error":null' if isinstance(outcome, Completion) else f'null,"error":{ended}'
    who = f'"key":"{asked.key}","stage":{quoted(stage)},"model":{quoted(asked.model)}'
    return f'{{{who},"request":{asked.request},"completion":{end},"at":{quoted(at)}}}\n'.encode("ascii")


def _json(outcome: Completion | CallError) -> str:
    """ASCII, lone surrogates included; pydantic is five times as fast where nothing needs escaping."""
    try:
        text = outcome.model_dump_json()
    except ValueError:
        return _JSON.encode(outcome)
    return text if text.isascii() else _JSON.encode(outcome)


def read_call(line: bytes) -> Call | None:
    """The call on a line, or None when it holds none. (`ValidationError` is a `ValueError`.)"""
    try:
        return Call.model_validate(json.loads(line))
    except ValueError:
        return None


def holds(line: bytes, key: str) -> bool:
    """Whether a line is the record of this request. Raises `ValueError` when it cannot be read."""
    return line.startswith(b'{"key":"%s",' % key.encode("ascii")) or _record(line).get("key") == key


def read_completion(line: bytes) -> Completion:
    """The completion on a line that has one. Raises `ValueError` when any part of the line cannot be read."""
    return Completion.model_validate(_record(line).get("completion"))


def _record(line: bytes) -> dict[str, object]:
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("not a record")
    return record


_JSON = json.JSONEncoder(separators=(",", ":"), default=vars)
