"""Many nodes in one process: one evaluation a text, one library in the end."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gym.cli.main import gym
from gym.config import RunConfig
from gym.core.experience import Library
from gym.embedding.hashing import HashingEmbedder
from gym.errors import ConfigError
from gym.evaluation.simulation import Plan, Played, play
from gym.llm.brake import Brake
from gym.train.grpo.watch import Silent

RULE = "When asked for a count, put an exclamation mark after the number."
OTHER = "When it is late, look at the clock."
PROBLEMS = 24


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunConfig:
    """Problems that a scripted model answers right when the rule is in its prompt."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "federated"))
    rows = [{"problem": f"How many apples are {n}?", "answer": f"{n}!"} for n in range(PROBLEMS)]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "rules.json").write_text(library().to_json(), encoding="utf-8")
    return RunConfig(
        model_name_or_path="scripted:counting_script:reply", dataset="all.jsonl", reward="exact", eval_k=1,
        output_dir=str(tmp_path), experiment_name="simulated",
    )  # fmt: skip


def library() -> Library:
    return Library().minted(RULE).library.minted(OTHER).library


def played(config: RunConfig, plan: Plan) -> Played:
    return play(config, library(), plan, encoder=HashingEmbedder(), watch=Silent(), brake=Brake())


def test_what_helps_is_published_and_all_hold_one_library(config: RunConfig) -> None:
    found = played(config, Plan(nodes=10, problems=12, rounds=2))
    assert [[one.text for one in decision.published] for decision in found.decisions] == [[RULE], []]
    assert len(found.libraries) == 1


def test_a_text_costs_one_evaluation_however_many_nodes_there_are(config: RunConfig) -> None:
    played(config, Plan(nodes=10, problems=12))
    calls = (Path(config.output_dir) / "simulated" / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(calls) == PROBLEMS * (1 + len(library()))


def test_it_is_the_same_each_time_and_another_with_another_seed(config: RunConfig) -> None:
    first = played(config, Plan(nodes=6, problems=8)).decisions
    assert played(config, Plan(nodes=6, problems=8)).decisions == first
    other = config.model_copy(update={"seed": 1, "experiment_name": "other"})
    assert played(other, Plan(nodes=6, problems=8)).decisions != first


def test_nodes_cannot_draw_more_problems_than_there_are(config: RunConfig) -> None:
    with pytest.raises(ConfigError, match="24 problems, and each node is to draw 30"):
        played(config, Plan(problems=30))


def test_fifty_nodes_in_one_command(config: RunConfig) -> None:
    words = ["--data", "all.jsonl", "--reward", "exact", "--model", config.model_name_or_path, "--k", "1", "--quiet", "--json",
             "--experiences", "rules.json", "--encoder", "hashing", "--nodes", "50", "--problems", "10"]  # fmt: skip
    done = CliRunner().invoke(gym, ["federate", "simulate", *words])
    assert done.exit_code == 0, done.exception
    found: dict[str, Any] = json.loads(done.stdout)
    assert (found["nodes"], found["libraries"]) == (50, 1)
    assert [one["text"] for one in found["rounds"][0]["published"]] == [RULE]


def test_it_says_why_a_text_was_not_published_and_where_its_rounds_are(config: RunConfig) -> None:
    words = ["--data", "all.jsonl", "--reward", "exact", "--model", config.model_name_or_path, "--k", "1",
             "--experiences", "rules.json", "--encoder", "hashing", "--nodes", "4", "--problems", "10",
             "--output-dir", "out", "--experiment-name", "tried"]  # fmt: skip
    done = CliRunner().invoke(gym, ["federate", "simulate", *words])
    assert done.exit_code == 0, done.exception
    assert f"not published: {OTHER}  (helps 0 of 4 nodes, 3 needed" in done.stdout
    assert "all texts and reasons: gym federate explain out/tried/rounds/round-0" in done.stderr
    assert "4 nodes, all hold one library" in done.stderr
    assert "share: 4 of 4" not in done.output
    again = CliRunner().invoke(gym, ["federate", "simulate", *words, "--nodes", "5", "--quiet"])
    assert again.exit_code == 0, again.exception
    explained = CliRunner().invoke(gym, ["federate", "explain", "out/tried/rounds/round-0", "--json"])
    assert json.loads(explained.stdout)["written_down_differs"] is None
    assert (json.loads(explained.stdout)["n"], RULE in explained.stdout) == (5, True)
