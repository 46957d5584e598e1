"""`Library.apply`: order, conflicts, ids (SPEC 2.2, 2.4; FAULTS M9, M10)."""

from collections.abc import Sequence

import pytest

from gym.core.admission import Admission
from gym.core.experience import (
    Add,
    Applied,
    Delete,
    Evidence,
    Experience,
    Keep,
    Library,
    Merge,
    Modify,
    Operation,
    Rejected,
    Use,
    parse_operation,
)

GATE = Admission()
FIRST, SECOND, THIRD = "When adding, carry the one.", "If unsure, check the units.", "Before answering, read it again."


@pytest.fixture
def library() -> Library:
    return Library.from_json(f'["{FIRST}", "{SECOND}", "{THIRD}"]')


def texts(applied: Applied) -> dict[str, str]:
    return {entry.id: entry.text for entry in applied.library}


def reasons(applied: Applied) -> list[str]:
    return [item.reason for item in applied.rejected]


def test_an_add_gets_the_next_id(library: Library) -> None:
    applied = library.apply([Add(experience="For large n, use logs.")], GATE, step=4, domain="math")
    assert applied.accepted[0].after == (applied.library.get("G3"),)
    added = applied.library.get("G3")
    assert added is not None
    assert (added.text, added.created_step, added.domain) == ("For large n, use logs.", 4, "math")


def test_ids_are_never_reused(library: Library) -> None:
    emptied = library.apply([Delete(id="G0"), Delete(id="G1"), Delete(id="G2")], GATE).library
    assert len(emptied) == 0
    assert emptied.apply([Add(experience=FIRST)], GATE).library.ids == ("G3",)


def test_operations_take_effect_as_deletes_modifies_merges_adds(library: Library) -> None:
    operations: list[Operation] = [
        Add(experience="For large n, use logs."),
        Merge(ids=("G1", "G2"), experience="Before answering, read again and check the units."),
        Modify(id="G1", experience="If unsure, check units and signs."),
        Delete(id="G0"),
    ]
    applied = library.apply(operations, GATE)
    assert [item.operation.option for item in applied.accepted] == ["delete", "modify", "merge", "add"]
    assert applied.library.ids == ("G3", "G4")


def test_what_a_batch_deletes_does_not_come_back_under_another_id(library: Library) -> None:
    again = Add(experience=f"- {FIRST.upper()}")
    applied = library.apply([again, Delete(id="G0"), Modify(id="G9", experience=FIRST)], GATE)
    assert list(texts(applied)) == ["G1", "G2"]
    assert reasons(applied) == ["G0 said this and is deleted in the same batch"] * 2
    assert applied.library.apply([again], GATE).rejected == ()  # a later batch may think again


def test_delete_beats_modify(library: Library) -> None:
    applied = library.apply([Modify(id="G2", experience="When x, do z."), Delete(id="G2")], GATE)
    assert applied.library.ids == ("G0", "G1")
    assert reasons(applied) == ["G2 is deleted in the same batch"]


def test_two_modifies_of_one_id_are_joined_when_both_fit(library: Library) -> None:
    one, other = Modify(id="G0", experience="When adding, align digits."), Modify(id="G0", experience="Carry the one.")
    applied = library.apply([one, other], GATE)
    assert texts(applied)["G0"] == "When adding, align digits; Carry the one."
    assert len(applied.accepted) == 2
    assert "joined" in applied.accepted[1].warnings[0]


def test_of_two_modifies_too_long_together_the_later_stands(library: Library) -> None:
    one = Modify(id="G0", experience="When " + "a " * 20 + "b")
    other = Modify(id="G0", experience="When " + "c " * 20 + "d")
    applied = library.apply([one, other], GATE)
    assert texts(applied)["G0"] == other.experience
    assert [item.operation for item in applied.rejected] == [one]
    assert "later modification of G0" in reasons(applied)[0]


def test_of_two_contradicting_modifies_the_later_stands(library: Library) -> None:
    one, other = Modify(id="G0", experience="Always simplify."), Modify(id="G0", experience="Never simplify.")
    applied = library.apply([one, other], GATE)
    assert texts(applied)["G0"] == "Never simplify."
    assert [item.operation for item in applied.rejected] == [one]


def test_a_modify_keeps_id_counts_and_adds_its_origin(library: Library) -> None:
    used = library.credit({"G0": Use(uses=3, helpful=2, harmful=1)})
    evidence = Evidence(origin=("p7",), separation=1.0, rollouts=5)
    applied = used.apply([Modify(id="G0", experience="When adding, align.", evidence=evidence)], GATE)
    entry = applied.library.get("G0")
    assert entry is not None
    assert (entry.uses, entry.helpful, entry.harmful, entry.origin) == (3, 2, 1, ("p7",))


def test_a_modify_that_changes_nothing_is_rejected(library: Library) -> None:
    assert reasons(library.apply([Modify(id="G0", experience=FIRST)], GATE)) == ["G0 already says this"]


def test_a_modify_of_an_unknown_id_is_taken_as_new(library: Library) -> None:
    applied = library.apply([Modify(id="G99", experience="For large n, use logs.")], GATE)
    assert applied.accepted[0].operation == Add(experience="For large n, use logs.")
    assert applied.accepted[0].warnings == ("G99 is unknown: taken as new",)
    assert applied.library.ids == ("G0", "G1", "G2", "G3")


def test_an_unknown_id_is_rejected_with_a_reason(library: Library) -> None:
    operations: list[Operation] = [Delete(id="G99"), Merge(ids=("G0", "G98"), experience="When x, y.")]
    applied = library.apply(operations, GATE)
    assert reasons(applied) == ["G99 is unknown", "merge needs two known ids: G98 is unknown"]
    assert applied.library == library


def test_a_merge_replaces_its_sources_under_a_new_id() -> None:
    library = Library.of(
        [
            Experience(id="G0", text=FIRST, confidence=0.9, origin=("a", "b"), uses=2, helpful=1),
            Experience(id="G1", text=SECOND, confidence=0.6, origin=("b", "c"), uses=1, harmful=1),
        ]
    )
    merge = Merge(ids=("G0", "G1"), experience="When adding, check the units.", evidence=Evidence(origin=("d",)))
    entry = library.apply([merge], GATE).library.get("G2")
    assert entry is not None
    assert (entry.origin, entry.confidence, entry.uses) == (("a", "b", "c", "d"), 0.9, 3)
    assert (entry.helpful, entry.harmful) == (1, 1)


def test_a_merge_into_one_of_its_sources_texts_is_no_copy(library: Library) -> None:
    applied = library.apply([Merge(ids=("G0", "G1"), experience=FIRST)], GATE)
    assert texts(applied) == {"G2": THIRD, "G3": FIRST}


def test_a_merge_whose_text_is_refused_leaves_its_sources(library: Library) -> None:
    applied = library.apply([Merge(ids=("G0", "G1"), experience="word " * 33)], GATE)
    assert applied.library == library
    assert "33 words" in reasons(applied)[0]


def test_a_merge_without_a_text_leaves_its_sources(library: Library) -> None:
    applied = library.apply([parse_operation({"option": "merge", "ids": ["G0", "G1"]})], GATE)
    assert applied.library == library
    assert reasons(applied) == ["merge without a text"]


def test_a_merge_goes_on_without_an_unknown_third(library: Library) -> None:
    applied = library.apply([Merge(ids=("G0", "G1", "G77"), experience="When adding, check the units.")], GATE)
    assert applied.library.ids == ("G2", "G3")
    assert applied.accepted[0].warnings == ("G77 is unknown: left out",)


def test_a_keep_is_accepted_and_changes_nothing(library: Library) -> None:
    applied = library.apply([Keep(), Keep(id="G0")], GATE)
    assert (applied.library, len(applied.accepted), applied.rejected) == (library, 2, ())


def test_the_second_of_two_equal_adds_is_rejected(library: Library) -> None:
    applied = library.apply([Add(experience="For large n, use logs."), Add(experience="for large n, use LOGS.")], GATE)
    assert applied.library.ids == ("G0", "G1", "G2", "G3")
    assert reasons(applied) == ["is a copy of G3"]


def test_accepted_and_rejected_are_all_that_was_proposed(library: Library) -> None:
    raw: Sequence[object] = [
        {"option": "add", "experience": FIRST},
        {"option": "DELETE", "id": "[G2].", "experience": None},
        {"option": "modify", "id": "G2", "experience": "When x, y."},
        {"option": "modify", "id": "g1", "experience": "When m, n."},
        {"option": "keep"},
        7,
    ]
    applied = library.apply([parse_operation(item) for item in raw], GATE)
    assert len(applied.accepted) + len(applied.rejected) == len(raw)
    assert texts(applied) == {"G0": FIRST, "G1": "When m, n."}
    assert any(isinstance(item, Rejected) and item.operation == "7" for item in applied.rejected)


def test_minting_appends_under_the_next_id(library: Library) -> None:
    minted = library.minted("[G0]. For large n,\nuse logs.", Evidence(separation=1.0, rollouts=5), 2, "math")
    assert minted.library.entries == (*library.entries, minted.experience)
    assert (minted.experience.id, minted.experience.text) == ("G3", "For large n, use logs.")


def test_the_render_is_one_line_an_entry_in_numeric_order() -> None:
    library = Library.of([Experience(id="G10", text="b"), Experience(id="G9", text="a")])
    assert library.render() == "[G9]. a\n[G10]. b"
    assert Library().render() == ""


def test_the_digest_is_of_ids_and_texts_alone(library: Library) -> None:
    assert library.credit({"G0": Use(uses=1, helpful=1)}).digest == library.digest
    assert library.apply([Delete(id="G0")], GATE).library.digest != library.digest


def test_a_library_with_unordered_or_reusable_ids_cannot_be_made() -> None:
    for ids, next_id in ((("G1", "G0"), 2), (("G0", "G0"), 1), (("G3",), 3), (("X1",), 2), (("G01",), 9)):
        with pytest.raises(ValueError, match="ids must"):
            Library(entries=tuple(Experience(id=id, text="t") for id in ids), next_id=next_id)
