"""`ExperienceManager`: a library in a file, with its journal beside it (SPEC 3.5).

A façade over `Library.apply`, the admission gate and the journal. Changes are in memory until `save`. The file is what
counts: where it differs from its journal, the difference is journalled as an import, and what is new passes the gate.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from gym.core import journal
from gym.core.admission import Admission
from gym.core.experience import (
    Add,
    Applied,
    Delete,
    Experience,
    Library,
    Merge,
    Modify,
    Operation,
    Rejected,
    Use,
    normalise_text,
    parse_operation,
)
from gym.embedding import similarity
from gym.embedding.hashing import HashingEmbedder
from gym.errors import LibraryError
from gym.files import beside, write_atomic

JOURNAL = "journal.jsonl"
_ABSENT = (FileNotFoundError, NotADirectoryError)


def utc_now() -> str:
    """The time in ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def journal_path(path: str | Path) -> Path:
    """Where a library's journal lies: `journal.jsonl` beside `experiences.json`, `x.journal.jsonl` beside `x.json`."""
    return beside(Path(path), JOURNAL)


def read_library(path: str | Path) -> Library:
    """The library in a file of any form of SPEC 2.6, or in a run folder; raises `LibraryError` naming file and fault."""
    path = Path(path) / "experiences.json" if Path(path).is_dir() else path
    try:
        return Library.from_json(_text(path))
    except _ABSENT as error:
        raise LibraryError(f"there is no experience file {str(path)!r}") from error
    except LibraryError as error:
        raise LibraryError(f"{str(path)!r}: {error}") from error


def read_journal(path: str | Path) -> journal.Read:
    """The journal of the library at `path`, empty where there is none; raises `LibraryError` naming the file."""
    file = journal_path(path)
    try:
        return journal.from_text(_text(file))
    except _ABSENT:
        return journal.Read(())
    except LibraryError as error:
        raise LibraryError(f"{str(file)!r}: {error}") from error


class ExperienceManager:
    """A library that is loaded, changed through the gate, journalled and saved; `len` and iteration are of entries."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        admission: Admission | None = None,
        actor: str = "user",
        clock: Callable[[], str] = utc_now,
    ) -> None:
        """Loads `path` if it exists; `clock` gives the time of journal events in ISO 8601."""
        self.path = Path(path) if path is not None else None
        self.library = Library()
        self.journal: journal.Journal = ()
        self.warnings: tuple[str, ...] = ()
        """What was odd about the files that were loaded."""
        self._admit = admission or Admission(similarity=similarity(HashingEmbedder()))
        self._actor, self._clock = actor, clock
        self._saved = 0
        if self.path is not None and (self.path.exists() or journal_path(self.path).exists()):
            self.load(self.path)

    def __len__(self) -> int:
        return len(self.library)

    def __iter__(self) -> Iterator[Experience]:
        return iter(self.library)

    def __contains__(self, id: object) -> bool:
        return id in self.library

    def add(self, text: str) -> str:
        """The new experience's id; for a copy or near-copy, the id of the entry that says it already.

        Raises `LibraryError` with the gate's reason for any other refusal.
        """
        applied = self.apply_operations([Add(experience=normalise_text(text))])
        if applied.rejected and (known := applied.rejected[0].duplicate_of) is not None:
            return known
        return _new_id(applied)

    def modify(self, id: str, text: str) -> None:
        """Give a known experience another text; raises `LibraryError` when the id is unknown or the gate refuses."""
        self._known(id)
        _raise_rejected(self.apply_operations([Modify(id=id, experience=normalise_text(text))]))

    def delete(self, id: str) -> None:
        """Remove a known experience; raises `LibraryError` when the id is unknown."""
        self._known(id)
        _raise_rejected(self.apply_operations([Delete(id=id)]))

    def merge(self, ids: Sequence[str], text: str) -> str:
        """The id of the one experience that replaces several; raises `LibraryError` when that is refused."""
        return _new_id(self.apply_operations([Merge(ids=tuple(ids), experience=normalise_text(text))]))

    def apply_operations(
        self, operations: Sequence[object], *, step: int = 0, domain: str = "", actor: str | None = None
    ) -> Applied:
        """Apply operations, as values or as a model's raw objects; each ends in `accepted` or `rejected`."""
        read: list[Operation | Rejected] = [
            operation if isinstance(operation, Rejected) else parse_operation(operation) for operation in operations
        ]
        applied = self.library.apply(read, self._admit, step=step, domain=domain)
        return self._took_place(applied, step=step, actor=actor)

    def trim(self, *, step: int = 0) -> Applied:
        """Let the least confident entries go until the library is within the gate's size and token budget."""
        return self._took_place(self.library.trimmed(self._admit), step=step)

    def credit(self, uses: Mapping[str, Use], *, step: int = 0) -> None:
        """Count measured uses and move confidences."""
        credited = self.library.credit(uses)
        self.journal += journal.record_credit(
            self.journal, self.library, credited, actor=self._actor, at=self._clock(), step=step
        )
        self.library = credited

    def undo(self, seq: int) -> journal.Undone:
        """Take back the journal's event `seq`; `.reason` says why not, when it could not be."""
        undone = journal.undo(self.journal, self.library, seq, actor=self._actor, at=self._clock())
        self.library, self.journal = undone.library, self.journal + undone.events
        return undone

    def format_for_prompt(self) -> str:
        """One line an experience, `[G0]. text`, in id order; `None` for an empty library."""
        return self.library.render() or "None"

    def save(self, path: str | Path | None = None) -> None:
        """Write the library and its journal, each atomically; with another `path`, a copy there.

        Raises `StorageError` when the disk refuses, `LibraryError` when someone else saved since this was loaded.
        """
        target = Path(path) if path is not None else self.path
        if target is None:
            raise LibraryError("this library has no file yet: give a path to save it to")
        own = self.path is None or target == self.path
        if self.path is not None and own:
            self._check_unchanged(self.path)
        write_atomic(journal_path(target), "".join(event.to_line() for event in self.journal))
        write_atomic(target, self.library.to_json())
        if own:
            self.path, self._saved = target, len(self.journal)

    def load(self, path: str | Path) -> None:
        """Take library and journal from `path`, which is from now on this library's file; raises `LibraryError`."""
        events, warnings = read_journal(path)
        known = journal.replay(events)
        if events and not Path(path).exists():
            warnings = (*warnings, f"{str(path)!r} is missing: rebuilt from its journal")
            library = known
        else:
            library = read_library(path)
        library = Library.of(library, max(library.next_id, known.next_id))
        self.path, self.library, self.journal, self.warnings = Path(path), library, events, warnings
        self._saved = len(events)
        if library != known:
            self._import(known)

    def _import(self, known: Library) -> None:
        """Journal what the file holds beyond its journal, and send it through the gate."""
        why = "the file differs from its journal" if self.journal else "a library without history"
        self.journal += journal.record_import(
            self.journal, self.library, actor=self._actor, at=self._clock(), reason=why
        )
        trusted = {entry.id for entry in known if (now := self.library.get(entry.id)) and now.text == entry.text}
        applied = self._took_place(self.library.screened(self._admit, trusted))
        left_out = tuple(
            f"{item.operation.id} is left out: {'; '.join(item.warnings)}"
            for item in applied.accepted
            if isinstance(item.operation, Delete)
        )
        self.warnings += left_out

    def _took_place(self, applied: Applied, *, step: int = 0, actor: str | None = None) -> Applied:
        self.journal += journal.record(self.journal, applied, actor=actor or self._actor, at=self._clock(), step=step)
        self.library = applied.library
        return applied

    def _known(self, id: str) -> None:
        if id not in self.library:
            raise LibraryError(f"{id!r} is unknown: the library holds {', '.join(self.library.ids) or 'nothing'}")

    def _check_unchanged(self, path: Path) -> None:
        there = read_journal(path).events
        if [event.hash for event in there] != [event.hash for event in self.journal[: self._saved]]:
            raise LibraryError(f"{str(path)!r} was changed by someone else since it was loaded: load it again")


def _new_id(applied: Applied) -> str:
    _raise_rejected(applied)
    return applied.accepted[0].after[0].id


def _raise_rejected(applied: Applied) -> None:
    if applied.rejected:
        raise LibraryError(f"not taken: {applied.rejected[0].reason}")


def _text(path: str | Path) -> str:
    """A file's text; raises one of `_ABSENT`, or `LibraryError` when it cannot be read otherwise."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except _ABSENT:
        raise
    except UnicodeDecodeError as error:
        raise LibraryError(f"not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise LibraryError(f"cannot be read: {error.strerror}") from error
