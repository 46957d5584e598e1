"""Operations in every spelling that models use (SPEC 2.4, FAULTS M9, M10, M11)."""

from typing import Any

import pytest

from gym.core.experience import (
    Add,
    Delete,
    Evidence,
    Keep,
    Merge,
    Modify,
    Operation,
    Rejected,
    parse_ids,
    parse_operation,
)

T = "When x, do y."


@pytest.mark.parametrize(
    ("raw", "operation"),
    [
        ({"option": "add", "experience": T}, Add(experience=T)),
        ({"OPTION": " Add ", "Experience": T}, Add(experience=T)),
        ({"option": "modify", "id": "G1", "experience": T}, Modify(id="G1", experience=T)),
        ({"option": "UPDATE", "modified_from": "G1", "experience": T}, Modify(id="G1", experience=T)),
        ({"option": "modify", "old_id": "g1", "new_text": T}, Modify(id="G1", experience=T)),
        ({"option": "modify", "experience_id": "[G1].", "new_experience": T}, Modify(id="G1", experience=T)),
        ({"option": "modify", "id": 1, "experience": T}, Modify(id="G1", experience=T)),
        ({"option": "modify", "id": None, "experience": T}, Modify(id="", experience=T)),
        ({"option": "modify", "id": "the first", "experience": T}, Modify(id="the first", experience=T)),
        ({"option": "delete", "delete_id": "G1."}, Delete(id="G1")),
        ({"option": "delete", "exp_id": "C0"}, Delete(id="C0")),
        ({"option": "delete", "experience_id": "[g01]"}, Delete(id="G1")),
        ({"option": "delete", "ids": ["G1"]}, Delete(id="G1")),
        ({"option": "DELETE", "id": "G2", "experience": None}, Delete(id="G2")),
        ({"option": "merge", "ids": ["G0", "[g1]."], "experience": T}, Merge(ids=("G0", "G1"), experience=T)),
        ({"option": "merge", "merged_from": "G0, G1", "experience": T}, Merge(ids=("G0", "G1"), experience=T)),
        ({"option": "merge", "exp_ids": ["G0", "C1"], "experience": T}, Merge(ids=("G0", "C1"), experience=T)),
        ({"option": "merge", "experience_ids": "G0 G1 G0", "experience": T}, Merge(ids=("G0", "G1"), experience=T)),
        ({"option": "keep"}, Keep()),
        ({"option": "None", "id": "G1"}, Keep(id="G1")),
        ({"option": "add", "experience": "[G3]. When x,\ndo y."}, Add(experience=T)),
    ],
)
def test_every_alias_is_read(raw: dict[str, Any], operation: Operation) -> None:
    assert parse_operation(raw) == operation


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"option": "merge", "ids": ["G0", "G1"]}, "merge without a text"),
        ({"option": "merge", "ids": ["G0", "G0"], "experience": T}, "at least two ids, found G0"),
        ({"option": "merge", "experience": T}, "at least two ids, found none"),
        ({"option": "delete"}, "delete needs one id, found none"),
        ({"option": "delete", "ids": "G1,G2"}, "delete needs one id, found G1, G2"),
        ({"option": "modify", "ids": "G1,G2", "experience": T}, "modify needs one id"),
        ({"option": "modify", "id": "G1", "experience": None}, "modify without a text"),
        ({"option": "add", "experience": ["a"]}, "add without a text"),
        ({"option": "add", "experience": " [G0]. "}, "add without a text"),
        ({"option": "explode"}, "unknown option 'explode'"),
        ({"experience": T}, "unknown option"),
        ([], "an operation is an object"),
        (None, "an operation is an object"),
        ("add", "an operation is an object"),
    ],
)
def test_what_cannot_be_done_is_rejected_with_the_reason(raw: object, reason: str) -> None:
    parsed = parse_operation(raw)
    assert isinstance(parsed, Rejected)
    assert reason in parsed.reason


def test_a_rejection_keeps_the_proposal_as_it_was() -> None:
    raw = {"option": "merge", "ids": ["G0", "G1"]}
    parsed = parse_operation(raw)
    assert isinstance(parsed, Rejected)
    assert parsed.operation == raw


def test_a_rejected_proposal_can_always_be_written_down() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for raw in (
        {"option": "\ud83c"},
        {1: float("nan")},
        deep,
        {"option": b"\xff"},
        10**5000,
        {"option": "add", "x": deep},
    ):
        parsed = parse_operation(raw)
        assert isinstance(parsed, Rejected)
        assert Rejected.model_validate_json(parsed.model_dump_json()).reason == parsed.reason
    while deep:
        deep = deep.pop()


def test_evidence_travels_with_the_operation() -> None:
    evidence = Evidence(origin=("p1",), separation=1.0, rollouts=5)
    assert parse_operation({"option": "add", "experience": T}, evidence) == Add(experience=T, evidence=evidence)
    assert parse_operation(Add(experience=T), evidence) == Add(experience=T, evidence=evidence)
    assert parse_operation({"option": "add", "experience": T, "evidence": evidence}) == Add(
        experience=T, evidence=evidence
    )


def test_evidence_that_a_model_printed_is_not_trusted() -> None:
    raw = {"option": "add", "experience": T, "evidence": {"origin": [], "separation": 1.0, "rollouts": 1000}}
    assert parse_operation(raw) == Add(experience=T)


def test_ids_are_read_from_lists_numbers_and_text() -> None:
    assert parse_ids("Per [G17] and [g2].") == ("G17", "G2")
    assert parse_ids(["G1", 3, None, True]) == ("G1", "G3")
    assert parse_ids(10**30) == ()
    assert parse_ids("G" + "9" * 5000) == ("G" + "9" * 39,)
