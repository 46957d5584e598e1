"""What importing costs: nothing heavy loads before it is used, and the façade's names are there all the same."""

import subprocess
import sys

import pytest

import gym.train.grpo


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import gym.train.grpo", "aiohttp numpy pydantic rich"),
        ("from gym.train.grpo import ExperienceManager", "aiohttp numpy rich"),
        ("from gym.train.grpo import SemanticExtractor", "numpy rich"),
        ("import gym.train.grpo.rewards.worker", "aiohttp numpy rich math_verify"),
        ("import gym.cli.main", "aiohttp numpy pydantic rich"),
        ("import gym.dao.content, gym.dao.artifacts", "aiohttp httpx numpy web3"),
    ],
)
def test_what_is_not_used_is_not_loaded(statement: str, absent: str) -> None:
    code = f"import sys\n{statement}\nprint(*sorted(set({absent.split()!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_papers_names_come_by_star_and_stand_in_dir() -> None:
    found: dict[str, object] = {}
    exec("from gym.train.grpo import *", found)
    names = {"ExperienceManager", "LLMClient", "SemanticExtractor"}
    assert names <= found.keys()
    assert names <= set(dir(gym.train.grpo))


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match=r"module 'gym\.train\.grpo' has no attribute 'ExperienceManger'"):
        gym.train.grpo.ExperienceManger  # noqa: B018
