"""Requests and their keys: equal ↔ equal, for every text."""

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.core.chat import Message, Sampling, ToolCall, ToolSpec
from gym.core.value import digest
from gym.llm.asked import Asked
from gym.llm.call_line import Request

texts = st.text(st.characters(codec=None), max_size=20) | st.sampled_from(
    ["\ud83c\udf89", "🎉", "\ud83c", "\\ud83c", '"', "\\", "\x7f\0"]
)
schemas = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
messages = st.lists(
    st.builds(Message, role=st.sampled_from(["system", "user", "assistant", "tool"]), content=texts), max_size=3
)
samplings = st.builds(
    Sampling,
    temperature=st.none() | st.sampled_from([0.0, 0.1, 0.7, 1.0, 1e-9]),
    max_tokens=st.none() | st.integers(1, 3),
    seed=st.none() | st.integers(),
    top_p=st.none() | st.just(0.5),
    stop=st.lists(texts, max_size=2).map(tuple),
    json_schema=st.none() | st.dictionaries(texts, schemas, max_size=3),
    sample=st.integers(0, 3),
)


@given(model=texts, said=messages, drawn=samplings)
def test_the_key_is_the_digest_of_model_messages_and_all_sampling(
    model: str, said: list[Message], drawn: Sampling
) -> None:
    known = digest([model, [message.model_dump() for message in said], drawn.model_dump()])
    assert Asked.of(model, said, drawn).key == known


@given(model=texts, said=messages, drawn=samplings)
def test_the_request_is_ascii_and_reads_back_as_what_was_asked(
    model: str, said: list[Message], drawn: Sampling
) -> None:
    text = Asked.of(model, said, drawn).request
    assert text.isascii()
    plain = {"messages": [message.model_dump() for message in said], "sampling": drawn.model_dump()}
    assert json.loads(text) == json.loads(json.dumps(plain))


@given(said=st.tuples(messages, messages), drawn=st.tuples(samplings, samplings))
def test_different_requests_have_different_keys(
    said: tuple[list[Message], list[Message]], drawn: tuple[Sampling, Sampling]
) -> None:
    keys = [Asked.of("m", *each).key for each in zip(said, drawn, strict=True)]
    same = json.dumps(drawn[0].model_dump(), sort_keys=True) == json.dumps(drawn[1].model_dump(), sort_keys=True)
    assert (keys[0] == keys[1]) == (said[0] == said[1] and same)


@pytest.mark.parametrize("pair", [("🎉", "\ud83c\udf89"), ("\ud83c", "\\ud83c"), ("é", "\\u00e9"), ("é", "e\u0301")])
def test_texts_that_only_look_alike_are_different_requests(pair: tuple[str, str]) -> None:
    one, other = (Asked.of("m", (Message(role="user", content=text),), Sampling()) for text in pair)
    assert one.key != other.key


def test_the_order_and_the_kind_of_a_schemas_mapping_do_not_matter() -> None:
    inner: dict[str, Any] = {"type": "object", "required": ["a"]}
    shapes = (
        {"a": inner, "b": 1},
        {"b": 1, "a": dict(reversed(inner.items()))},
        MappingProxyType({"b": 1, "a": MappingProxyType(inner)}),
    )
    assert len({Asked.of("m", (), Sampling(json_schema=shape)).key for shape in shapes}) == 1


def test_every_field_of_a_message_is_in_the_key() -> None:
    """`asked` writes two fields by hand; whoever adds one has to add it there, and here."""
    plain = Message(role="user", content="?")
    changed: list[Message] = [
        Message(role="assistant", content="?"), Message(role="user", content="!"),
        plain.model_copy(update={"tool_calls": (ToolCall(id="a", name="add", arguments="{}"),)}),
        plain.model_copy(update={"tool_call_id": "a"}), plain.model_copy(update={"reasoning": "hm"}),
    ]  # fmt: skip
    assert len(changed) == len(Message.model_fields)
    assert len({Asked.of("m", (message,), Sampling()).key for message in (plain, *changed)}) == 6


def test_requests_with_tools_are_read_back_as_they_were_asked() -> None:
    call = ToolCall(id="a", name="add", arguments='{"text": "é"}')
    turns = (
        Message(role="user", content="é"), Message(role="assistant", content="", tool_calls=(call,), reasoning="hm"),
        Message(role="tool", content="4", tool_call_id="a"),
    )  # fmt: skip
    sampling = Sampling(tools=(ToolSpec(name="add", description="é", parameters={"type": "object"}),))
    asked = Asked.of("m", turns, sampling)
    assert asked.request.isascii()
    assert Request.model_validate_json(asked.request) == Request(messages=turns, sampling=sampling)
