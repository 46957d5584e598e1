"""Paired differences as a library gives them: three answers to each problem, with and without it, right or wrong.

A problem is solved with a chance drawn from Beta(0.6, 0.9), so that many are nearly always right or nearly always wrong.
"""

from collections.abc import Callable
from random import Random

ANSWERS = 3
"""To each problem on each side."""

Change = Callable[[Random, float], tuple[float, float]]
"""(random, chance of being right without the library) -> the chances without and with it."""


def nothing(draw: Random, chance: float) -> tuple[float, float]:
    """Another text, the same behaviour."""
    return chance, chance


def shuffle(draw: Random, chance: float) -> tuple[float, float]:
    """Other problems are right, no more of them."""
    return chance, draw.betavariate(0.6, 0.9)


def skewed(draw: Random, chance: float) -> tuple[float, float]:
    """Four problems in five gain a little, one loses all: no gain in the mean, and far from symmetric."""
    return 0.6, 0.75 if draw.random() < 0.8 else 0.0


def harm(draw: Random, chance: float) -> tuple[float, float]:
    """A mean loss of 0.15."""
    return chance, chance * (0.1 if draw.random() < 0.15 / 0.36 else 1.0)


def lift(mean: float) -> Change:
    """A rule that some problems need: those lose nine tenths of their errors; `mean` gain in (0, 0.54]."""

    def change(draw: Random, chance: float) -> tuple[float, float]:
        return chance, chance + (1 - chance) * (0.9 if draw.random() < mean / 0.54 else 0.0)

    return change


def differences(change: Change, problems: int, draw: Random) -> list[float]:
    """One experiment: with minus without, for each problem, in [-1, 1]."""
    pairs = [change(draw, draw.betavariate(0.6, 0.9)) for _ in range(problems)]
    return [_mean(draw, after) - _mean(draw, before) for before, after in pairs]


def _mean(draw: Random, chance: float) -> float:
    return sum(draw.random() < chance for _ in range(ANSWERS)) / ANSWERS
