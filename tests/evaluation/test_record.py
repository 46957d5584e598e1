"""Issue 5.1: an evaluation leaves its figures on disk, whole or not at all, and without the texts."""

import json
from pathlib import Path

import pytest

from gym.config import RunConfig
from gym.core.chat import Usage
from gym.core.experience import Library
from gym.core.problem import Problem
from gym.core.rollout import Tally
from gym.errors import ConfigError
from gym.evaluation.record import Identity, Record, answers, dollars, forget, identity, read, write
from gym.train.grpo.domains.base import Domain, Loaded, Prompts

RULE = "When asked for a count, put an exclamation mark after the number."


def load(source: str, *, data_dir: str, input_key: str, answer_key: str, truncate: int | None) -> Loaded:
    return Loaded(())


DOMAIN = Domain(name="counts", load=load, prompts=Prompts(solve="Count."), reward="exact")
PROBLEMS = tuple(
    Problem(id=f"p{n}", query=f"How many are {n}?", ground_truth="7", metadata={"level": n, "solution": "so " * 99})
    for n in range(3)
)
TALLIES = tuple(
    Tally(item.id, item.metadata, (1.0, 0.0), 1, 1, None, Usage(prompt=30, completion=6), {}, 1.5) for item in PROBLEMS
)


def made(name: str = "library", **settings: object) -> Identity:
    config = RunConfig.model_validate({"model_name_or_path": "gpt-4o-mini", "seed": 5, "eval_k": 3, **settings})
    return identity(config, DOMAIN, PROBLEMS, Library().minted(RULE).library, name=name, dataset="test.jsonl")


def left(run: Path, name: str = "library") -> Path:
    write(run, made(name), 0.25, answers(PROBLEMS, TALLIES))
    return run / "evaluations" / f"{name}.json"


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    found = read(left(tmp_path))
    assert found == Record(identity=made(), usd=0.25, answers=tuple(answers(PROBLEMS, TALLIES)))
    assert [tally._replace(metadata={}) for tally in found.tallies] == [one._replace(metadata={}) for one in TALLIES]


def test_the_identity_says_what_was_asked_for_and_with() -> None:
    told = made()
    assert (told.model, told.dataset, told.domain, told.reward) == ("gpt-4o-mini", "test.jsonl", "counts", "exact")
    assert (told.k, told.temperature, told.seed) == (3, 0.7, 5)
    assert told.library == Library().minted(RULE).library.digest
    assert told.library_size == 1
    assert told.library_tokens > 10
    assert made(system_prompt="Count well.").instructions != told.instructions


def test_figures_and_short_metadata_are_kept_and_no_text(tmp_path: Path) -> None:
    text = left(tmp_path).read_text(encoding="utf-8")
    rows = json.loads(text)["answers"]
    assert rows[1] == {
        "id": "p1", "asked": rows[1]["asked"], "rewards": [1.0, 0.0], "no_answer": 1, "failed": 1, "latency_s": 1.5,
        "tokens": {"prompt": 30, "cached": 0, "completion": 6, "reasoning": 0, "known": True}, "metadata": {"level": 1},
    }  # fmt: skip
    assert "How many" not in text
    assert "exclamation" not in text
    assert len(text.splitlines()) == len(PROBLEMS) + 2


def test_metadata_that_is_no_proper_text_or_number_is_read_back(tmp_path: Path) -> None:
    odd = {"tags": ["a\ud83c", "b"], "level": float("inf"), "nested": [["x"]], "none": None}
    write(tmp_path, made(), None, answers(PROBLEMS[:1], [TALLIES[0]._replace(metadata=odd)]))
    assert read(tmp_path).answers[0].metadata == {"tags": ["a\ud83c", "b"], "level": None}


def test_of_a_run_the_result_is_taken(tmp_path: Path) -> None:
    for name in ("plain", "before"):
        left(tmp_path, name)
    assert read(tmp_path).identity.name == "plain"
    left(tmp_path, "library")
    assert read(tmp_path).identity.name == "library"
    left(tmp_path, "after")
    assert read(tmp_path).identity.name == "after"


def test_an_earlier_evaluation_goes_and_what_a_training_run_left_stays(tmp_path: Path) -> None:
    for name in ("plain", "library", "again", "also-1-plain", "before", "after"):
        left(tmp_path, name)
    forget(tmp_path, {"plain"})
    assert sorted(file.stem for file in (tmp_path / "evaluations").iterdir()) == ["after", "before", "plain"]


def test_what_is_no_evaluation_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist: give a folder of `gym train`, `gym eval` or"):
        read(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="is not a run's folder"):
        read(tmp_path)
    (tmp_path / "config.yaml").write_text("seed: 1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="holds no evaluation"):
        read(tmp_path)
    cut = left(tmp_path)
    cut.write_bytes(cut.read_bytes()[:-40])
    with pytest.raises(ConfigError, match="is no evaluation, or a damaged one"):
        read(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"rewards": [7.0]},
        {"rewards": [float("nan")]},
        {"failed": -3},
        {"no_answer": -1},
        {"latency_s": float("inf")},
        {"id": "p0"},
    ],
)
def test_figures_that_no_evaluation_gives_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    file = left(tmp_path)
    kept = json.loads(file.read_text(encoding="utf-8"))
    kept["answers"][1] |= change
    file.write_text(json.dumps(kept), encoding="utf-8")
    with pytest.raises(ConfigError, match="is no evaluation, or a damaged one"):
        read(file)


def test_dollars_are_known_or_said_to_be_unknown() -> None:
    assert dollars("gpt-4o-mini", TALLIES, None) == pytest.approx((90 * 0.15 + 18 * 0.60) / 1e6)
    assert dollars("m", TALLIES, {"m": {"prompt": 1.0, "completion": 2.0}}) == pytest.approx(126e-6)
    assert dollars("m", TALLIES, None) is None
    silent = [tally._replace(tokens=Usage(known=False)) for tally in TALLIES]
    assert dollars("gpt-4o-mini", silent, None) is None
    assert dollars("local:m", silent, None) == 0.0
