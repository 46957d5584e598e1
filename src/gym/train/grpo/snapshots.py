"""The run returns the best validated library, not the last (SPEC 2.11).

A chain of libraries each measured better than the one before ends in its best. Where `gate_margin` let unclear ones
through, a later library may be worse: then every one that no later one was shown to beat is compared once more, on all
validation problems. Going back is an event of the journal that can be undone.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from gym.core.decision import Decision
from gym.core.experience import Library
from gym.core.journal import Event, replay
from gym.errors import BudgetReached
from gym.evaluation.metrics import Paired, paired
from gym.train.grpo.gate import Gate
from gym.train.grpo.run_dir import StepStats


class Snapshot(NamedTuple):
    """A library and the step that left it; None: the start."""

    step: int | None
    library: Library

    def __str__(self) -> str:
        return "the start" if self.step is None else f"step {self.step}"


class Best(NamedTuple):
    """The best of several libraries."""

    place: int
    means: tuple[float, ...]
    """Of each library, over the problems that all have scored answers to."""
    problems: int


class Chosen(NamedTuple):
    """The library that a run returns, and, when it is not the last, why."""

    library: Library
    reason: str = ""


async def best_validated(
    gate: Gate, start: Library, last: Library, events: Sequence[Event], steps: Sequence[StepStats]
) -> Chosen:
    """What a line of descent should return: its last library unless an older one that none has beaten scores higher."""
    if not any(step.gate and step.gate.kept and step.gate.verdict == "unclear" for step in steps):
        return Chosen(last)
    left = [Snapshot(one.step, replay(event for event in events if event.step <= one.step)) for one in steps]
    return await best_of(gate, unbeaten(start, left, [step.gate for step in steps]), last)


async def best_of(gate: Gate, pool: Sequence[Snapshot], last: Library) -> Chosen:
    """The best of a pool on all validation problems; nothing is asked when there is no choice."""
    if len(pool) == 1 and pool[0].library.texts == last.texts:
        return Chosen(last)
    found = await best(gate, [snapshot.library for snapshot in pool])
    chosen = pool[found.place]
    if chosen.library.texts == last.texts:
        return Chosen(last)
    others = [f"{mean:.3f} at {snapshot}" for mean, snapshot in zip(found.means, pool, strict=False)]
    told = ", ".join([others.pop(found.place), *reversed(others)]) if others else f"{chosen}, the latest that was kept"
    return Chosen(
        with_later_uses(chosen.library, last),
        f"best of {len(pool)} libraries on {found.problems} validation problems: {told}",
    )


def unbeaten(start: Library, left: Sequence[Snapshot], decisions: Sequence[Decision | None]) -> list[Snapshot]:
    """The libraries that none after them was measured to be better than, oldest first, the last one last."""
    pool = [Snapshot(None, start)]
    for snapshot, decision in zip(left, decisions, strict=True):
        beats = decision is not None and decision.kept and decision.verdict == "better"
        if beats or snapshot.library.texts == pool[-1].library.texts:
            pool.pop()
        pool.append(snapshot)
    return pool


async def best(gate: Gate, libraries: Sequence[Library]) -> Best:
    """The library with the highest mean over all validation problems, of equals the oldest; missing answers are paid for.

    Where the budget does not, the problems count that all have answered; where there are none, the last is best.
    """
    gate.watch.phase("snapshots", 0, gate.meter)
    try:
        found = await gate.answers(gate.problems, libraries)
    except BudgetReached:
        found = await gate.answers(gate.known(libraries), libraries)
    rows = [row for row in zip(*found, strict=True) if all(tally.rewards for tally in row)]
    if not rows:
        return Best(len(libraries) - 1, (), 0)
    means = tuple(fmean(fmean(tally.rewards) for tally in column) for column in zip(*rows, strict=True))
    return Best(max(range(len(means)), key=lambda place: (means[place], -place)), means, len(rows))


async def gain(gate: Gate, older: Library, newer: Library) -> Paired | None:
    """Newer minus older on the problems that both have answered already, for nothing; None when there are none."""
    if older.texts == newer.texts or not (problems := gate.known((older, newer))):
        return None
    return paired(*await gate.answers(problems, (older, newer)), seed=gate.seed)


def with_later_uses(older: Library, current: Library) -> Library:
    """`older` with the uses counted since of entries that are the same still; no id comes back into use."""
    entries = ((now if (now := current.get(entry.id)) and now.text == entry.text else entry) for entry in older)
    return Library.of(entries, current.next_id)
