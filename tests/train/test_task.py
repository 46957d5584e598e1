"""The problems of a run: what no domain may give."""

import pytest

from gym.config import RunConfig
from gym.core.problem import Problem
from gym.errors import DataError
from gym.train.grpo.domains.base import Domain, Loaded, Prompts
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.task import read_problems


def twins(source: str, *, data_dir: str, input_key: str, answer_key: str, truncate: int | None) -> Loaded:
    return Loaded(tuple(Problem(id="p", query=f"How many are {n}?", ground_truth="7") for n in range(2)))


def test_two_problems_of_one_name_are_refused_since_seeds_and_pairs_go_by_it() -> None:
    domain = Domain(name="twins", load=twins, prompts=Prompts(solve="Count."), reward="exact")
    with pytest.raises(DataError, match=r"mine: 2 problems are called 'p'"):
        read_problems(RunConfig(), domain, "mine", resolve_reward("exact"), [])
