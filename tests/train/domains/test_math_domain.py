"""The math domain: named sets from a folder, one clear error otherwise, and the seeds' YAML."""

import json
from pathlib import Path

import pytest

from gym import plugins
from gym.config import load_config
from gym.errors import DataError
from gym.train.grpo.domains.base import Domain, Loaded

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared" / "data"
CONFIG = ROOT / "configs" / "grpo_free_math.yaml"


def domain() -> Domain:
    found: Domain = plugins.resolve("domain", "math")
    return found


def load(source: str, data_dir: Path | str = "", truncate: int | None = None) -> Loaded:
    return domain().load(source, data_dir=str(data_dir), input_key="", answer_key="", truncate=truncate)


def test_it_asks_for_a_boxed_answer_and_grades_mathematics() -> None:
    assert r"\boxed{}" in domain().prompts.solve
    assert "step by step" in domain().prompts.solve
    assert domain().reward == "math"
    assert domain().veto("anything") is None


def test_a_named_set_comes_from_the_data_dir_with_its_answers_as_written(tmp_path: Path) -> None:
    row = {"id": "aime-x", "problem": "Find $n$.", "answer": "025", "year": 2024}
    (tmp_path / "aime_2024.jsonl").write_text(json.dumps(row) + "\n")
    (problem,) = load("aime24", tmp_path).problems
    assert (problem.id, problem.query, problem.ground_truth, problem.domain) == ("aime-x", "Find $n$.", "025", "math")
    assert problem.metadata == {"year": 2024}
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
        with pytest.raises(DataError, match=r"'aime24' is not here: put aime_2024.jsonl.*--data-dir.*zoo-gym\[data\]"):
            load("aime24", tmp_path)
    else:
        pytest.skip("the extra is installed, and a hub may answer")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not here")
@pytest.mark.parametrize(
    ("name", "count"), [("aime24", 30), ("aime25", 30), ("aime", 720), ("math500", 500), ("gsm8k", 1319)]
)
def test_the_shared_sets_load_whole(name: str, count: int) -> None:
    loaded = load(name, SHARED)
    assert len(loaded.problems) == count
    assert all(problem.ground_truth for problem in loaded.problems)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not here")
def test_dapo_loads_and_texts_with_two_answers_are_named() -> None:
    loaded = load("dapo_math", SHARED)
    assert len(loaded.problems) > 17_000
    assert any("different answers" in note for note in loaded.notes)


@pytest.mark.parametrize("environ", [{}, {"DEEPSEEK_API_KEY": "sk-test"}])
def test_the_seeds_yaml_parses_with_its_key_set_and_unset(environ: dict[str, str]) -> None:
    config = load_config(CONFIG, environ=environ)
    key = config.api_key.get_secret_value() if config.api_key else None
    assert key == environ.get("DEEPSEEK_API_KEY")
    assert (config.model_name_or_path, config.api_base_url) == ("deepseek-chat", "https://api.deepseek.com/v1")
    assert (config.grpo_group_size, config.epochs, config.batch_size, config.dataset_truncate) == (5, 3, 64, 100)
    assert (config.dataset, config.domain, config.task_timeout) == ("aime24", "math", 3600)
