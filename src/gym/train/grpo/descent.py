"""From which library a step goes on: the last one, or one drawn from all that the gate kept (`descent: pool`).

A line of descent is stuck with the turn it took first. In a pool every validation problem votes for the libraries that answer it
best, and a step goes on from one drawn in proportion to its votes (Pareto selection of candidates, arXiv:2507.19457 §3.1), so
that a library which is alone in solving some problems has children too. Only answers are counted that the gate had paid for when
it kept a library: what came later may be in the record or not, and a run that is resumed or replayed must draw the same.
"""

from collections.abc import Sequence
from random import Random
from statistics import fmean
from typing import NamedTuple

from gym.core.experience import Library
from gym.core.journal import Event, replay
from gym.core.rollout import Tally
from gym.train.grpo.gate import Gate
from gym.train.grpo.run_dir import StepStats
from gym.train.grpo.snapshots import Snapshot

_CLOSE = 1e-9


class Pool(NamedTuple):
    """Libraries to go on from: the start, and those that the gate kept, oldest first, none with the texts of an earlier one."""

    snapshots: tuple[Snapshot, ...]
    common: int | None = None
    """How many of the gate's problems, in its order, each had answered when it was kept; None while there is the start alone."""

    def joined(self, newer: Snapshot, answered: int) -> "Pool":
        """With one more, which the gate kept by its answers to so many problems; unless its texts are there already."""
        if any(newer.library.texts == older.library.texts for older in self.snapshots):
            return self
        return Pool((*self.snapshots, newer), answered if self.common is None else min(self.common, answered))


def kept(start: Library, events: Sequence[Event], steps: Sequence[StepStats], *, k: int) -> Pool:
    """The pool that these steps left; `k`: answers to each validation problem."""
    pool = Pool((Snapshot(None, start),))
    for one in steps:
        if one.gate is not None and one.gate.kept:
            library = replay(event for event in events if event.step <= one.step)
            pool = pool.joined(Snapshot(one.step, library), one.gate.answered(k))
    return pool


async def parent(gate: Gate, pool: Pool, *, step: int) -> Snapshot:
    """The library that a step goes on from, drawn by the run's seed and the step; nothing is asked for it."""
    votes = await votes_of(gate, pool)
    return Random(f"{gate.seed}/parent/{step}").choices(pool.snapshots, weights=votes)[0]


async def voted(gate: Gate, pool: Pool) -> list[Snapshot]:
    """Those that some problem votes for: the rest are nowhere the best."""
    votes = await votes_of(gate, pool)
    return [snapshot for snapshot, count in zip(pool.snapshots, votes, strict=True) if count]


async def votes_of(gate: Gate, pool: Pool) -> list[float]:
    """For how many of the problems that all had answered each library is the best, of several together a share each.

    Without such a problem the last has the only vote.
    """
    libraries = [snapshot.library for snapshot in pool.snapshots]
    columns = await gate.answers(gate.known(libraries, first=pool.common), libraries) if len(libraries) > 1 else []
    rows = [row for row in zip(*columns, strict=True) if all(tally.rewards for tally in row)]
    shares = [_shares(row) for row in rows] or [[0.0] * (len(libraries) - 1) + [1.0]]
    return [sum(column) for column in zip(*shares, strict=True)]


def _shares(row: Sequence[Tally]) -> list[float]:
    means = [fmean(tally.rewards) for tally in row]
    best = [mean > max(means) - _CLOSE for mean in means]
    return [won / sum(best) for won in best]
