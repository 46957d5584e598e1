"""The library's history: hash-chained events, one per accepted or rejected change (SPEC 2.7).

An event holds the entries it touched before and after, so replaying any prefix gives that library byte for byte, and an
undo is an event like any other. Ids never come back, even for what was undone.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import Field, ValidationError

from gym.core.experience import Applied, Library
from gym.core.operation import Accepted, Experience, Operation, Rejected
from gym.core.value import Value, canonical_json, digest
from gym.errors import LibraryError

Kind = Literal["add", "modify", "delete", "merge", "keep", "unread", "import", "credit", "undo", "restore"]
"""What happened: an operation (`unread`: a proposal that could not be read), a library that appeared without history,
uses counted, an undo, or a return to an older library."""

Changes = Mapping[str, Experience | None]
"""Entries by id; None where there is none."""

_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}
"""What JSON leaves as it is and some readers take for the end of a line."""


class Event(Value):
    """One change, or one refusal."""

    seq: int = Field(ge=1)
    prev: str
    """Hash of the event before; empty for the first."""
    at: str
    """ISO 8601."""
    actor: str
    """Who: a person, `train`, a node."""
    step: int = 0
    option: Kind
    accepted: bool
    operation: Operation | dict[str, object] | str | None = None
    """As proposed; None where no operation was."""
    reason: str = ""
    """Why it was rejected, or what to know about an accepted one."""
    rollouts: tuple[str, ...] = ()
    """Ids of the problems whose rollouts spoke for it."""
    before: Changes = Field(default_factory=dict)
    after: Changes = Field(default_factory=dict)
    next_id: int = 0
    """The library's next id after it."""
    hash: str = ""
    """SHA-256 of everything above."""

    def sealed(self) -> "Event":
        """This event as a file gives it back, with its own hash."""
        event = Event.from_line(self.to_line())
        return event.model_copy(update={"hash": event.content_hash})

    def to_line(self) -> str:
        """One line of `journal.jsonl`, its end included."""
        return canonical_json(self.model_dump(mode="json")).translate(_LINE_ENDS) + "\n"

    @classmethod
    def from_line(cls, line: str) -> "Event":
        """The event on a line; raises `LibraryError`."""
        try:
            return cls.model_validate_json(line)
        except ValidationError as error:
            raise LibraryError(f"not a journal event: {error.errors()[0]['msg']}") from error

    @property
    def content_hash(self) -> str:
        """The hash that an untouched event carries."""
        return digest(self.model_dump(mode="json", exclude={"hash"}))


Journal = tuple[Event, ...]


class Undone(NamedTuple):
    """What an undo gave: the library and the new event, or, changing nothing, the reason against it."""

    library: Library
    events: Journal
    reason: str = ""


class Read(NamedTuple):
    """A journal file's events, and what was wrong with its end."""

    events: Journal
    warnings: tuple[str, ...] = ()


def record(events: Sequence[Event], applied: Applied, *, actor: str, at: str, step: int = 0) -> Journal:
    """The new events of a batch, chained to `events`: what was accepted, in order of effect, then the rest.

    The last one tells of ids that were minted for what was then taken back: they stay used.
    """
    drafts = [_accepted(accepted) for accepted in applied.accepted] + [_rejected(item) for item in applied.rejected]
    drafts[-1:] = [draft._replace(next_id=applied.library.next_id) for draft in drafts[-1:]]
    return _chained(events, drafts, actor=actor, at=at, step=step)


def record_import(events: Sequence[Event], library: Library, *, actor: str, at: str, reason: str = "") -> Journal:
    """The event after which replaying `events` gives `library`; none when it does already."""
    known = replay(events)
    if known == library:
        return ()
    draft = _Draft("import", True, None, reason, (), *_difference(known, library), library.next_id)
    return _chained(events, [draft], actor=actor, at=at, step=0)


def record_credit(
    events: Sequence[Event], before: Library, after: Library, *, actor: str, at: str, step: int = 0
) -> Journal:
    """The event of `Library.credit`; none when it counted nothing."""
    changes = _difference(before, after)
    draft = _Draft("credit", True, None, "", (), *changes, after.next_id)
    return _chained(events, [draft], actor=actor, at=at, step=step) if changes.after else ()


def record_restore(
    events: Sequence[Event], before: Library, after: Library, *, actor: str, at: str, step: int = 0, reason: str = ""
) -> Journal:
    """The event of going back from one library to an older one, which `undo` takes back like any other."""
    draft = _Draft("restore", True, None, reason, (), *_difference(before, after), after.next_id)
    return _chained(events, [draft], actor=actor, at=at, step=step)


def replay(events: Iterable[Event], upto: int | None = None, *, start: Library = Library()) -> Library:  # noqa: B008
    """The library after the events up to and including seq `upto` (None: all; 0: `start`), which follow on `start`."""
    entries: dict[str, Experience | None] = {entry.id: entry for entry in start}
    next_id = start.next_id
    for event in events:
        if upto is not None and event.seq > upto:
            break
        entries.update(event.after)
        next_id = max(next_id, event.next_id)
    return Library.of((entry for entry in entries.values() if entry is not None), next_id)


def verify(events: Sequence[Event]) -> None:
    """Raise `LibraryError` naming the first event whose number, link, hash or state before does not fit."""
    prev = ""
    entries: dict[str, Experience | None] = {}
    for expected, event in enumerate(events, start=1):
        if event.seq != expected:
            raise LibraryError(f"journal: event {expected} is missing (found {event.seq} in its place)")
        if event.prev != prev:
            raise LibraryError(f"journal: event {event.seq} does not follow event {event.seq - 1}: the chain is broken")
        if event.hash != event.content_hash:
            raise LibraryError(f"journal: event {event.seq} was changed after it was written")
        if any(entries.get(id) != entry for id, entry in event.before.items()):
            raise LibraryError(f"journal: event {event.seq} starts from entries that the events before it do not give")
        entries.update(event.after)
        prev = event.hash


def undo(events: Sequence[Event], library: Library, seq: int, *, actor: str, at: str, step: int = 0) -> Undone:
    """Take back event `seq`: its entries are again as before it, counted uses kept.

    Refused, with the reason, when it changed nothing or a later event changed the same entry.
    """
    event = next((event for event in events if event.seq == seq), None)
    if event is None:
        return Undone(library, (), f"there is no event {seq}: the journal has {len(events)}")
    if not event.after:
        return Undone(library, (), f"event {seq} changed nothing")
    for id, entry in event.after.items():
        if not _same(library.get(id), entry, counts=event.option == "credit"):
            return Undone(library, (), f"{id} was changed again{_later(events, seq, id)}: undo that first")
    entries: dict[str, Experience | None] = {entry.id: entry for entry in library}
    for id, entry in event.before.items():
        entries[id] = _restored(entry, library.get(id), event)
    undone = Library.of((entry for entry in entries.values() if entry is not None), library.next_id)
    draft = _Draft(
        "undo", True, None, f"undo of event {seq}", event.rollouts, *_difference(library, undone), undone.next_id
    )
    return Undone(undone, _chained(events, [draft], actor=actor, at=at, step=step))


def from_text(text: str) -> Read:
    """The events of a journal file. A torn last line is dropped with a warning; any other raises `LibraryError`."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    events: list[Event] = []
    for number, line in lines:
        try:
            events.append(Event.from_line(line))
        except LibraryError as error:
            if number == lines[-1][0]:
                return Read(tuple(events), (f"the journal's last line ({number}) was cut off and is dropped",))
            raise LibraryError(f"journal line {number}: {error}") from error
    return Read(tuple(events))


class _Changed(NamedTuple):
    before: Changes
    after: Changes


class _Draft(NamedTuple):
    """An event before it has a place in the chain."""

    option: Kind
    accepted: bool
    operation: Operation | dict[str, object] | str | None
    reason: str
    rollouts: tuple[str, ...]
    before: Changes
    after: Changes
    next_id: int


def _accepted(accepted: Accepted) -> _Draft:
    before = {entry.id: entry for entry in accepted.before}
    after = {entry.id: entry for entry in accepted.after}
    ids = [*before, *(id for id in after if id not in before)]
    operation = accepted.operation
    return _Draft(
        operation.option,
        True,
        operation,
        "; ".join(accepted.warnings),
        operation.evidence.origin,
        {id: before.get(id) for id in ids},
        {id: after.get(id) for id in ids},
        max((entry.number + 1 for entry in accepted.after), default=0),
    )


def _rejected(rejected: Rejected) -> _Draft:
    operation = rejected.operation
    if isinstance(operation, dict | str):
        return _Draft("unread", False, operation, rejected.reason, (), {}, {}, 0)
    return _Draft(operation.option, False, operation, rejected.reason, operation.evidence.origin, {}, {}, 0)


def _chained(events: Sequence[Event], drafts: Iterable[_Draft], *, actor: str, at: str, step: int) -> Journal:
    """The drafts as events after `events`; the next id never falls."""
    seq, prev, next_id = (events[-1].seq, events[-1].hash, events[-1].next_id) if events else (0, "", 0)
    chained: list[Event] = []
    for draft in drafts:
        seq, next_id = seq + 1, max(next_id, draft.next_id)
        fields = draft._asdict() | {"next_id": next_id}
        chained.append(Event(seq=seq, prev=prev, at=at, actor=actor, step=step, **fields).sealed())
        prev = chained[-1].hash
    return tuple(chained)


def _difference(before: Library, after: Library) -> _Changed:
    """The entries that differ, as they were and as they are."""
    old, new = ({entry.id: entry for entry in library} for library in (before, after))
    ids = [id for id in dict.fromkeys([*old, *new]) if old.get(id) != new.get(id)]
    return _Changed({id: old.get(id) for id in ids}, {id: new.get(id) for id in ids})


def _same(current: Experience | None, then: Experience | None, *, counts: bool) -> bool:
    """Whether an entry is still as an event left it; uses counted since do not matter to a change of text."""
    if counts or current is None or then is None:
        return current == then
    return current.text == then.text


def _restored(entry: Experience | None, current: Experience | None, event: Event) -> Experience | None:
    """The entry as before the event, with the uses counted since then."""
    then = event.after.get(entry.id) if entry else None
    if entry is None or current is None or then is None or event.option == "credit":
        return entry
    counts = {name: getattr(current, name) for name in ("uses", "helpful", "harmful")}
    moved = current != then
    return entry.model_copy(update=counts | ({"confidence": current.confidence} if moved else {}))


def _later(events: Sequence[Event], seq: int, id: str) -> str:
    later = next((event for event in reversed(events) if event.seq > seq and id in event.after), None)
    return f" by event {later.seq} ({later.option})" if later else ""
