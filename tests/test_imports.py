"""What importing costs: nothing heavy loads before it is used, and the façade's names are there all the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gym.train.grpo
from gym.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
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


def test_no_command_at_work_loads_torch(tmp_path: Path) -> None:
    """All in one process, from learning to undoing, with a scripted model."""
    for name, numbers in (("set", range(8)), ("other", range(8, 12))):
        rows = (json.dumps({"question": f"How many are {n}?", "answer": f"{n}!"}) + "\n" for n in numbers)
        (tmp_path / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
    asked = "--model scripted:desk_script:reply --reward exact --quiet"
    commands = (
        f"train --data set.jsonl --test other.jsonl --epochs 1 --experiment-name one {asked}",
        f"eval --data set.jsonl --experiences output/one/experiences.json --compare --experiment-name two {asked}",
        f"estimate --data set.jsonl {asked.removesuffix(' --quiet')}",
        f"ablate --data set.jsonl --test other.jsonl --group-size 2,3 --seeds 0 --experiment-name three {asked}",
        "compare output/one/evaluations/before.json output/one/evaluations/after.json",
        "verify --library output/one", "library list output/one",
        "library log output/one", "library undo 1 output/one --yes", "data check set.jsonl other.jsonl", "doctor", "model list",
    )  # fmt: skip
    code = (
        f"import sys\nfrom gym.cli.main import main\nfor words in {commands!r}:\n    sys.argv = ['gym', *words.split()]\n"
        f"    try:\n        main()\n    except SystemExit as end:\n        print('ENDED', words, end.code)\n"
        f"print('LOADED', *sorted(set({TRAIN.split()!r}) & set(sys.modules)))"
    )
    place = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests' / 'train'}"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env={**os.environ, **place}
    )
    ended = [
        line for line in done.stdout.splitlines() if line.startswith("ENDED") and not line.endswith((" 0", " None"))
    ]
    assert ended == [], done.stderr
    assert done.stdout.splitlines()[-1] == "LOADED"


def test_the_papers_names_come_by_star_and_stand_in_dir() -> None:
    found: dict[str, object] = {}
    exec("from gym.train.grpo import *", found)
    names = {"ExperienceManager", "LLMClient", "SemanticExtractor"}
    assert names <= found.keys()
    assert names <= set(dir(gym.train.grpo))


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match=r"module 'gym\.train\.grpo' has no attribute 'ExperienceManger'"):
        gym.train.grpo.ExperienceManger  # noqa: B018
