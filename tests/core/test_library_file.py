"""`experiences.json` (SPEC 2.6, FAULTS S6 and M7)."""

import json

import pytest

from gym.core.admission import Admission
from gym.core.experience import Add, Evidence, Library, Use
from gym.errors import LibraryError


def test_the_three_forms_load_alike() -> None:
    full = Library.from_json('{"experiences": {"G0": "When ≤ é 数"}, "next_id": 1, "records": {}}')
    assert full == Library.from_json('{"G0": "When ≤ é 数"}') == Library.from_json('["When ≤ é 数"]')
    assert full == Library.from_json('{"experiences": ["When ≤ é 数"]}')


def test_the_format_is_the_specified_one() -> None:
    evidence = Evidence(origin=("p1",), separation=1.0, rollouts=4)
    library = (
        Library().apply([Add(experience="When x, y.", evidence=evidence)], Admission(), step=3, domain="m").library
    )
    library = library.credit({"G0": Use(uses=2, helpful=1)})
    assert json.loads(library.to_json()) == {
        "experiences": {"G0": "When x, y."},
        "next_id": 1,
        "records": {
            "G0": {
                "confidence": 0.8,
                "created_step": 3,
                "origin": ["p1"],
                "uses": 2,
                "helpful": 1,
                "harmful": 0,
                "domain": "m",
            }
        },
    }


def test_save_load_save_is_byte_identical() -> None:
    text = Library.from_json('{"G10": "b", "G9": "a \\ud83c z"}').to_json()
    assert Library.from_json(text).to_json() == text
    assert text.encode("utf-8")


def test_a_missing_next_id_is_one_more_than_the_largest() -> None:
    library = Library.from_json('{"experiences": {"G1": "When x, y."}}')
    assert library.apply([Add(experience="If a, b.")], Admission()).library.ids == ("G1", "G2")


def test_a_next_id_beyond_the_entries_is_kept_and_a_stale_one_is_raised() -> None:
    assert Library.from_json('{"experiences": {"G1": "x"}, "next_id": 9}').next_id == 9
    assert Library.from_json('{"experiences": {"G5": "x"}, "next_id": 1}').next_id == 6
    assert Library.from_json('{"experiences": {}, "next_id": 4}').next_id == 4


def test_a_text_with_line_ends_and_markers_loads_as_one_line() -> None:
    assert Library.from_json('{"G0": "[G3]. a::b\\n[G4]. c"}').render() == "[G0]. a::b [G4]. c"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "not JSON: Expecting value in line 1"),
        ('{"G0": "a",}', "not JSON"),
        ("3", "an object or a list of texts, not a number"),
        ("null", "not null"),
        ('{"foo": "a"}', "'foo' must look like 'G0'"),
        ('{"G01": "a"}', "'G01' must look like 'G0'"),
        ('{"G0": 3}', "G0 must be a text, not a number"),
        ('["a", null]', "G1 must be a text, not null"),
        ('{"G0": " "}', "G0 is empty"),
        ('{"G0": "a", "G0": "b"}', "'G0' stands twice"),
        ('{"experiences": {"G0": "a"}, "next_id": "1"}', "'next_id' must be a whole number"),
        ('{"experiences": {"G0": "a"}, "next_id": -1}', "'next_id' must be a whole number"),
        ('{"experiences": {"G0": "a"}, "nextid": 1}', "unknown key 'nextid'"),
        ('{"experiences": {"G0": "a"}, "records": {"G1": {}}}', "'G1', which is not among"),
        ('{"experiences": {"G0": "a"}, "records": {"G0": {"confidence": 2}}}', "'confidence' is wrong"),
        ('{"experiences": {"G0": "a"}, "records": {"G0": {"sure": 1}}}', "unknown key 'sure'"),
        ('{"experiences": {"G0": "a"}, "records": []}', "'records' must be an object, not a list"),
        ("[" * 100_000, "not readable JSON"),
    ],
)
def test_a_broken_file_is_an_error_that_names_the_fault(text: str, named: str) -> None:
    with pytest.raises(LibraryError) as caught:
        Library.from_json(text)
    assert named in str(caught.value)
