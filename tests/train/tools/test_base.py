"""A model's arguments are checked, and what does not fit is told to the model."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gym.train.grpo.tools.base import ToolResult, invoke


class Adder:
    """Adds whole numbers and remembers the sum for as long as a session lasts."""

    name = "add"
    description = "Add to the sum."
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"number": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["number"],
        "additionalProperties": False,
    }

    @asynccontextmanager
    async def open(self) -> AsyncIterator["_Sum"]:
        yield _Sum()


class _Sum:
    def __init__(self) -> None:
        self.total = 0

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        self.total += arguments["number"]
        return ToolResult(text=str(self.total))


async def test_state_lasts_within_a_session() -> None:
    tool = Adder()
    async with tool.open() as session:
        assert (await invoke(tool, session, '{"number": 2}')).text == "2"
        assert (await invoke(tool, session, {"number": 3})).text == "5"
    async with tool.open() as session:
        assert (await invoke(tool, session, {"number": 1})).text == "1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "are not JSON"),
        ("{number: 2}", "are not JSON"),
        ("[" * 100_000, "are not JSON"),
        ("9" * 5000, "are not JSON"),
        ("[]", "do not fit: \"[] is not of type 'object'\""),
        ("{}", "'number' is a required property"),
        ('{"number": "2"}', "['number']:"),
        ('{"number": 2, "tags": ["a", 1]}', "['tags'][1]:"),
        ('{"number": 2, "other": 1}', "('other' was unexpected)"),
    ],
)
async def test_arguments_that_do_not_fit_are_told_to_the_model(arguments: str, said: str) -> None:
    tool = Adder()
    async with tool.open() as session:
        result = await invoke(tool, session, arguments)
        assert session.total == 0
    assert (result.error, result.label) == (True, "arguments")
    assert said in result.text
    assert result.text.startswith("The arguments of add ")
    assert '"number": {"type": "integer"}' in result.text


async def test_a_complaint_stays_short_however_long_the_arguments() -> None:
    tool = Adder()
    async with tool.open() as session:
        result = await invoke(tool, session, {"number": "x" * 100_000, "tags": [1] * 1000})
    assert len(result.text) < 2000


async def test_raw_line_breaks_in_a_text_are_forgiven() -> None:
    tool = Adder()
    async with tool.open() as session:
        assert (await invoke(tool, session, '{"number": 1, "tags": ["a\nb"]}')).text == "1"


async def test_references_in_a_schema_are_never_fetched() -> None:
    tool = Adder()
    tool.parameters = {"$ref": "http://127.0.0.1:9/schema"}
    async with tool.open() as session:
        with pytest.raises(Exception, match="Unresolvable"):
            await invoke(tool, session, {"number": 1})
