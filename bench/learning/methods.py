"""The methods side by side: the two ends of the scale, our settings, the plain three-stage loop, and a peer.

What `zoo` spent in a cell is the budget of the others there: they go on until they have spent at least as many calls and
at least as many tokens, so that none of them can say it had less.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from bench.learning.cell import Cell, Cost, Learned
from bench.learning.settings import INSTRUCTIONS, PLAIN, SHARED, ZOO, Keys, known
from bench.learning.workplace import Workplace
from gym.core.experience import Library
from gym.core.value import digest
from gym.train.grpo.training_free_workflow import Run

MOST_ROUNDS = 12
"""Of the plain loop: a round in which nothing is learned costs little."""

Learn = Callable[[Workplace, Cell, Path, Cost], Awaitable[Learned]]
"""(where, what, folder for its runs, budget) -> what it learned."""


class Method(NamedTuple):
    """A way to come by a prompt."""

    learn: Learn
    keys: Keys
    """Settings, also of the held-out answers."""
    budgeted: bool = False
    """Whether it spends what `zoo` spent, and so must wait for it."""

    def inputs(self, cell: Cell, budget: Cost) -> str:
        """Digest of all that decides its outcome."""
        told = {**known(self.keys), "instructions": INSTRUCTIONS, "oracle": list(cell.family.oracle)}
        return digest([cell.digest, told, list(budget) if self.budgeted else []])


async def baseline(place: Workplace, cell: Cell, folder: Path, budget: Cost) -> Learned:
    """Nothing is learned."""
    return Learned(INSTRUCTIONS)


async def oracle(place: Workplace, cell: Cell, folder: Path, budget: Cost) -> Learned:
    """A person who knows the rule wrote it down."""
    return Learned(INSTRUCTIONS, cell.family.library)


async def zoo(place: Workplace, cell: Cell, folder: Path, budget: Cost) -> Learned:
    """One run with our settings, validation problems for the gate among them."""
    config = place.config(cell, ZOO, folder / "zoo", val=str(cell.file("val")))
    run = await place.train(config)
    return Learned(INSTRUCTIONS, run.library, bill(run))


async def plain(place: Workplace, cell: Cell, folder: Path, budget: Cost) -> Learned:
    """The three stages, epoch after epoch, each on the library of the one before; the last library is the result."""
    library, cost, start = Library(), Cost(), ""
    for number in range(MOST_ROUNDS):
        if cost.covers(budget):
            break
        config = place.config(
            cell, PLAIN, folder / f"plain-{number}", seed=cell.seed + 1000 * number, experience_lib_path=start
        )
        run = await place.train(config)
        library, cost, start = run.library, cost.plus(bill(run)), str(run.folder / "experiences.json")
    return Learned(INSTRUCTIONS, library, cost)


async def gepa(place: Workplace, cell: Cell, folder: Path, budget: Cost) -> Learned:
    """The package of that name (arXiv:2507.19457) evolves the instructions."""
    from bench.learning.gepa_peer import learn  # needs the package, which nobody else does

    return await learn(place, cell, folder, budget)


METHODS: Mapping[str, Method] = {
    "baseline": Method(baseline, SHARED),
    "oracle": Method(oracle, SHARED),
    "zoo": Method(zoo, ZOO),
    "plain": Method(plain, PLAIN, budgeted=True),
    "gepa": Method(gepa, SHARED, budgeted=True),
}
"""In the order of work: `zoo` sets the budget of those after it."""


def bill(run: Run) -> Cost:
    """All calls of a run's record; what a replay served was paid for once."""
    total = run.report.spent["total"]
    return Cost(total["calls"], total["prompt_tokens"], total["completion_tokens"])
