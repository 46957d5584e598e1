"""Answer a set of problems with and without a library, in the same way as in training (SPEC 1.11)."""

from collections.abc import Sequence
from typing import NamedTuple

from gym.core.experience import Library
from gym.core.problem import Problem
from gym.core.rollout import Tally
from gym.evaluation.metrics import Score, score
from gym.train.grpo.rollout_manager import RolloutManager

EVALUATION_EPOCH = -1
"""Evaluation answers have seeds of their own, the same with and without a library: differences are paired."""


class Evaluation(NamedTuple):
    """One measurement."""

    tallies: tuple[Tally, ...]
    """One a problem, in the problems' order; the texts are gone."""
    score: Score


async def evaluate(rollouts: RolloutManager, problems: Sequence[Problem], library: Library) -> Evaluation:
    """`rollouts.group_size` answers to each problem under `library`, scored, with a 95 % interval over problems."""
    found = await rollouts.each(problems, library, epoch=EVALUATION_EPOCH, keep=lambda group: group.tally)
    return Evaluation(tuple(found), score(found))
