"""Do what is not done yet, one method of one cell after another, and say how far it is."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean

from bench.learning.cell import Cell, Cost, Outcome
from bench.learning.methods import METHODS
from bench.learning.workplace import Workplace
from bench.report import machine
from gym.errors import RunFailed

GUESS_S = 180.0
"""Seconds of a method before one was timed."""

Clock = Callable[[], float]


def finished(cell: Cell, names: Iterable[str]) -> Iterator[Outcome]:
    """The outcomes that are there already."""
    for name in names:
        budget = budget_of(cell) if METHODS[name].budgeted else Cost()
        found = None if budget is None else cell.outcome(name, METHODS[name].inputs(cell, budget))
        if found is not None:
            yield found


def budget_of(cell: Cell) -> Cost | None:
    """What our settings spent in this cell; None before they have run."""
    found = cell.outcome("zoo", METHODS["zoo"].inputs(cell, Cost()))
    return None if found is None else found.cost


async def run(place: Workplace, cells: Sequence[Cell], names: Sequence[str], clock: Clock = time.monotonic) -> None:
    """Every method in every cell; what is finished is not touched."""
    jobs = [(cell, name) for cell in cells for name in METHODS if name in names]
    took: dict[str, list[float]] = {}
    for number, (cell, name) in enumerate(jobs):
        if any(finished(cell, [name])):
            continue
        began, where = clock(), f"{cell.family.name} seed {cell.seed} {name}"
        try:
            outcome = await work(place, cell, name, clock)
        except RunFailed as error:
            place.say(f"{where} failed, the same command tries again: {error}")
            continue
        if outcome is None:
            place.say(f"{where}: zoo has not run there, which sets the budget")
            continue
        took.setdefault(name, []).append(clock() - began)
        left = [other for after, other in jobs[number + 1 :] if not any(finished(after, [other]))]
        place.say(_line(outcome, sum(fmean(took.get(other, [GUESS_S])) for other in left)))


async def work(place: Workplace, cell: Cell, name: str, clock: Clock) -> Outcome | None:
    """Learn, answer, write down; None when the budget is not known."""
    method = METHODS[name]
    budget = budget_of(cell) if method.budgeted else Cost()
    if budget is None:
        return None
    began = clock()
    folder = cell.folder / "runs" / method.inputs(cell, Cost())[:8]
    learned = await method.learn(place, cell, folder, budget)
    answered = await place.held_out(cell, method.keys, learned)
    outcome = Outcome(
        family=cell.family.name,
        seed=cell.seed,
        method=name,
        inputs=method.inputs(cell, budget),
        instructions=learned.instructions,
        experiences=learned.library.texts,
        cost=learned.cost,
        seconds=clock() - began,
        rewards={tally.problem_id: tally.rewards for tally in answered.tallies},
        failed=answered.score.failed,
        measured=machine(),
    )
    cell.keep(outcome)
    return outcome


def _line(outcome: Outcome, left_s: float) -> str:
    means = [fmean(rewards) for rewards in outcome.rewards.values() if rewards]
    return (
        f"{outcome.family} seed {outcome.seed} {outcome.method}: held out {fmean(means) if means else 0.0:.2f}, "
        f"{outcome.cost.calls} calls, {outcome.cost.tokens:,} tokens, {outcome.seconds:.0f} s; "
        f"about {left_s / 3600:.1f} h left"
    )
