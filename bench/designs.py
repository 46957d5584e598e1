"""How much of the library to show: what each design finds and what it costs, simulated (`python -m bench.designs [--seeds N]`).

Four families of problems, each with an entry that helps it (+0.45), one that harms everywhere (-0.3), one that does nothing;
48 problems x 5 answers x 6 epochs in 12 steps. *Half* shows everything to three of five rollouts and each entry with chance
0.5 to the others, which alone are compared: the mixture of full and partial prompts, which wastes fewer prefixes.
"""

import random
import sys
from collections.abc import Iterable
from statistics import fmean
from typing import NamedTuple

from gym.core.experience import Experience, Library
from gym.core.problem import Problem
from gym.core.trials import Trial, Trials
from gym.train.grpo.credit import Credit
from gym.train.grpo.inclusion import Inclusion

PROBLEMS, ANSWERS, EPOCHS, BATCH = 48, 5, 6, 24
GOOD, HARMFUL, USELESS = ("G0", "G1", "G2", "G3"), "G4", "G5"


class Design(NamedTuple):
    """A chance, and whether only every other rollout is drawn."""

    chance: float
    half: bool
    margin: float

    @property
    def name(self) -> str:
        """For a row."""
        return f"{'half at' if self.half else 'all at'} {self.chance:g}, margin {self.margin:g}"


class Outcome(NamedTuple):
    """Of one seed."""

    harmful: bool
    useless: bool
    good_lost: float
    reward_lost: float
    """Mean reward that partial prompts cost."""


def chance(hard: float, family: int, ids: Iterable[str]) -> float:
    """Of a right answer."""
    shown = set(ids)
    return min(max(hard + 0.45 * (GOOD[family] in shown) - 0.3 * (HARMFUL in shown), 0.02), 0.98)


def run(design: Design, seed: int) -> Outcome:
    """A run of all steps."""
    rng, choose = random.Random(seed), Inclusion(design.chance, seed)
    hard = [rng.uniform(0.15, 0.55) for _ in range(PROBLEMS)]
    library = Library.of(Experience(id=f"G{n}", text=f"text {n}") for n in range(6))
    credit, past, lost = Credit(design.margin), list[Trials](), list[float]()
    for epoch in range(EPOCHS):
        order = rng.sample(range(PROBLEMS), PROBLEMS)
        for start in range(0, PROBLEMS, BATCH):
            groups = []
            for n in order[start : start + BATCH]:
                problem = Problem(id=f"p{n}", query="")
                drawn = [index for index in range(ANSWERS) if not design.half or index % 2]
                shown = tuple(choose(library, problem, index, epoch).ids for index in drawn)
                chances = [chance(hard[n], n % 4, ids) for ids in shown]
                lost.append((len(drawn) * chance(hard[n], n % 4, library.ids) - sum(chances)) / ANSWERS)
                groups.append(
                    Trial(problem=problem.id, shown=shown, rewards=tuple(float(rng.random() < p) for p in chances))
                )
            past.append(Trials(texts={entry.id: entry.text for entry in library}, groups=tuple(groups)))
            library, removals = credit.judged(library, past)
            library = library.only(set(library.ids) - {removal.id for removal in removals})
    missing = fmean(id not in library for id in GOOD)
    return Outcome(HARMFUL not in library, USELESS not in library, missing, fmean(lost))


def main() -> None:
    """A row a design."""
    seeds = int(sys.argv[sys.argv.index("--seeds") + 1]) if "--seeds" in sys.argv else 40
    print(f"{'design':26} {'harmful':>8} {'useless':>8} {'good lost':>10} {'reward lost':>12}   ({seeds} seeds)")
    for margin in (0.05, 0.1):
        for share, half in ((0.5, False), (0.7, False), (0.8, False), (0.9, False), (0.5, True)):
            design = Design(share, half, margin)
            found = [fmean(column) for column in zip(*(run(design, seed) for seed in range(seeds)), strict=True)]
            print(f"{design.name:26} {found[0]:8.2f} {found[1]:8.2f} {found[2]:10.3f} {found[3]:12.3f}", flush=True)


if __name__ == "__main__":
    main()
