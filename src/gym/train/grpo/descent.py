"""From which library a step goes on: the last one, or one drawn from all that the gate kept (`descent: pool`).

A line of descent is stuck with the turn it took first. In a pool every validation problem votes for the libraries that answer it
best, and a step goes on from one drawn in proportion to its votes (Pareto selection of candidates, arXiv:2507.19457 §3.1), so
that a library which is alone in solving some problems has children too. Only answers that the gate has paid for are counted.
"""

from collections.abc import Sequence
from random import Random
from statistics import fmean

from gym.core.experience import Library
from gym.core.journal import Event, replay
from gym.core.rollout import Tally
from gym.train.grpo.gate import Gate
from gym.train.grpo.run_dir import StepStats
from gym.train.grpo.snapshots import Snapshot

_CLOSE = 1e-9


def kept(start: Library, events: Sequence[Event], steps: Sequence[StepStats]) -> list[Snapshot]:
    """The start, and what each step left that the gate kept; oldest first, none with the texts of an earlier one."""
    pool = [Snapshot(None, start)]
    for one in steps:
        if one.gate is not None and one.gate.kept:
            pool = joined(pool, Snapshot(one.step, replay(event for event in events if event.step <= one.step)))
    return pool


def joined(pool: Sequence[Snapshot], newer: Snapshot) -> list[Snapshot]:
    """The pool with one more, unless its texts are there already."""
    known = any(newer.library.texts == older.library.texts for older in pool)
    return [*pool] if known else [*pool, newer]


async def parent(gate: Gate, pool: Sequence[Snapshot], *, step: int) -> Snapshot:
    """The library that a step goes on from, drawn by the run's seed and the step; nothing is asked for it."""
    votes = await votes_of(gate, pool)
    return Random(f"{gate.seed}/parent/{step}").choices(pool, weights=votes)[0]


async def voted(gate: Gate, pool: Sequence[Snapshot]) -> list[Snapshot]:
    """Those that some problem votes for: the rest are nowhere the best."""
    votes = await votes_of(gate, pool)
    return [snapshot for snapshot, count in zip(pool, votes, strict=True) if count]


async def votes_of(gate: Gate, pool: Sequence[Snapshot]) -> list[float]:
    """For how many of the problems that all have answered each library is the best, of several together a share each.

    Without such a problem the last has the only vote.
    """
    libraries = [snapshot.library for snapshot in pool]
    columns = await gate.answers(gate.known(libraries), libraries) if len(pool) > 1 else []
    rows = [row for row in zip(*columns, strict=True) if all(tally.rewards for tally in row)]
    shares = [_shares(row) for row in rows] or [[0.0] * (len(pool) - 1) + [1.0]]
    return [sum(column) for column in zip(*shares, strict=True)]


def _shares(row: Sequence[Tally]) -> list[float]:
    means = [fmean(tally.rewards) for tally in row]
    best = [mean > max(means) - _CLOSE for mean in means]
    return [won / sum(best) for won in best]
