"""What a model sends back is read, or honestly not read (FAULTS M1 to M5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.train.grpo.stages.parse import parse_operations

KEEP = {"option": "keep"}
ADD = {"option": "add", "experience": "When lost, look at the map."}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```json\n[]\n```", []),
        ('```\n[{"option":"keep"}]\n```', [KEEP]),
        ('~~~JSON\n[{"option":"keep"}]\n~~~', [KEEP]),
        ('JSON:\n[{"option":"keep"}]\nThat is all.', [KEEP]),
        ('Draft: [{"option":"keep"}]. Final: [{"option":"add","experience":"When lost, look at the map."}]', [ADD]),
        ('{"option":"keep"}', [KEEP]),
        ('{"option":"keep"}\n{"option":"add","experience":"When lost, look at the map."}', [KEEP, ADD]),
        ('1. {"option":"keep"}\n2. {"option":"add","experience":"When lost, look at the map."}', [KEEP, ADD]),
        ('```json\n{"option":"keep"}\n```\n```json\n{"option":"keep"}\n```', [KEEP, KEEP]),
        ('{"operations":[{"option":"keep"}]}', [KEEP]),
        ('{"OPTION":"keep"}', [{"OPTION": "keep"}]),
        ('Per [G17] and [G2]: [{"option":"keep"}]', [KEEP]),
        ('[{"option":"keep"}] as [G17] says', [KEEP]),
        ('<think>[{"option":"add","experience":"no"}]</think>[{"option":"keep"}]', [KEEP]),
        ('[{"option":"add","experience":"When lost,\nlook."}]', [{"option": "add", "experience": "When lost,\nlook."}]),
        ('[{"option": "modify","id":"G1" # id\n,}]', [{"option": "modify", "id": "G1"}]),
        ('[{"option": "keep",}, // last\n]', [KEEP]),
        ("[{'option': 'keep'}]", [KEEP]),
    ],
)
def test_operations_are_found_in_whatever_surrounds_them(text: str, expected: list[dict[str, object]]) -> None:
    assert parse_operations(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json at all",
        "see [G17]",
        '[{"experience":"no option"}]',
        '[{"option":"add","experience":"Check the bou',
        '[{"option":"keep"},{"option":"add","experience":"Check the bou',
        '<think>hm [{"option":"add","experience":"When drafting, this is a draft."}] maybe not, because',
        "[1, 2, 3]",
        '{"answer": 4}',
    ],
)
def test_what_holds_no_whole_list_of_operations_is_not_adopted(text: str) -> None:
    assert parse_operations(text) is None
    assert parse_operations(text, complete=False) is None


def test_a_cut_reply_is_never_repaired_even_when_brackets_happen_to_close() -> None:
    cut = '[{"option":"add","experience":"see [G1] and'
    assert parse_operations(cut, complete=False) is None


@pytest.mark.parametrize("text", ["[" * 50_000, "{" * 50_000, '[{"a":' * 5_000, "\\[" * 50_000])
def test_hostile_nesting_ends_without_an_error(text: str) -> None:
    assert parse_operations(text) is None


@given(st.text())
def test_reading_never_raises(text: str) -> None:
    parse_operations(text)
