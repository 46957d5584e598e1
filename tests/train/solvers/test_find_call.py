"""Every form in which a model writes a call into its text, and those that are none."""

import json

import pytest

from gym.core.chat import ToolSpec
from gym.train.grpo.solvers.find_call import find_call

CODE = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
SPECS = (
    ToolSpec(name="python", description="runs", parameters=CODE),
    ToolSpec(name="add", description="adds", parameters={"type": "object"}),
)
ADD = '{"name": "add", "arguments": {"a": 1}}'
A = ("add", {"a": 1})
FIX = "```tool_call\n" + ADD + "\n```"


def found(text: str) -> tuple[str, object] | None:
    call = find_call(text, SPECS)
    return None if call is None else (call.call.name, json.loads(call.call.arguments))


@pytest.mark.parametrize(
    "text",
    [
        FIX,
        f"First I add.\n{FIX}\n",
        f"~~~tool_call\n{ADD}\n~~~",
        f"```TOOL_CALL\n{ADD}\n```",
        f"```json\n{ADD}\n```",
        f"```\n{ADD}\n```",
        f"<tool_call>\n{ADD}\n</tool_call>",
        f"<tool_call>{ADD}",
        f"```tool_call\n{ADD}",
        f"I add now:\n{ADD}",
        '```tool_call\n{"name": "add", "arguments": {"a": 1,},}\n```',
        '```tool_call\n{"name": "add", "arguments": "{\\"a\\": 1}"}\n```',
        '```tool_call\n{"name": "add", "parameters": {"a": 1}}\n```',
        '```tool_call\n{"name": "add", "a": 1}\n```',
        '{\n  "name": "add",\n  "arguments":\n  {\n    "a": 1\n  }\n}',
        f"<think>{ADD.replace('1', '2')}</think>{FIX}",
        f"{FIX.replace('1', '2')}\nno, rather\n{FIX}",
        f"```python\nprint(1)\n```\n{FIX}",
        f"{FIX}\nThe output is 7, so the answer is 7.",
    ],
)
def test_a_call_is_found_in_whatever_form(text: str) -> None:
    assert found(text) == A


@pytest.mark.parametrize(
    "text",
    [
        "The answer is 4.",
        "",
        f"<think>{FIX}",
        f"{FIX}<think>or not",
        f"<think>{FIX}</think>The answer is 4.",
        "```python\nprint(1)",
        "```c\nint main;\n```",
        '```json\n{"answer": 4}\n```',
        '```json\n{"name": "Ada", "age": 36}\n```',
        '{"name": "add"}',
        '```tool_call\n{"name": "add", "arguments": {"a": ',
        '<tool_call>{"name": "ad',
        f"The format is {ADD}, they say.",
    ],
)
def test_what_is_no_whole_call_is_an_answer(text: str) -> None:
    assert found(text) is None


def test_a_last_block_of_python_calls_the_python_tool_where_there_is_one() -> None:
    text = "I compute.\n```python\nprint(6 * 7)\n```\n"
    assert found(text) == ("python", {"code": "print(6 * 7)\n"})
    assert find_call(text, SPECS[1:]) is None


def test_python_with_an_answer_behind_it_is_a_call_unless_it_was_run_before() -> None:
    text = "```python\nprint(6 * 7)\n```\nSo the answer is 41."
    call = find_call(text, SPECS)
    assert call is not None
    assert text[: call.end].endswith("```")
    assert find_call(text, SPECS, {"print(6 * 7)"}) is None
    assert find_call(text.removesuffix("So the answer is 41."), SPECS, {"print(6 * 7)"}) is not None


def test_code_may_hold_raw_line_breaks_inside_its_json() -> None:
    text = '```tool_call\n{"name": "python", "arguments": {"code": "a = 1\nprint(a)"}}\n```'
    assert found(text) == ("python", {"code": "a = 1\nprint(a)"})


def test_a_block_that_is_surely_meant_as_a_call_but_unreadable_is_a_call_without_a_name() -> None:
    assert found("```tool_call\nadd 1 and 2\n```") == ("", {})


@pytest.mark.parametrize(
    "text", ["```a\n" * 20_000, "{" * 40_000, "\n{" * 20_000, "<tool_call>" * 9_000, "```\n" * 30_001]
)
def test_a_looping_models_text_is_read_in_linear_time(text: str) -> None:
    assert find_call(text, SPECS) is None or found(text) == ("", {})
