"""Training, validation and held-out problems: split by a seed, and compared so that none leaks (SPEC 5.5)."""

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from gym.core.problem import Problem
from gym.core.text import count
from gym.errors import DataError
from gym.train.grpo.domains.columns import normalized


class Split(NamedTuple):
    """Disjoint parts of one set, each in the set's order."""

    train: tuple[Problem, ...]
    val: tuple[Problem, ...]
    test: tuple[Problem, ...]


def split(problems: Sequence[Problem], *, val: float = 0.0, test: float = 0.0, seed: int = 0) -> Split:
    """The same parts for the same problems, fractions and seed; a fraction above 0 gives one problem at least.

    Raises `DataError` when nothing would be left to train on.
    """
    sizes = [max(1, round(fraction * len(problems))) if fraction else 0 for fraction in (val, test)]
    if sum(sizes) >= len(problems):
        there = count(len(problems), "problem", verb="is/are")
        raise DataError(f"{there} too few to split off {sizes[0]} for validation and {sizes[1]} held out")
    order = list(range(len(problems)))
    random.Random(f"split {seed}").shuffle(order)
    parts = order[: sizes[0]], order[sizes[0] : sum(sizes)]
    chosen = [tuple(problems[place] for place in sorted(part)) for part in (order[sum(sizes) :], *parts)]
    return Split(*chosen)


def overlap(one: Sequence[Problem], other: Sequence[Problem]) -> tuple[tuple[Problem, Problem], ...]:
    """Pairs, one of each set, that ask the same after normalising; in the order of `one`."""
    asked: defaultdict[str, list[Problem]] = defaultdict(list)
    for problem in other:
        asked[normalized(problem.query)].append(problem)
    return tuple((problem, twin) for problem in one for twin in asked.get(normalized(problem.query), ()))


def require_disjoint(
    one: Sequence[Problem], other: Sequence[Problem], names: tuple[str, str] = ("training", "held-out")
) -> None:
    """Raises `DataError` that names the first shared problems and `--allow-overlap`."""
    if pairs := overlap(one, other):
        shown = ", ".join(f"{a.id} = {b.id}" for a, b in pairs[:3]) + (" …" if len(pairs) > 3 else "")
        both = count(len(pairs), "problem", verb="is/are")
        raise DataError(
            f"{both} in both the {names[0]} and the {names[1]} set ({shown}): remove them, "
            " or pass --allow-overlap to go on and have it said in the report"
        )
