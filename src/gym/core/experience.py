"""The experience library (arXiv:2510.08191 §3.2; SPEC 2): entries under ids that never change and are never reused.

The types of an experience and of the operations on it live in `gym.core.operation` and are offered here too.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, Self

from pydantic import Field, model_validator

from gym.core import library_json
from gym.core.batch import Batch, minted
from gym.core.confidence import initial_confidence, updated_confidence
from gym.core.operation import (
    MAX_WORDS,
    Accepted,
    Add,
    Admit,
    Admitted,
    Delete,
    Effect,
    Evidence,
    Experience,
    Keep,
    Merge,
    Modify,
    Operation,
    Refused,
    Rejected,
)
from gym.core.proposal import parse_ids, parse_operation
from gym.core.text import count_words, normalise_text
from gym.core.value import Value, digest

__all__ = [
    "MAX_WORDS", "Accepted", "Add", "Admit", "Admitted", "Applied", "Delete", "Effect", "Evidence", "Experience",
    "Keep", "Library", "Limits", "Merge", "Minted", "Modify", "Operation", "Refused", "Rejected", "Use", "count_words",
    "initial_confidence", "normalise_text", "parse_ids", "parse_operation", "updated_confidence",
]  # fmt: skip


class Use(Value):
    """How often an entry was cited since last counted, and by rollouts above or below their group's mean."""

    uses: int = Field(default=0, ge=0)
    helpful: int = Field(default=0, ge=0)
    harmful: int = Field(default=0, ge=0)


class Limits(Protocol):
    """How much a library may hold; `gym.core.admission.Admission` knows."""

    def excess(self, entries: Sequence[Experience]) -> str | None:
        """Why so many entries are too many, or None."""
        ...


class Library(Value):
    """Entries in numeric id order, and the number the next id gets. Iterating gives the entries."""

    entries: tuple[Experience, ...] = ()
    next_id: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _ids_are_in_order(self) -> Self:
        numbers = [entry.number if library_json.ID.fullmatch(entry.id) else -1 for entry in self.entries]
        if any(one >= other for one, other in zip([-1, *numbers], [*numbers, self.next_id], strict=True)):
            raise ValueError(f"ids must look like 'G0', rise, and stay below next_id {self.next_id}")
        return self

    @classmethod
    def of(cls, entries: Iterable[Experience], next_id: int = 0) -> "Library":
        """A library of `entries` in any order; `next_id` is raised above every id where it is too small."""
        ordered = tuple(sorted(entries, key=lambda entry: entry.number))
        return cls(entries=ordered, next_id=max(next_id, ordered[-1].number + 1 if ordered else 0))

    @classmethod
    def from_json(cls, text: str) -> "Library":
        """The library in an experience file of any of the three forms; raises `LibraryError`."""
        contents = library_json.load(text)
        return cls(entries=contents.entries, next_id=contents.next_id)

    def to_json(self) -> str:
        """The text of `experiences.json`; `Library.from_json` gives this library back."""
        return library_json.dump(self.entries, self.next_id)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Experience]:  # type: ignore[override]
        return iter(self.entries)

    def __contains__(self, id: object) -> bool:
        return id in self.ids

    @property
    def ids(self) -> tuple[str, ...]:
        """Every id, in numeric order."""
        return tuple(entry.id for entry in self.entries)

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text, in id order."""
        return tuple(entry.text for entry in self.entries)

    @property
    def digest(self) -> str:
        """SHA-256 over ids and texts: equal exactly when the rendered libraries are equal."""
        return digest([[entry.id, entry.text] for entry in self.entries])

    def get(self, id: str) -> Experience | None:
        """The entry called `id`, or None."""
        return next((entry for entry in self.entries if entry.id == id), None)

    def only(self, ids: Collection[str]) -> "Library":
        """The entries called so; the same library when that is all of them."""
        kept = tuple(entry for entry in self.entries if entry.id in ids)
        return self if len(kept) == len(self.entries) else self.model_copy(update={"entries": kept})

    def at(self, places: Sequence[int]) -> "Library":
        """The entries at rising places; the same library when that is all of them."""
        if len(places) == len(self.entries):
            return self
        return self.model_copy(update={"entries": tuple(self.entries[place] for place in places)})

    def render(self) -> str:
        """One line an entry, `[G0]. text`, in id order; empty for an empty library."""
        return "\n".join(entry.line for entry in self.entries)

    def minted(self, text: str, evidence: Evidence | None = None, step: int = 0, domain: str = "") -> "Minted":
        """This library with `text` under a new id. No gate: `apply` an `Add` to pass it."""
        new = minted(self.next_id, normalise_text(text), evidence or Evidence(), step=step, domain=domain)
        return Minted(Library(entries=(*self.entries, new), next_id=self.next_id + 1), new)

    def apply(
        self, operations: Sequence[Operation | Rejected], admit: Admit, *, step: int = 0, domain: str = ""
    ) -> "Applied":
        """The library after a batch, with what became of each operation.

        Deletes, then modifies, merges and adds, each in proposed order; never raises. A `Rejected` among the
        operations (from `parse_operation`) stays rejected, so accepted + rejected = proposed.
        """
        batch = Batch(self.entries, self.next_id, admit, step=step, domain=domain)
        batch.run(operations)
        library = Library.of(batch.entries.values(), batch.next_id)
        return Applied(library=library, accepted=tuple(batch.accepted), rejected=tuple(batch.rejected))

    def trimmed(self, limits: Limits) -> "Applied":
        """The library within `limits`: the least confident entries (of equals, the oldest) leave as deletes."""
        kept, gone = list(self.entries), []
        for entry in sorted(self.entries, key=lambda entry: (entry.confidence, entry.number)):
            if (reason := limits.excess(kept)) is None:
                break
            kept.remove(entry)
            gone.append(Accepted(operation=Delete(id=entry.id), before=(entry,), warnings=(reason,)))
        return Applied(library=Library(entries=tuple(kept), next_id=self.next_id), accepted=tuple(gone))

    def screened(self, admit: Admit, trusted: Collection[str] = ()) -> "Applied":
        """The library of what the gate admits, in id order; refused entries leave as deletes with the reason.

        Entries whose ids are `trusted` stay unasked.
        """
        kept = [entry for entry in self.entries if entry.id in trusted]
        gone: list[Accepted] = []
        for entry in self.entries:
            if entry.id in trusted:
                continue
            verdict = admit(entry.text, kept, entry.origin)
            if isinstance(verdict, Refused):
                gone.append(Accepted(operation=Delete(id=entry.id), before=(entry,), warnings=(verdict.reason,)))
            else:
                kept.append(entry)
        return Applied(library=Library.of(kept, self.next_id), accepted=tuple(gone))

    def credit(self, uses: Mapping[str, Use]) -> "Library":
        """The library with measured uses counted and confidences moved; unknown ids are passed over."""
        entries = tuple(_credited(entry, uses[entry.id]) if entry.id in uses else entry for entry in self.entries)
        return Library(entries=entries, next_id=self.next_id)

    def measured(self, effects: Mapping[str, Effect]) -> "Library":
        """The library with the effects that were measured; an entry without a new one keeps what it has."""
        entries = tuple(
            entry.model_copy(update={"effect": effects[entry.id]}) if entry.id in effects else entry for entry in self
        )
        return Library(entries=entries, next_id=self.next_id)


class Minted(NamedTuple):
    """A library and the entry it has just gained."""

    library: Library
    experience: Experience


class Applied(Value):
    """A batch's outcome: every operation is in exactly one of `accepted` and `rejected`."""

    library: Library
    accepted: tuple[Accepted, ...] = ()
    rejected: tuple[Rejected, ...] = ()


def _credited(entry: Experience, use: Use) -> Experience:
    return entry.model_copy(
        update={
            "confidence": updated_confidence(entry, use.helpful, use.harmful),
            "uses": entry.uses + use.uses,
            "helpful": entry.helpful + use.helpful,
            "harmful": entry.harmful + use.harmful,
        }
    )
