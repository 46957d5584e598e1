"""The hash-chained history (SPEC 2.7)."""

import pytest

from gym.core import journal as history
from gym.core.admission import Admission
from gym.core.experience import Add, Delete, Evidence, Keep, Library, Merge, Modify, Operation, Use, parse_operation
from gym.core.journal import Event, Journal
from gym.errors import LibraryError

GATE = Admission()
AT = "2026-01-02T03:04:05+00:00"


def grown(*batches: list[Operation]) -> tuple[Library, Journal]:
    library = Library()
    events: Journal = ()
    for step, batch in enumerate(batches):
        applied = library.apply(batch, GATE, step=step)
        events += history.record(events, applied, actor="train", at=AT, step=step)
        library = applied.library
    return library, events


ADDS: list[Operation] = [
    Add(experience="When x, do y.", evidence=Evidence(origin=("p1",), separation=0.7, rollouts=5)),
    Add(experience="If a, do b."),
]


def undo(events: Journal, library: Library, seq: int) -> history.Undone:
    return history.undo(events, library, seq, actor="person", at=AT)


def test_an_event_says_who_when_which_rollouts_before_and_after() -> None:
    library, events = grown(ADDS)
    first = events[0]
    assert (first.seq, first.actor, first.at, first.rollouts) == (1, "train", AT, ("p1",))
    assert (first.before, first.after) == ({"G0": None}, {"G0": library.get("G0")})


def test_a_rejection_is_an_event_with_its_reason() -> None:
    library, events = grown(ADDS, [Delete(id="G9")])
    assert (events[-1].accepted, events[-1].option, events[-1].reason) == (False, "delete", "G9 is unknown")
    assert history.replay(events) == library


def test_an_unreadable_proposal_is_an_event_too() -> None:
    applied = Library().apply([parse_operation({"option": "merge", "ids": ["G0", "G1"]})], GATE)
    event = history.record((), applied, actor="train", at=AT)[0]
    assert (event.option, event.operation) == ("unread", {"option": "merge", "ids": ["G0", "G1"]})


def test_replaying_to_any_point_gives_that_library_byte_for_byte() -> None:
    batches: list[list[Operation]] = [
        ADDS,
        [Modify(id="G0", experience="When x, do z."), Delete(id="G1"), Add(experience="For m, do n.")],
        [Merge(ids=("G0", "G2"), experience="When x or m, do z."), Keep()],
    ]
    for count in range(len(batches) + 1):
        library, events = grown(*batches[:count])
        _, whole = grown(*batches)
        assert history.replay(whole, upto=len(events)).to_json() == library.to_json()
    assert history.replay(whole, upto=0) == Library()


def test_counted_uses_are_replayed() -> None:
    library, events = grown(ADDS)
    credited = library.credit({"G0": Use(uses=3, helpful=2, harmful=1)})
    events += history.record_credit(events, library, credited, actor="train", at=AT)
    assert history.replay(events).to_json() == credited.to_json()
    assert history.record_credit(events, credited, credited, actor="train", at=AT) == ()


def test_a_library_without_history_is_imported() -> None:
    library = Library.from_json('{"experiences": {"G4": "When x, y."}, "next_id": 9}')
    events = history.record_import((), library, actor="person", at=AT, reason="found")
    assert [event.option for event in events] == ["import"]
    assert history.replay(events).to_json() == library.to_json()
    assert history.record_import(events, library, actor="person", at=AT) == ()


def test_the_chain_of_an_untouched_journal_verifies() -> None:
    _, events = grown(ADDS, [Delete(id="G0")])
    history.verify(events)
    history.verify(())


@pytest.mark.parametrize(
    ("tamper", "named"),
    [
        (lambda e: (e[0], e[1].model_copy(update={"reason": "forged"}), e[2]), "event 2 was changed"),
        (lambda e: (e[0], e[2]), "event 2 is missing"),
        (lambda e: (e[0], e[1].model_copy(update={"reason": "forged"}).sealed(), e[2]), "event 3 does not follow"),
        (lambda e: (*e[:2], e[2].model_copy(update={"before": {"G0": None}}).sealed()), "event 3 starts from entries"),
    ],
)
def test_the_first_broken_link_is_named(tamper: object, named: str) -> None:
    _, events = grown(ADDS, [Delete(id="G0")])
    assert callable(tamper)
    with pytest.raises(LibraryError, match=named):
        history.verify(tamper(events))


def test_undo_of_an_add_removes_it_and_its_id_never_comes_back() -> None:
    library, events = grown(ADDS)
    undone = undo(events, library, 2)
    assert undone.library.ids == ("G0",)
    assert undone.library.next_id == 2
    history.verify(events + undone.events)
    assert history.replay(events + undone.events) == undone.library
    assert undone.library.apply([Add(experience="For m, n.")], GATE).library.ids == ("G0", "G2")


def test_undo_of_a_delete_a_modify_and_a_merge_restores_the_texts() -> None:
    before, _ = grown(ADDS)
    changes: list[Operation] = [
        Delete(id="G0"),
        Modify(id="G1", experience="If a, do c."),
        Merge(ids=("G0", "G1"), experience="When x or a, do b."),
    ]
    for change in changes:
        library, events = grown(ADDS, [change])
        undone = undo(events, library, 3)
        assert (undone.reason, undone.library.digest) == ("", before.digest)


def test_undo_can_itself_be_undone() -> None:
    library, events = grown(ADDS, [Delete(id="G0")])
    once = undo(events, library, 3)
    events += once.events
    twice = undo(events, once.library, 4)
    assert (twice.reason, twice.library) == ("", library)
    events += twice.events
    history.verify(events)


def test_undo_is_refused_when_a_later_event_changed_the_same_entry() -> None:
    library, events = grown(ADDS, [Modify(id="G0", experience="When x, do z.")], [Delete(id="G0")])
    refused = undo(events, library, 3)
    assert (refused.library, refused.events) == (library, ())
    assert refused.reason == "G0 was changed again by event 4 (delete): undo that first"
    restored = undo(events, library, 4)
    assert undo(events + restored.events, restored.library, 3).reason == ""


def test_undo_of_an_add_is_refused_after_its_text_was_modified() -> None:
    library, events = grown(ADDS, [Modify(id="G0", experience="When x, do z.")])
    assert undo(events, library, 1).reason == "G0 was changed again by event 3 (modify): undo that first"


def test_undo_of_what_changed_nothing_or_does_not_exist_is_refused() -> None:
    library, events = grown(ADDS, [Delete(id="G9")])
    assert undo(events, library, 3).reason == "event 3 changed nothing"
    assert undo(events, library, 99).reason == "there is no event 99: the journal has 3"


def test_uses_counted_since_survive_an_undo() -> None:
    library, events = grown(ADDS, [Modify(id="G0", experience="When x, do z.")])
    credited = library.credit({"G0": Use(uses=4, helpful=4)})
    events += history.record_credit(events, library, credited, actor="train", at=AT)
    undone = undo(events, credited, 3)
    entry = undone.library.get("G0")
    assert entry is not None
    assert (entry.text, entry.uses, entry.helpful) == ("When x, do y.", 4, 4)


def test_lines_round_trip_and_hold_no_line_end_of_any_kind() -> None:
    applied = Library().apply([parse_operation({"option": "ad\u2028d", "x": "\x85\ud83c"}), *ADDS], GATE)
    events = history.record((), applied, actor="train", at=AT)
    text = "".join(event.to_line() for event in events)
    assert len(text.splitlines()) == 3
    assert history.from_text(text) == history.Read(events)
    history.verify(history.from_text(text).events)
    assert Event.from_line(events[0].to_line()) == events[0]


def test_a_torn_last_line_is_dropped_with_a_warning() -> None:
    _, events = grown(ADDS)
    text = "".join(event.to_line() for event in events)
    read = history.from_text(text[:-30])
    assert read.events == events[:1]
    assert "last line (2) was cut off" in read.warnings[0]


def test_a_broken_line_in_the_middle_is_an_error_that_names_it() -> None:
    _, events = grown(ADDS)
    with pytest.raises(LibraryError, match="line 2"):
        history.from_text(events[0].to_line() + "{}\n" + events[1].to_line())
