"""What an informative group costs: fixed G = 5 beside groups that stop when mixed and go on while alike, and a curriculum.

Only answers are counted, drawn by the product's own RolloutManager from a model that is right with a given chance; the closed
form stands beside it as a check. The curriculum is played on 100 problems with pass rates from a U-shaped Beta(1/2, 1/2), which
do not change: what a library changes on the way is not in these figures.
"""

import asyncio
import random
import sys
from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

from bench.options import scale
from bench.report import Table
from gym.core.chat import Message, Sampling
from gym.core.experience import Library
from gym.core.problem import Problem
from gym.core.rollout import Group
from gym.llm.scripted import Scripted
from gym.train.grpo import curriculum
from gym.train.grpo.group_size import GroupSize
from gym.train.grpo.loop import Batch, batches, teaches
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.rollout_manager import RolloutManager
from gym.train.grpo.solvers.single_turn import single_turn

RATES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
FIXED = GroupSize.fixed(5)
RULES = {
    "2 … 5": GroupSize(2, 5, 5),
    "3 … 5": GroupSize(3, 5, 5),
    "5 … 10": GroupSize(5, 5, 10),
    "2 … 10": GroupSize(2, 5, 10),
}
GROUPS = 400
PROBLEMS, EPOCHS, RUNS = 100, 4, 10


class Cost(NamedTuple):
    """Of many groups under one rule."""

    answers: int
    mixed: int

    @property
    def each(self) -> float:
        """Answers for one informative group."""
        return self.answers / max(self.mixed, 1)


def rollouts(size: GroupSize, seed: int) -> RolloutManager:
    """Answers that are right with the chance that the question names."""

    def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        return "yes" if random.Random(sampling.seed).random() < float(messages[-1].content.split()[0]) else "no"

    return RolloutManager(
        Scripted(reply), single_turn, resolve_reward("exact"), width=lambda: 64, sampling=Sampling(), group_size=size.usual,
        sizes=size, seed=seed,
    )  # fmt: skip


def problem(name: object, rate: float) -> Problem:
    """One that is solved with chance `rate`."""
    return Problem(id=str(name), query=f"{rate} of all", ground_truth="yes")


def cost(groups: Sequence[Group]) -> Cost:
    """Answers drawn and groups that were mixed."""
    return Cost(sum(len(group.rollouts) for group in groups), sum(group.is_informative for group in groups))


def measured(size: GroupSize, rate: float, count: int) -> Cost:
    """Many groups of problems with one pass rate."""
    problems = [problem(n, rate) for n in range(count)]
    return cost(asyncio.run(rollouts(size, seed=1).run(problems, Library())))


def expected(size: GroupSize, rate: float) -> float:
    """Answers for an informative group: E[answers] / P(mixed), by the chance that all of the first n agree."""

    def alike(n: int) -> float:
        return rate**n + (1 - rate) ** n if n else 1.0

    answers = size.least + sum(alike(n) for n in range(size.least, size.most))
    return answers / (1 - alike(size.most))


def group_sizes(table: Table) -> None:
    """A row for every pass rate, its figures in the order of the rules."""
    count = max(round(GROUPS * scale()), 40)
    table.add("least … most answers to a problem", " · ".join(RULES), "always 5")
    for rate in RATES:
        fixed = measured(FIXED, rate, count)
        found = [measured(size, rate, count) for size in RULES.values()]
        due = [expected(size, rate) for size in RULES.values()]
        better = found[0].each < fixed.each
        table.add(
            f"pass rate {rate}",
            " · ".join(f"{one.each:.1f}" for one in found),
            f"{fixed.each:.1f}",
            "first < G = 5",
            better,
        )
        table.add("  in theory", " · ".join(f"{one:.1f}" for one in due), f"{expected(FIXED, rate):.1f}")


def played(seed: int, size: GroupSize, *, rests: bool) -> Cost:
    """A whole run's groups after the first epoch, which is the same for both."""
    draw = random.Random(seed)
    problems = [problem(n, draw.betavariate(0.5, 0.5)) for n in range(PROBLEMS)]
    manager, epochs, later = rollouts(size, seed), list[list[Group]](), list[Group]()

    def serve(epoch: int, order: tuple[Problem, ...], earlier: Sequence[Batch]) -> tuple[Problem, ...]:
        past = [curriculum.epoch_of(rollout for group in groups for rollout in group.rollouts) for groups in epochs]
        return curriculum.served(order, past, partial(teaches, learn_from="mixed")) if rests else order

    async def run() -> None:
        for batch in batches(problems, epochs=EPOCHS, batch_size=2 * PROBLEMS, seed=seed, serve=serve):
            drawn = zip(batch.problems, batch.draws, strict=True)
            epochs.append([await manager.group(one, Library(), epoch=batch.epoch, draw=times) for one, times in drawn])

    asyncio.run(run())
    for groups in epochs[1:]:
        later += groups
    return cost(later)


def curricula(table: Table) -> None:
    """Runs with and without resting problems, alone and together with adaptive groups."""
    runs = max(round(RUNS * scale()), 2)
    for name, size in (("G = 5", FIXED), ("2 … 5 answers", RULES["2 … 5"])):
        plain, rested = ([played(seed, size, rests=rests) for seed in range(runs)] for rests in (False, True))
        costs = [fmean(one.each for one in side) for side in (plain, rested)]
        table.add(
            f"curriculum, {name}, epochs 2 to {EPOCHS}",
            f"{costs[1]:.1f} answers an informative group",
            f"every problem: {costs[0]:.1f}",
            "< every one",
            costs[1] < costs[0],
        )
        ratio = fmean(two.mixed / one.mixed for one, two in zip(plain, rested, strict=True))
        spent = fmean(two.answers / one.answers for one, two in zip(plain, rested, strict=True))
        table.add("  informative groups; answers", f"× {ratio:.2f}; × {spent:.2f}", "every problem: 1; 1")


def main() -> int:
    """Print the table."""
    table = Table("bench_sampling", "Answers for one informative group")
    group_sizes(table)
    curricula(table)
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
