"""`python -m bench.tasks.measure`: what the embedded model makes of each family, without a library and with the oracle's.

Questions are worded until a family starts between 0.2 and 0.8 with the oracle clearly above, and never by what a method
learns on it. The seed is none of those that `bench.learning` uses; answers are recorded, so that the same again is free.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from bench.learning.cell import Cell, Learned
from bench.learning.settings import INSTRUCTIONS, SHARED, Scale
from bench.learning.workplace import Workplace, workplace
from bench.report import ROOT, ended, filled, machine
from bench.tasks import FAMILIES
from bench.tasks.family import Family, Sizes
from gym.evaluation.evaluate import Evaluation
from gym.evaluation.metrics import Score, paired

SEED = 100
PAGE = ROOT / "bench" / "tasks" / "README.md"
BEGIN, END = "<!-- figures: written by `python -m bench.tasks.measure --write` -->", "<!-- end of figures -->"


class Rates(NamedTuple):
    """A family on the scale between nothing and its oracle."""

    family: Family
    bare: Evaluation
    oracle: Evaluation

    @property
    def mixed(self) -> float:
        """Share of the problems that some bare answers solve and some do not."""
        return fmean(0 < sum(tally.rewards) < len(tally.rewards) for tally in self.bare.tallies)

    @property
    def row(self) -> str:
        """For the table."""
        change = paired(self.bare.tallies, self.oracle.tallies)
        told = (self.family.name, self.family.rule, _rate(self.bare.score), _rate(self.oracle.score))
        return f"| {' | '.join(told)} | {change.difference or 0.0:+.2f} ({change.verdict}) | {self.mixed:.0%} |"


async def rates(place: Workplace, family: Family, scale: Scale, root: Path) -> Rates:
    """Both ends of a family's scale."""
    cell = Cell(family, SEED, scale, root)
    bare = await place.held_out(cell, SHARED, Learned(INSTRUCTIONS))
    return Rates(family, bare, await place.held_out(cell, SHARED, Learned(INSTRUCTIONS, family.library)))


def table(found: Sequence[Rates], scale: Scale) -> str:
    """Markdown."""
    head = "| family | rule | bare | with the oracle | difference | mixed groups |\n|---|---|---|---|---|---:|"
    told = (
        f"Measured {machine()}; seed {SEED}, {scale.sizes.test} problems x {scale.held_out_k} answers, temperature 0.7, "
        "95 % intervals over problems."
    )
    return "\n".join((told, "", head, *(each.row for each in found)))


async def measure(asked: argparse.Namespace, scale: Scale) -> list[Rates]:
    """Every family, printed as soon as it is known."""
    found = []
    async with workplace(asked.base_url, lambda text: print(text, flush=True)) as place:
        for name in asked.families.split(",") if asked.families else FAMILIES:
            found.append(await rates(place, FAMILIES[name], scale, asked.output))
            print(found[-1].row, flush=True)
    return found


def main() -> int:
    """Measure and print; into the page when asked to."""
    parser = argparse.ArgumentParser(prog="bench.tasks.measure", description=__doc__)
    parser.add_argument("--families", default="", help="comma-separated (default: all)")
    parser.add_argument("--problems", type=int, default=24)
    parser.add_argument("--k", type=int, default=3, help="answers to each")
    parser.add_argument("--base-url", default="", help="a server that runs already (default: the embedded model)")
    parser.add_argument("--output", type=Path, default=ROOT / "output" / "tasks", help="where answers are recorded")
    parser.add_argument("--write", action="store_true", help="put the table into bench/tasks/README.md")
    asked = parser.parse_args()
    scale = Scale(Sizes(0, 0, asked.problems), asked.k)
    told = table(asyncio.run(measure(asked, scale)), scale)
    print(told)
    if asked.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), told, BEGIN, END), encoding="utf-8")
    return 0


def _rate(score: Score) -> str:
    span = f" [{score.interval.low:.2f}, {score.interval.high:.2f}]" if score.interval else ""
    return f"{score.mean or 0.0:.2f}{span}"


if __name__ == "__main__":
    ended(main)
