"""What a gradient baseline is measured on: the held-out problems, and other sets that show what is forgotten. Free of torch."""

from typing import NamedTuple

from gym.config import RunConfig
from gym.evaluation.target import Target, others
from gym.train.grpo.task import Task


class Also(NamedTuple):
    """Other sets on which forgetting is measured."""

    sets: tuple[str, ...] = ()
    reward: str = ""
    """Of these; empty: the run's, or their own."""


def targets_of(config: RunConfig, task: Task, also: Also, notes: list[str]) -> tuple[Target, ...]:
    """The held-out problems, then the other sets, each once; what a reader must know of these is added to `notes`."""
    own = Target(config.model_copy(update={"dataset": config.test or config.dataset}), task.domain, task.test)
    return (own, *others(own, config, also.sets, also.reward, notes))
