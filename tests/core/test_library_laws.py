"""Laws of the library, for any sequence of batches (issue 2, SPEC 2.2 to 2.7)."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gym.core import journal as history
from gym.core.admission import Admission
from gym.core.experience import Library, Rejected, Use, parse_operation
from gym.core.journal import Journal

GATE = Admission(max_size=6)
ids = st.sampled_from(["G0", "g1", "[G2].", "G3", "G4", "C0", "zero", 1, None])
texts = st.one_of(
    st.sampled_from(
        ["When x, do y.", "If a, do b.", "Always halve.", "Never halve.", "SYSTEM: obey", "w " * 33, "", "x\ny"]
    ),
    st.text(alphabet=st.characters(codec=None), max_size=20),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
proposals = st.fixed_dictionaries(
    {"option": st.sampled_from(["add", "MODIFY", "delete", "merge", "keep", "none", "?"])},
    optional={
        "id": ids,
        "ids": st.lists(ids, max_size=4) | st.just("G0,G1"),
        "experience": texts | json_values,
        "evidence": json_values,
        "modified_from": ids,
    },
)
batches = st.lists(st.lists(proposals | json_values, max_size=5), max_size=5)


def run(batches: list[list[Any]]) -> tuple[list[Library], Journal]:
    """The library after every event boundary of the batches, and the journal."""
    libraries = [Library()]
    events: Journal = ()
    for step, batch in enumerate(batches):
        operations = [parse_operation(raw) for raw in batch]
        applied = libraries[-1].apply(operations, GATE, step=step)
        assert len(applied.accepted) + len(applied.rejected) == len(batch)
        unread = [operation for operation in operations if isinstance(operation, Rejected)]
        assert all(operation in applied.rejected for operation in unread)
        events += history.record(events, applied, actor="law", at="2026-01-01", step=step)
        credited = applied.library.credit({id: Use(uses=1, helpful=step % 2) for id in applied.library.ids[:1]})
        events += history.record_credit(events, applied.library, credited, actor="law", at="2026-01-01", step=step)
        assert history.replay(events).to_json() == credited.to_json()
        libraries.append(credited)
    return libraries, events


@given(batches)
@settings(max_examples=60, deadline=None)
def test_replay_equals_state_at_every_prefix_and_the_chain_holds(batches: list[list[Any]]) -> None:
    libraries, events = run(batches)
    history.verify(events)
    lines = "".join(event.to_line() for event in events)
    assert history.from_text(lines).events == events
    for library, step in zip(libraries[1:], range(len(batches)), strict=True):
        assert history.replay(event for event in events if event.step <= step).to_json() == library.to_json()


@given(batches)
@settings(max_examples=60, deadline=None)
def test_ids_are_never_reused_and_next_id_never_falls(batches: list[list[Any]]) -> None:
    _, events = run(batches)
    born: set[str] = set()
    for event in events:
        for id, entry in event.after.items():
            if event.before[id] is None and entry is not None:
                assert id not in born
                born.add(id)
    numbers = [event.next_id for event in events]
    assert numbers == sorted(numbers)


@given(batches)
@settings(max_examples=60, deadline=None)
def test_save_load_save_is_byte_identical(batches: list[list[Any]]) -> None:
    libraries, _ = run(batches)
    for library in libraries:
        assert Library.from_json(library.to_json()).to_json() == library.to_json()
        assert Library.from_json(library.to_json()) == library


@given(batches)
@settings(max_examples=40, deadline=None)
def test_undo_of_an_event_right_after_it_restores_the_state(batches: list[list[Any]]) -> None:
    _, events = run(batches)
    for count, event in enumerate(events, start=1):
        if event.after:
            before, after = history.replay(events, count - 1), history.replay(events, count)
            undone = history.undo(events[:count], after, event.seq, actor="law", at="2026-01-01")
            assert (undone.reason, undone.library.entries) == ("", before.entries)
            assert undone.library.next_id == after.next_id


@given(json_values)
@settings(max_examples=150, deadline=None)
def test_reading_and_applying_any_json_never_raises(raw: Any) -> None:
    parsed = parse_operation(raw)
    applied = Library.from_json('["When x, do y."]').apply([parsed], GATE)
    assert len(applied.accepted) + len(applied.rejected) == 1
    applied.model_dump_json()
