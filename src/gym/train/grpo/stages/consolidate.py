"""Stage 3: a batch's proposals become operations on the library (arXiv:2510.08191 §3.2; SPEC 1.6).

Proposals enter under temporary ids C0, C1 …, so a controller that stays silent on one loses nothing. Above ten
critiques it runs as map-reduce over about sqrt(n) shuffled groups: one call over everything loses detail.
"""

import random
from collections.abc import Sequence
from math import isqrt
from typing import NamedTuple

from gym.core.admission import contradictions
from gym.core.chat import Completion
from gym.core.experience import (
    Add,
    Delete,
    Evidence,
    Keep,
    Library,
    Merge,
    Modify,
    Operation,
    Rejected,
    parse_operation,
)
from gym.core.problem import Failure
from gym.core.reflection import Critique
from gym.errors import ProviderError
from gym.train.grpo.stages.critique import repair_question
from gym.train.grpo.stages.flow import Ask, Stage, Together, ask, failure
from gym.train.grpo.stages.parse import parse_operations
from gym.train.grpo.stages.prompts import CONSOLIDATE, MEASURED, extended, sections
from gym.train.grpo.stages.settings import ReflectionSettings
from gym.train.grpo.stages.shorten import shorten

MAP_REDUCE_ABOVE = 10
"""Critiques up to which one call sees everything."""


class Consolidation(NamedTuple):
    """Operations for the library, in order; what the controller turned down; failures (its proposals then stand)."""

    operations: tuple[Operation, ...]
    rejected: tuple[Rejected, ...] = ()
    failures: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = ()


def consolidate(
    critiques: Sequence[Critique],
    library: Library,
    settings: ReflectionSettings,
    *,
    seed: int,
    removals: Sequence[Delete] = (),
) -> Stage[Consolidation]:
    """The batch's operations. Without proposals nothing is asked; without an answer the proposals stand as they are.

    `removals` are proposals that measured effects make; the controller sees their figures.
    """
    proposals = (*(operation for critique in critiques for operation in critique.operations), *removals)
    if settings.profile == "small":
        return Consolidation(proposals)
    teaching = sum(1 for critique in critiques if critique.operations)
    if teaching <= MAP_REDUCE_ABOVE:
        return (yield from _once(proposals, library, settings))
    parts: list[Consolidation] = yield Together(
        tuple(_once(chunk, library, settings) for chunk in _chunks(proposals, seed))
    )
    merged = tuple(operation for part in parts for operation in part.operations)
    final = yield from _once(merged, library, settings)
    everything = (*parts, final)
    return Consolidation(
        final.operations,
        tuple(item for part in everything for item in part.rejected),
        tuple(item for part in everything for item in part.failures),
        tuple(item for part in everything for item in part.notes),
    )


def _chunks(proposals: Sequence[Operation], seed: int) -> list[tuple[Operation, ...]]:
    """About sqrt(n) groups of about sqrt(n) shuffled proposals."""
    shuffled = list(proposals)
    random.Random(seed).shuffle(shuffled)
    count = max(isqrt(len(shuffled)), 1)
    return [tuple(shuffled[place::count]) for place in range(count)]


def _once(proposals: Sequence[Operation], library: Library, settings: ReflectionSettings) -> Stage[Consolidation]:
    """One call over all given proposals, one repair; a single proposal to an empty library needs no controller."""
    if not proposals or (len(proposals) == 1 and not len(library)):
        return Consolidation(tuple(proposals))
    conflicts = _conflicts(proposals, library)
    question = _question(proposals, library, settings, conflicts)
    try:
        completion = yield question
        raw = _read(completion)
        if raw is None:
            completion = yield repair_question(question, completion, settings)
            raw = _read(completion)
    except ProviderError as error:
        return Consolidation(tuple(proposals), failures=(failure("consolidate", error),), notes=conflicts)
    if raw is None:
        broken = Failure(boundary="consolidate", type="UnusableReply", message="no JSON list of operations, twice")
        return Consolidation(tuple(proposals), failures=(broken,), notes=conflicts)
    operations, rejected = decide(raw, proposals, library)
    return Consolidation(operations, rejected, notes=conflicts)


def _read(completion: Completion) -> Sequence[dict[str, object]] | None:
    return parse_operations(completion.text, complete=completion.finish_reason != "length")


def _question(
    proposals: Sequence[Operation], library: Library, settings: ReflectionSettings, conflicts: Sequence[str]
) -> Ask:
    room = max(settings.context - settings.max_tokens - 800, 512)
    parts = {
        "library": shorten(library.render(), room // 2) or "(empty)",
        "proposals": shorten("\n".join(f"[C{n}] {_told(op)}" for n, op in enumerate(proposals)), room // 2),
    }
    warned = (
        "\n\nThese contradict each other; at most one of each pair may stay:\n" + "\n".join(conflicts)
        if conflicts
        else ""
    )
    figures = MEASURED if any(operation.evidence.effect for operation in proposals) else ""
    system = extended(CONSOLIDATE.render(conflicts=warned + figures), settings.words.consolidate)
    return ask(system, sections(parts), settings.sampling())


def _told(operation: Operation) -> str:
    match operation:
        case Add():
            return f"(add) {operation.experience}"
        case Modify():
            return f"(modify {operation.id}) {operation.experience}"
        case Delete() if operation.evidence.effect:
            return f"(delete {operation.id}) measured {operation.evidence.effect}"
        case Delete():
            return f"(delete {operation.id})"
        case Merge():
            return f"(merge {', '.join(operation.ids)}) {operation.experience}"
        case Keep():
            return "(keep)"


def _conflicts(proposals: Sequence[Operation], library: Library) -> tuple[str, ...]:
    """Pairs of opposite advice among the library and the proposals, surfaced to the controller (FAULTS M15)."""
    named = [(entry.id, entry.text) for entry in library]
    named += [(f"C{n}", op.experience) for n, op in enumerate(proposals) if isinstance(op, Add | Modify | Merge)]
    pairs = contradictions([text for _, text in named])
    return tuple(f"{named[a][0]} and {named[b][0]}" for a, b in pairs)


def decide(
    raw: Sequence[dict[str, object]], proposals: Sequence[Operation], library: Library
) -> tuple[tuple[Operation, ...], tuple[Rejected, ...]]:
    """The controller's reply applied to the proposals: what it says of C ids changes them, G ids become operations.

    Every proposal ends up in the operations or in the rejected; the order of the proposals is kept.
    """
    standing: dict[str, Operation] = {f"C{n}": operation for n, operation in enumerate(proposals)}
    extra: list[Operation] = []
    rejected: list[Rejected] = []
    for item in raw:
        parsed = parse_operation(item)
        match parsed:
            case Rejected():
                rejected.append(parsed)
            case Keep():
                continue
            case Delete(id=name) if name in standing:
                rejected.append(Rejected(operation=standing.pop(name), reason="turned down by the controller"))
            case Modify(id=name) if name in standing:
                standing[name] = _reworded(standing[name], parsed.experience)
            case Merge():
                merged = _merged(parsed, standing, library)
                if isinstance(merged, Rejected):
                    rejected.append(merged)
                else:
                    extra.append(merged)
            case Delete(id=name) | Modify(id=name) if name.startswith("C"):
                rejected.append(Rejected(operation=parsed, reason=f"{name} is no open proposal"))
            case _:
                extra.append(parsed)
    return (*standing.values(), *extra), tuple(rejected)


def _reworded(operation: Operation, text: str) -> Operation:
    if isinstance(operation, Add | Modify | Merge):
        return operation.model_copy(update={"experience": text})
    return operation


def _merged(merge: Merge, standing: dict[str, Operation], library: Library) -> Operation | Rejected:
    """A merge over C and G ids as one operation on the library; its proposals are taken out of `standing`."""
    members = [name for name in dict.fromkeys(merge.ids) if name in standing or library.get(name) is not None]
    if len(members) < 2:
        return Rejected(operation=merge, reason="a merge needs two known ids")
    absorbed = [standing.pop(name) for name in members if name in standing]
    targets = [name for name in members if library.get(name) is not None]
    for operation in absorbed:
        if isinstance(operation, Modify):
            targets.append(operation.id)
        elif isinstance(operation, Merge):
            targets.extend(operation.ids)
    evidence = _union([operation.evidence for operation in absorbed])
    targets = list(dict.fromkeys(targets))
    if len(targets) > 1:
        return Merge(ids=tuple(targets), experience=merge.experience, evidence=evidence)
    if targets:
        return Modify(id=targets[0], experience=merge.experience, evidence=evidence)
    return Add(experience=merge.experience, evidence=evidence)


def _union(evidence: Sequence[Evidence]) -> Evidence:
    """All origins, all rollouts, and the separation weighted by rollouts."""
    rollouts = sum(item.rollouts for item in evidence)
    return Evidence(
        origin=tuple(dict.fromkeys(name for item in evidence for name in item.origin)),
        separation=sum(item.separation * item.rollouts for item in evidence) / rollouts if rollouts else 0.0,
        rollouts=rollouts,
    )
