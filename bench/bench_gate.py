"""The validation gate beside the test that answers everything, and beside other ways to stop early.

Simulated steps whose worth is known: how often each way takes the new library, and for what share of the answers.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from math import e, exp, fsum, log, log1p
from random import Random
from statistics import NormalDist
from typing import NamedTuple

from bench.differences import Change, differences, harm, lift, nothing, shuffle, skewed
from bench.options import scale
from bench.report import Table, share
from gym.evaluation.crossing import crossing
from gym.evaluation.sequential import ends_of_blocks, look

ERROR = 0.05
STEPS = 1_000
"""Simulated for each figure; the standard error of a share of 5 % is then 0.7 points."""
SIZES = (6, 10, 20, 30, 60)
CLOSE = 0.05
"""Found less often than the test that answers everything, at most."""
USELESS: dict[str, Change] = {
    "the same behaviour": nothing, "others right": shuffle, "skewed": skewed, "loss 0.15": harm
}  # fmt: skip
WORTH: dict[str, Change] = {"gain 0.1": lift(0.1), "gain 0.2": lift(0.2), "gain 0.3": lift(0.3), "gain 0.4": lift(0.4)}


class Outcome(NamedTuple):
    """One simulated step."""

    taken: bool
    answered: int
    """Problems."""


Design = Callable[[Sequence[float]], Outcome]
Spending = Callable[[float], float]


def gate(found: Sequence[float]) -> Outcome:
    """What the product does."""
    ends = ends_of_blocks(len(found))
    for count in range(1, len(ends) + 1):
        verdict = look(found[: ends[count - 1]], ends[:count], len(found), error=ERROR).verdict
        if verdict != "open":
            return Outcome(verdict == "better", ends[count - 1])
    return Outcome(False, len(found))


def fixed(found: Sequence[float], error: float = ERROR) -> Outcome:
    """The one-sided sign-flip test of all problems."""
    done = crossing(found, [len(found)], [error], planned=len(found))
    return Outcome(bool(done.crossed), len(found))


def spending(found: Sequence[float], spent: Spending) -> Outcome:
    """The gate's looks, the error spent in another way, never given up."""
    ends = ends_of_blocks(len(found))
    done = crossing(found, ends, [spent(end / len(found)) for end in ends], planned=len(found))
    return Outcome(bool(done.crossed), done.crossed or len(found))


def betting(found: Sequence[float]) -> Outcome:
    """Wealth of a mixture of 19 fixed bets on a positive mean; anytime-valid, so looked at after every problem."""
    bets = [0.05 * place for place in range(1, 20)]
    for end in range(1, len(found) + 1):
        wealth = fsum(exp(fsum(log1p(bet * one) for one in found[:end])) for bet in bets) / len(bets)
        if wealth >= 1 / ERROR:
            return Outcome(True, end)
    return Outcome(False, len(found))


def obrien_fleming(part: float) -> float:
    """Spends nearly all at the end."""
    normal = NormalDist()
    return 2 - 2 * normal.cdf(normal.inv_cdf(1 - ERROR / 2) / part**0.5)


def pocock(part: float) -> float:
    """Spends about evenly."""
    return ERROR * log(1 + (e - 1) * part)


OTHERS: dict[str, Design] = {
    "two-sided at 5 %, all answers": partial(fixed, error=ERROR / 2),
    "O'Brien-Fleming spending": partial(spending, spent=obrien_fleming),
    "Pocock spending": partial(spending, spent=pocock),
    "betting e-process": betting,
}


class Rate(NamedTuple):
    """Of many steps."""

    taken: float
    answered: float
    """Share of the problems."""

    def __str__(self) -> str:
        return f"{share(self.taken)}, {100 * self.answered:.0f} % answered"


def rate(design: Design, change: Change, problems: int) -> Rate:
    """The same steps for every design."""
    draw, steps = Random(f"{problems}"), max(20, int(STEPS * scale()))
    outcomes = [design(differences(change, problems, draw)) for _ in range(steps)]
    return Rate(sum(one.taken for one in outcomes) / steps, sum(one.answered for one in outcomes) / steps / problems)


def main() -> int:
    """Errors, then gains found, by the number of validation problems; then the other ways, for 30 problems."""
    table = Table("bench_gate", "The gate: steps taken, reference: the test of all answers")
    allowed = ERROR + 3 * (ERROR * (1 - ERROR) / max(20, STEPS * scale())) ** 0.5
    for problems in SIZES:
        for name, change in {**USELESS, **WORTH}.items():
            ours, whole = rate(gate, change, problems), rate(fixed, change, problems)
            least = max(0.0, whole.taken - CLOSE)
            good, target = (
                (ours.taken <= allowed, f"<= {share(allowed)}")
                if name in USELESS
                else (ours.taken >= least, f">= {share(least)}")
            )
            table.add(f"{problems} problems, {name}", f"{ours}", f"{whole}", target, good)
    for other, design in OTHERS.items():
        for name in ("gain 0.1", "gain 0.2", "gain 0.3"):
            table.add(f"30 problems, {name}: {other}", f"{rate(design, WORTH[name], 30)}")
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
