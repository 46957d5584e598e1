"""The math domain: named sets from a folder, one clear error otherwise, and the seeds' YAML."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from gym import plugins
from gym.config import load_config
from gym.errors import DataError
from gym.train.grpo.domains.base import Domain, Loaded
from gym.train.grpo.domains.math.repair import COMMAND, CONTROL, WRAPPER
from gym.train.grpo.domains.shingles import pairs
from gym.train.grpo.rewards import resolve_reward

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared" / "data"
CONFIG = ROOT / "configs" / "grpo_free_math.yaml"


def domain() -> Domain:
    found: Domain = plugins.resolve("domain", "math")
    return found


@cache
def load(source: str, data_dir: Path | str = "", truncate: int | None = None) -> Loaded:
    return domain().load(source, data_dir=str(data_dir), input_key="", answer_key="", truncate=truncate)


def test_it_asks_for_a_boxed_answer_and_grades_mathematics() -> None:
    assert r"\boxed{}" in domain().prompts.solve
    assert "step by step" in domain().prompts.solve
    assert domain().reward == "math"
    assert domain().veto("anything") is None


def test_a_named_set_comes_from_the_data_dir_with_plain_integers_for_answers(tmp_path: Path) -> None:
    row = {"id": "aime-x", "problem": "Find $n$.", "answer": "025", "year": 2024}
    (tmp_path / "aime_2024.jsonl").write_text(json.dumps(row) + "\n")
    (problem,) = load("aime24", tmp_path).problems
    assert (problem.id, problem.query, problem.ground_truth, problem.domain) == ("aime-x", "Find $n$.", "25", "math")
    assert {key: problem.metadata[key] for key in ("year", "needs_figure")} == {"year": 2024, "needs_figure": False}
    assert load("AIME24", tmp_path).problems == (problem,)


def test_a_file_of_ones_own_is_taken_too(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"question": "1+1?", "answer": 2}\n')
    assert load(str(tmp_path / "mine.jsonl")).problems[0].ground_truth == "2"
    assert load("mine.jsonl", tmp_path).problems[0].id == "mine-1"


def test_an_unknown_set_names_the_nearest_one() -> None:
    with pytest.raises(DataError, match=r"unknown problem set 'aime2': did you mean 'aime2?[45]?'.*aime24, aime25"):
        load("aime2")


def test_a_set_that_is_nowhere_says_both_ways_to_get_it(tmp_path: Path) -> None:
    try:
        import datasets  # noqa: F401
    except ImportError:
        with pytest.raises(
            DataError, match=r"'aime24' is not in '.*': put aime_2024.jsonl.*--data-dir.*zoo-gym\[data\]' where"
        ):
            load("aime24", tmp_path)
    else:
        pytest.skip("the extra is installed, and a hub may answer")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not here")
@pytest.mark.parametrize(
    ("name", "count", "figures"),
    [
        ("aime24", 30, 6),
        ("aime24:h4", 30, 4),
        ("aime25", 30, 5),
        ("aime", 720, 69),
        ("aime:2000-2001,no_figures", 59, 0),
        ("paper_aime", 100, 8),
        ("aime24+aime25", 60, 11),
        ("math500", 500, 43),
        ("gsm8k", 1319, 1),
    ],
)
def test_the_shared_sets_load_whole_and_every_answer_can_be_graded(name: str, count: int, figures: int) -> None:
    problems = load(name, SHARED).problems
    assert len(problems) == count
    assert sum(problem.metadata["needs_figure"] for problem in problems) == figures
    reward = resolve_reward(domain().reward)
    assert [problem.id for problem in problems if reward.unscorable(problem)] == []


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not here")
def test_dapo_is_repaired_and_every_text_with_two_answers_is_named() -> None:
    loaded = load("dapo_math", SHARED)
    assert len(loaded.problems) == 17_290 - 26 - 766 - 12
    assert all(re.fullmatch(r"-?\d+", problem.ground_truth or "") for problem in loaded.problems)
    assert not any(re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", problem.query) for problem in loaded.problems)
    damage = Counter(kind for problem in loaded.problems for kind in problem.metadata.get("repaired", ()))
    assert (damage[COMMAND], damage[WRAPPER], damage[CONTROL]) == (615, 20, 28)
    named = [note for note in loaded.notes if "different answers" in note]
    assert len(named) == 12
    assert all(note.count("dapo-") >= 2 for note in named)
    assert any(note.count("dapo-") == 12 and "two answers: dropped" in note for note in loaded.notes)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not here")
@pytest.mark.parametrize(
    ("a", "b", "shared"),
    [("aime", "aime24+aime25", 0), ("dapo_math", "aime24+aime25", 0), ("math500", "gsm8k", 0), ("math500", "aime", 7)],
)
def test_the_shared_training_sets_hold_no_test_problem_that_is_not_known(a: str, b: str, shared: int) -> None:
    found = pairs(load(a, SHARED).problems, load(b, SHARED).problems)
    assert len({pair.a for pair in found}) == shared


@pytest.mark.parametrize("environ", [{}, {"DEEPSEEK_API_KEY": "sk-test"}])
def test_the_seeds_yaml_parses_with_its_key_set_and_unset(environ: dict[str, str]) -> None:
    config = load_config(CONFIG, environ=environ)
    key = config.api_key.get_secret_value() if config.api_key else None
    assert key == environ.get("DEEPSEEK_API_KEY")
    assert (config.model_name_or_path, config.api_base_url) == ("deepseek-chat", "https://api.deepseek.com/v1")
    assert (config.grpo_group_size, config.epochs, config.batch_size, config.dataset_truncate) == (5, 3, 64, 100)
    assert (config.dataset, config.domain, config.task_timeout) == ("aime24", "math", 3600)
