"""The paper's split under one name: 100 of AIME 2000-2023 to learn from, 2024 and 2025 held out."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from gym.config import RunConfig
from gym.core.problem import Problem
from gym.train.grpo.task import Task, held_out_reward, load_task, train_reward


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, years in (("aime_2000_2023", range(2000, 2024)), ("aime_2024", [2024]), ("aime_2025", [2025])):
        rows = [
            {"id": f"{year}-{n}", "problem": f"Find ${year}^{n}$.", "answer": "025", "year": year}
            for year in years
            for n in range(5)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def task(folder: Path, **keys: object) -> Task:
    config = RunConfig.model_validate({"domain": "math", "dataset": "paper_aime", "data_dir": str(folder), **keys})
    return load_task(config, train_reward(config), held_out_reward(config))


def years(problems: Sequence[Problem]) -> set[int]:
    return {problem.metadata["year"] for problem in problems}


def test_the_name_brings_a_hundred_problems_and_both_held_out_years_told_apart(folder: Path) -> None:
    found = task(folder)
    assert len(found.train) == 100
    assert years(found.train) <= set(range(2000, 2024))
    assert [problem.metadata["family"] for problem in found.test] == ["aime24"] * 5 + ["aime25"] * 5


def test_the_runs_seed_draws_the_hundred_and_a_seed_in_the_name_wins(folder: Path) -> None:
    assert task(folder).train == task(folder).train != task(folder, seed=1).train
    assert task(folder, dataset="paper_aime:seed=1").train == task(folder, seed=1).train


def test_held_out_problems_that_the_user_names_are_taken_instead(folder: Path) -> None:
    assert years(task(folder, test="aime25").test) == {2025}
    assert years(task(folder, test_fraction=0.1).test) <= set(range(2000, 2024))
    assert len(task(folder, dataset="aime24").test) == 0
