"""What importing costs: nothing heavy loads before it is used, and the façade's names are there all the same."""

import subprocess
import sys

import pytest

import gym.train.grpo
from gym.cli.main import COMMANDS

TRAIN = "torch transformers trl peft accelerate"
"""What the extra [train] brings."""


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import gym.train.grpo", "aiohttp numpy pydantic rich"),
        ("from gym.train.grpo import ExperienceManager", "aiohttp numpy rich"),
        ("from gym.train.grpo import SemanticExtractor", "numpy rich"),
        ("import gym.train.grpo.rewards.worker", "aiohttp numpy rich math_verify"),
        ("import gym.cli.main", "aiohttp numpy pydantic rich"),
        ("import gym.dao.content, gym.dao.artifacts", "aiohttp httpx numpy web3"),
        ("import gym.cli.dao", "aiohttp httpx numpy web3"),
        ("import gym", TRAIN),
        ("import gym.train.grpo.training_free_workflow, gym.evaluation.measure", TRAIN),
        ("import gym.train.grpo.gradient.workflow, gym.train.grpo.gradient.plan", TRAIN),
        ("import gym.llm.hf.place, gym.llm.hf.opening, gym.llm.endpoint", TRAIN),
        ("import gym.signing", "cryptography"),
        ("import gym.cli.federate, gym.train.grpo.participant", f"flwr uvicorn fastapi {TRAIN}"),
        ("import gym.train.grpo.verification", "aiohttp cryptography numpy rich torch transformers"),
    ],
)
def test_what_is_not_used_is_not_loaded(statement: str, absent: str) -> None:
    code = f"import sys\n{statement}\nprint(*sorted(set({absent.split()!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("words", ["--help", "--version", *(f"{name} --help" for name in (*COMMANDS, "dao watch"))])
def test_no_command_loads_what_it_does_not_use(words: str) -> None:
    code = f"import sys\nfrom gym.cli.main import main\nsys.argv = ['gym', *{words.split()!r}]\ntry:\n    main()\nfinally:\n    "
    code += f"print('LOADED', *sorted(set({TRAIN.split()!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].split() == ["LOADED"]


def test_the_papers_names_come_by_star_and_stand_in_dir() -> None:
    found: dict[str, object] = {}
    exec("from gym.train.grpo import *", found)
    names = {"ExperienceManager", "LLMClient", "SemanticExtractor"}
    assert names <= found.keys()
    assert names <= set(dir(gym.train.grpo))


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match=r"module 'gym\.train\.grpo' has no attribute 'ExperienceManger'"):
        gym.train.grpo.ExperienceManger  # noqa: B018
