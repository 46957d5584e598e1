"""The wire format, checked against the official SDK's own types, and every oddity that servers send."""

from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam, ChatCompletionToolParam
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter

from gym.core.chat import Completion, Message, Sampling, ToolCall, ToolSpec, Usage
from gym.llm.scripted_server import completion_body
from gym.llm.wire import NotACompletion, parse_completion, parse_usage, request_body

SPEC = ToolSpec(name="add", description="Adds.", parameters={"type": "object", "properties": {"a": {"type": "number"}}})
CALL = ToolCall(id="call_7", name="add", arguments='{"a": 1}')


def reply(message: dict[str, Any] | None, finish: str | None = "stop") -> Completion:
    return parse_completion({"choices": [{"message": message, "finish_reason": finish}]})


def test_what_the_official_types_write_is_read_to_the_last_field() -> None:
    official = ChatCompletion.model_validate(
        completion_body(
            "4",
            system_fingerprint="fp",
            usage={
                "prompt_tokens": 1000,
                "completion_tokens": 500,
                "total_tokens": 1500,
                "prompt_tokens_details": {"cached_tokens": 900},
                "completion_tokens_details": {"reasoning_tokens": 400},
            },
        )
    )
    assert parse_completion(official.model_dump(), latency_s=0.5) == Completion(
        text="4",
        usage=Usage(prompt=1000, cached=900, completion=500, reasoning=400),
        model="scripted-model",
        system_fingerprint="fp",
        latency_s=0.5,
    )


def test_our_request_uses_only_parameters_of_the_official_client() -> None:
    sampling = Sampling(
        temperature=0, max_tokens=1, seed=1, top_p=1, stop=("x",), json_schema={"type": "object"}, sample=4
    )
    body = request_body("m", [Message(role="user", content="?")], sampling)
    assert body.keys() <= CompletionCreateParamsNonStreaming.__annotations__.keys() | {"messages", "model"} | set(
        CompletionCreateParamsNonStreaming.__mro__[0].__annotations__
    )
    assert "sample" not in body


@pytest.mark.parametrize(
    ("message", "note"),
    [
        ({"content": None}, "content is null"),
        ({"content": ""}, "content is empty"),
        ({"content": None, "reasoning_content": "so 4"}, "all the text is in reasoning_content"),
        ({"content": "", "reasoning": "so 4"}, "all the text is in reasoning_content"),
        ({"content": None, "refusal": "I cannot"}, "the model refused: I cannot"),
        ({"content": None, "tool_calls": [{}]}, "the reply is a tool call"),
        (None, "the choice has no message"),
    ],
)
def test_an_empty_reply_says_why_and_keeps_the_reasoning(message: dict[str, Any] | None, note: str) -> None:
    completion = reply(message)
    assert (completion.text, completion.note) == ("", note)
    assert completion.reasoning == ("so 4" if message and "so 4" in message.values() else "")


@pytest.mark.parametrize("choices", [[], None])
def test_no_choices_is_an_empty_reply(choices: object) -> None:
    completion = parse_completion({"choices": choices})
    assert (completion.text, completion.note) == ("", "the reply has no choices")
    assert completion.finish_reason == "unknown"


def test_reasoning_beside_a_text_is_kept_apart() -> None:
    completion = reply({"content": "4", "reasoning_content": "2 and 2"})
    assert (completion.text, completion.reasoning, completion.note) == ("4", "2 and 2", "")


def test_content_in_parts_is_joined() -> None:
    assert reply({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}).text == "ab"


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "content_filter"),
        ("function_call", "tool_calls"),
        ("eos", "stop"),
        (None, "unknown"),
        ("strange", "unknown"),
    ],
)
def test_finish_reasons_are_mapped(sent: str | None, read: str) -> None:
    assert reply({"content": "4"}, sent).finish_reason == read


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        (None, Usage(known=False)),
        ("12", Usage(known=False)),
        ({}, Usage(known=False)),
        ({"prompt_tokens": "12", "completion_tokens": "3"}, Usage(prompt=12, completion=3)),
        ({"prompt_tokens": 12, "completion_tokens": None}, Usage(prompt=12, known=False)),
        ({"prompt_tokens": True, "completion_tokens": 3}, Usage(completion=3, known=False)),
        ({"prompt_tokens": -1, "completion_tokens": float("nan")}, Usage(known=False)),
        (
            {
                "prompt_tokens": 12,
                "completion_tokens": 3,
                "prompt_tokens_details": None,
                "completion_tokens_details": None,
            },
            Usage(prompt=12, completion=3),
        ),
        (
            {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": None}},
            Usage(prompt=12, completion=3),
        ),
        (
            {"prompt_tokens": 12, "completion_tokens": 3, "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 4},
            Usage(prompt=12, cached=8, completion=3),
        ),
        (
            {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 99}},
            Usage(prompt=12, cached=12, completion=3),
        ),
        (
            {
                "prompt_tokens": 12,
                "completion_tokens": 3,
                "total_tokens": 22,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            Usage(prompt=12, completion=10, reasoning=7),
        ),
    ],
)
def test_odd_usage_is_counted_or_said_to_be_unknown(usage: object, read: Usage) -> None:
    assert parse_usage(usage) == read


@pytest.mark.parametrize("body", [None, [], "text", {"object": "x"}])
def test_a_body_that_is_no_completion_is_refused(body: object) -> None:
    with pytest.raises(NotACompletion):
        parse_completion(body)


def test_an_interrupted_server_is_no_answer() -> None:
    with pytest.raises(NotACompletion, match="ran out of resources"):
        reply({"content": "4"}, "insufficient_system_resource")


def test_calls_and_results_are_sent_as_the_official_types_want_them() -> None:
    turns = [
        Message(role="user", content="1 + 1?"),
        Message(role="assistant", content="", tool_calls=(CALL,)),
        Message(role="tool", content="2", tool_call_id="call_7"),
    ]
    body = request_body("m", turns, Sampling(tools=(SPEC,)))
    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(body["messages"])
    TypeAdapter(list[ChatCompletionToolParam]).validate_python(body["tools"])
    function = {"name": "add", "arguments": '{"a": 1}'}
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_7", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "2", "tool_call_id": "call_7"},
    ]
    spec = {"name": "add", "description": "Adds.", "parameters": SPEC.parameters}
    assert body["tools"] == [{"type": "function", "function": spec}]


def test_without_tools_a_request_says_nothing_of_them() -> None:
    body = request_body("m", [Message(role="user", content="?"), Message(role="assistant", content="")], Sampling())
    assert body == {"model": "m", "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": ""}]}


def test_reasoning_goes_back_with_every_turn_that_calls_a_tool_once_the_server_sent_any() -> None:
    first = Message(role="assistant", content="", tool_calls=(CALL,), reasoning="let me add")
    second = Message(role="assistant", content="", tool_calls=(CALL,))
    sent = request_body("m", [first, second, Message(role="assistant", content="2")], Sampling())["messages"]
    assert [turn.get("reasoning_content") for turn in sent] == ["let me add", "", None]
    assert "reasoning_content" not in request_body("m", [second], Sampling())["messages"][0]


def test_official_tool_calls_are_read() -> None:
    calls = [{"id": "call_7", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    choice = {"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": message}
    official = ChatCompletion.model_validate(completion_body(None, choices=[choice]))
    found = parse_completion(official.model_dump())
    assert (found.tool_calls, found.finish_reason, found.text) == ((CALL,), "tool_calls", "")


@pytest.mark.parametrize(
    ("message", "read"),
    [
        ({"tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}, [("call_0", "f", '{"a": 1}')]),
        ({"tool_calls": [{"id": None, "function": {"name": "f"}}]}, [("call_0", "f", "{}")]),
        (
            {"tool_calls": [{"id": "x", "function": {"name": "f"}}, {"id": "x", "function": {"name": "g"}}]},
            [("x", "f", "{}"), ("call_1", "g", "{}")],
        ),
        ({"function_call": {"name": "f", "arguments": "{"}}, [("call_0", "f", "{")]),
        ({"tool_calls": [{}, None, {"function": {"name": ""}}, {"function": "f"}]}, []),
        ({"tool_calls": None}, []),
        ({"tool_calls": "f"}, []),
    ],
)
def test_odd_tool_calls_are_read_for_what_they_are(message: dict[str, Any], read: list[tuple[str, str, str]]) -> None:
    found = reply({"content": "", **message}).tool_calls
    assert [(call.id, call.name, call.arguments) for call in found] == read
