"""The OpenAI chat-completion wire format: our request as JSON, their JSON as a `Completion`.

Servers differ in what they leave out, so every field is read for what it is, and what cannot be read is said
(`Completion.note`, `Usage.known`) instead of raised (FAULTS M6, S4). Checked against the official SDK's types in tests.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gym.core.chat import Completion, FinishReason, Message, Sampling, ToolCall, ToolSpec, Usage

FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}


class NotACompletion(ValueError):
    """A body that is no chat completion; the text says what it is instead."""


def request_body(model: str, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
    """The JSON to post. A sampling value that is None is not sent; `sample` never is (FAULTS P9)."""
    thinks = any(message.reasoning for message in messages)
    body: dict[str, Any] = {
        "model": model,
        "messages": [_turn(message, thinks) for message in messages],
        "temperature": sampling.temperature,
        "max_tokens": sampling.max_tokens,
        "seed": sampling.seed,
        "top_p": sampling.top_p,
        "stop": list(sampling.stop) or None,
        "response_format": sampling.json_schema and _response_format(sampling.json_schema),
        "tools": [_function(tool) for tool in sampling.tools] or None,
    }
    return {key: value for key, value in body.items() if value is not None}


def parse_completion(body: object, latency_s: float = 0.0) -> Completion:
    """What the server said; an empty text comes with the reason in `note`. Raises `NotACompletion`."""
    if not isinstance(body, Mapping) or "choices" not in body:
        raise NotACompletion(f"a {type(body).__name__} without 'choices'")
    choice = _first(body["choices"])
    reply = _reply(choice)
    finish = choice.get("finish_reason") if choice else None
    if finish == "insufficient_system_resource":
        raise NotACompletion("an interruption: the server ran out of resources")
    return Completion(
        text=reply.text,
        reasoning=reply.reasoning,
        finish_reason=FINISH_REASONS.get(str(finish), "unknown"),
        usage=parse_usage(body.get("usage")),
        model=_text(body.get("model")),
        system_fingerprint=_text(body.get("system_fingerprint")) or None,
        latency_s=latency_s,
        note=reply.note,
        tool_calls=reply.tool_calls,
    )


def parse_usage(usage: object) -> Usage:
    """Tokens as billed: cached within prompt, reasoning within completion; `known` is False when counts are missing."""
    if not isinstance(usage, Mapping):
        return Usage(known=False)
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    cached = _count(_detail(usage, "prompt_tokens_details", "cached_tokens"))
    cached = _count(usage.get("prompt_cache_hit_tokens")) if cached is None else cached
    reasoning = _count(_detail(usage, "completion_tokens_details", "reasoning_tokens")) or 0
    spoken = completion or 0
    if reasoning and _count(usage.get("total_tokens")) == (prompt or 0) + spoken + reasoning:
        spoken += reasoning  # some servers count reasoning beside the completion, not in it
    return Usage(
        prompt=prompt or 0,
        cached=min(cached or 0, prompt or 0),
        completion=spoken,
        reasoning=min(reasoning, spoken),
        known=prompt is not None and completion is not None,
    )


class _Reply(NamedTuple):
    text: str
    reasoning: str
    note: str
    tool_calls: tuple[ToolCall, ...] = ()


def _reply(choice: Mapping[str, Any] | None) -> _Reply:
    if choice is None:
        return _Reply("", "", "the reply has no choices")
    message = choice.get("message")
    if not isinstance(message, Mapping):
        return _Reply(_text(choice.get("text")), "", "" if choice.get("text") else "the choice has no message")
    text = _text(message.get("content"))
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    return _Reply(text, reasoning, "" if text else _why_empty(message, reasoning), tuple(_calls(message)))


def _calls(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    """The calls that name a function, each with an id of its own; servers leave ids out, repeat them, or send objects."""
    listed = message.get("tool_calls")
    entries = listed if isinstance(listed, list) else [{"function": message.get("function_call")}]
    ids = set[str]()
    for place, entry in enumerate(entries):
        function = entry.get("function") if isinstance(entry, Mapping) else None
        if not isinstance(function, Mapping) or not _text(function.get("name")):
            continue
        given = _text(entry.get("id"))
        name = given if given and given not in ids else f"call_{place}"
        ids.add(name)
        yield ToolCall(id=name, name=_text(function["name"]), arguments=_arguments(function.get("arguments")))


def _arguments(value: object) -> str:
    return value if isinstance(value, str) else json.dumps({} if value is None else value, ensure_ascii=False)


def _why_empty(message: Mapping[str, Any], reasoning: str) -> str:
    if message.get("refusal"):
        return f"the model refused: {_text(message['refusal'])}"
    if message.get("tool_calls"):
        return "the reply is a tool call"
    if reasoning:
        return "all the text is in reasoning_content"
    return "content is null" if message.get("content") is None else "content is empty"


def _first(choices: object) -> Mapping[str, Any] | None:
    if isinstance(choices, Sequence) and choices and isinstance(choices[0], Mapping):
        return choices[0]
    return None


def _text(value: object) -> str:
    """A string as it is; the text parts of a list of parts; else nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, Mapping))
    return ""


def _detail(usage: Mapping[str, Any], group: str, name: str) -> object:
    details = usage.get(group)
    return details.get(name) if isinstance(details, Mapping) else None


def _count(value: object) -> int | None:
    """A token count, also when it came as text; None when it is none."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value >= 0 and value == value and value != float("inf") else None


def _turn(message: Message, thinks: bool) -> dict[str, Any]:
    """`reasoning_content` is no field of the official API: only servers that sent reasoning get it back, and with every
    turn that calls a tool, for DeepSeek refuses a conversation in which one lacks it."""
    turn: dict[str, Any] = {"role": message.role, "content": _well_formed(message.content)}
    if message.tool_call_id:
        turn["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        turn["content"] = turn["content"] or None
        turn["tool_calls"] = [_call(call) for call in message.tool_calls]
        if thinks:
            turn["reasoning_content"] = _well_formed(message.reasoning)
    return turn


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": _well_formed(call.name), "arguments": _well_formed(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _function(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": dict(schema)}}


def _well_formed(text: str) -> str:
    """Lone surrogates as U+FFFD: strict servers refuse a request that holds one (FAULTS M7)."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
