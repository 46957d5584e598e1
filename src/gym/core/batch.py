"""One batch of operations on a working copy of a library: deletes, then modifies, merges, adds (SPEC 2.4)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from gym.core.confidence import initial_confidence
from gym.core.operation import (
    Accepted,
    Add,
    Admit,
    Admitted,
    Delete,
    Evidence,
    Experience,
    Keep,
    Merge,
    Modify,
    Operation,
    Refused,
    Rejected,
)
from gym.core.polarity import contradict
from gym.core.text import normalise_text


class Batch:
    """The working copy and what became of each operation; `run` it once, then read it."""

    def __init__(self, entries: Iterable[Experience], next_id: int, admit: Admit, *, step: int, domain: str) -> None:
        self.entries = {entry.id: entry for entry in entries}
        self.next_id = next_id
        self.accepted: list[Accepted] = []
        self.rejected: list[Rejected] = []
        self._admit, self._step, self._domain = admit, step, domain
        self._gone: dict[str, str] = {}
        """What happened to the ids that left in this batch."""
        self._deleted: dict[str, str] = {}
        """Text -> id of what this batch deleted: the same words do not come back under another id."""

    def run(self, operations: Sequence[Operation | Rejected]) -> None:
        """Every operation ends in `accepted` or `rejected`; what came in rejected stays so."""
        deletes, modifies, merges, adds = [], [], [], []
        known = set(self.entries)
        for operation in operations:
            match operation:
                case Rejected():
                    self.rejected.append(operation)
                case Keep():
                    self.accepted.append(Accepted(operation=operation))
                case Delete():
                    deletes.append(operation)
                case Modify() if operation.id in known:
                    modifies.append(operation)
                case Merge():
                    merges.append(operation)
                case Add() | Modify():
                    adds.append(operation)
                case _:
                    assert_never(operation)
        for delete in deletes:
            self._delete(delete)
        for id in dict.fromkeys(modify.id for modify in modifies):
            self._modify(id, [modify for modify in modifies if modify.id == id])
        for merge in merges:
            self._merge(merge)
        for add in adds:
            self._add(add)

    def _delete(self, operation: Delete) -> None:
        if operation.id not in self.entries:
            return self._reject(operation, self._why_missing(operation.id))
        before = self.entries.pop(operation.id)
        self._gone[operation.id] = "deleted"
        self._deleted[before.text.casefold()] = operation.id
        effect = operation.evidence.effect
        return self._accept(operation, [before], [], (f"measured effect {effect}",) if effect else ())

    def _modify(self, id: str, operations: Sequence[Modify]) -> None:
        """Several modifications of one id are joined where they can be; else the later one stands."""
        if id not in self.entries:
            for operation in operations:
                self._reject(operation, self._why_missing(id))
            return
        standing: list[tuple[Modify, Admitted]] = []
        for operation in operations:
            standing = self._with_modification(standing, operation)
        for position, (operation, admitted) in enumerate(standing):
            warnings = (f"joined with another modification of {id}",) if position else ()
            self._rewrite(operation, admitted, warnings)

    def _with_modification(self, standing: list[tuple[Modify, Admitted]], new: Modify) -> list[tuple[Modify, Admitted]]:
        id, text = new.id, normalise_text(new.experience)
        current = standing[-1][1].text if standing else self.entries[id].text
        if text.casefold() == current.casefold() and (standing or text == current):
            self._reject(new, f"{id} already says this")
            return standing
        alone = self._gate(new, text, without=(id,))
        if alone is None or not standing:
            return [*standing, (new, alone)] if alone else standing
        if not contradict(current, text):
            others = self._others((id,))
            joined = self._admit(f"{current.rstrip('.;')}; {text}", others, new.evidence.origin)
            if isinstance(joined, Admitted):
                return [*standing, (new, joined)]
        for earlier, _ in standing:
            self._reject(earlier, f"a later modification of {id} in the same batch stands")
        return [(new, alone)]

    def _rewrite(self, operation: Modify, admitted: Admitted, warnings: tuple[str, ...]) -> None:
        before, evidence = self.entries[operation.id], operation.evidence
        changes: dict[str, object] = {
            "text": admitted.text,
            "origin": _union(before.origin, evidence.origin),
            "effect": None,
        }
        if evidence.rollouts > 0:
            changes["confidence"] = initial_confidence(evidence, prior=before.confidence)
        after = before.model_copy(update=changes)
        self.entries[operation.id] = after
        self._accept(operation, [before], [after], (*warnings, *admitted.warnings))

    def _merge(self, operation: Merge) -> None:
        wanted = tuple(dict.fromkeys(operation.ids))
        sources = [self.entries[id] for id in wanted if id in self.entries]
        missing = [id for id in wanted if id not in self.entries]
        if len(sources) < 2:
            why = "; ".join(map(self._why_missing, missing)) or "only one id is given"
            return self._reject(operation, f"merge needs two known ids: {why}")
        admitted = self._gate(operation, operation.experience, without=[source.id for source in sources])
        if admitted is None:
            return None
        for source in sources:
            del self.entries[source.id]
            self._gone[source.id] = "merged"
        merged = _merged(sources, self._minted(admitted.text, operation.evidence))
        self.entries[merged.id] = merged
        warnings = tuple(f"{self._why_missing(id)}: left out" for id in missing)
        return self._accept(operation, sources, [merged], (*warnings, *admitted.warnings))

    def _add(self, operation: Add | Modify) -> None:
        """A modification of an unknown id is offered here as an addition."""
        warnings: tuple[str, ...] = ()
        add = operation
        if isinstance(add, Modify):
            warnings = (f"{add.id} is unknown: taken as new" if add.id else "no id is given: taken as new",)
            add = Add(experience=add.experience, evidence=add.evidence)
        if id := self._deleted.get(normalise_text(add.experience).casefold()):
            return self._reject(operation, f"{id} said this and is deleted in the same batch")
        admitted = self._gate(operation, add.experience)
        if admitted is not None:
            new = self._minted(admitted.text, add.evidence)
            self.entries[new.id] = new
            self._accept(add, [], [new], (*warnings, *admitted.warnings))
        return None

    def _minted(self, text: str, evidence: Evidence) -> Experience:
        number, self.next_id = self.next_id, self.next_id + 1
        return minted(number, text, evidence, step=self._step, domain=self._domain)

    def _gate(self, operation: Operation, text: str, without: Sequence[str] = ()) -> Admitted | None:
        """The admitted text; None when it was refused, which is then recorded."""
        verdict = self._admit(text, self._others(without), operation.evidence.origin)
        if isinstance(verdict, Refused):
            self.rejected.append(Rejected(operation=operation, **verdict.model_dump()))
            return None
        return verdict

    def _others(self, without: Sequence[str]) -> list[Experience]:
        return [entry for entry in self.entries.values() if entry.id not in without]

    def _why_missing(self, id: str) -> str:
        return f"{id} is {self._gone[id]} in the same batch" if id in self._gone else f"{id or 'the id'} is unknown"

    def _reject(self, operation: Operation, reason: str) -> None:
        self.rejected.append(Rejected(operation=operation, reason=reason))

    def _accept(
        self,
        operation: Operation,
        before: Sequence[Experience],
        after: Sequence[Experience],
        warnings: tuple[str, ...] = (),
    ) -> None:
        self.accepted.append(Accepted(operation=operation, before=tuple(before), after=tuple(after), warnings=warnings))


def minted(number: int, text: str, evidence: Evidence, *, step: int, domain: str) -> Experience:
    """A new entry under id G`number`."""
    return Experience(
        id=f"G{number}",
        text=text,
        confidence=initial_confidence(evidence),
        created_step=step,
        origin=_union((), evidence.origin),
        domain=domain,
    )


def _merged(sources: Sequence[Experience], new: Experience) -> Experience:
    """`new` with its sources' origins and counts, and the best confidence among all."""
    fields: Mapping[str, object] = {
        "origin": _union(*(source.origin for source in sources), new.origin),
        "confidence": max([*(source.confidence for source in sources), new.confidence]),
        "uses": sum(source.uses for source in sources),
        "helpful": sum(source.helpful for source in sources),
        "harmful": sum(source.harmful for source in sources),
        "domain": new.domain or sources[0].domain,
    }
    return new.model_copy(update=fields)


def _union(*origins: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(problem for origin in origins for problem in origin))
