"""A node that is opened on a task of its own."""

import json
from pathlib import Path

import pytest

from gym.config import RunConfig
from gym.errors import ConfigError
from gym.federated.homes import NodeHome, ServerHome
from gym.federated.team import Team
from gym.train.grpo.participant import open_node


def home_of(root: Path, model: str | None = None) -> NodeHome:
    server = ServerHome.create(root / "server", ("localhost",), Team(encoder="hashing-384-v1", model=model))
    home = NodeHome.create(root / "n1", "n1")
    server.join(home.card)
    server.invite(home)
    return home


def config_of(root: Path, model: str) -> RunConfig:
    (root / "own.jsonl").write_text(json.dumps({"problem": "2 + 2?", "answer": "4"}), encoding="utf-8")
    return RunConfig(model_name_or_path=model, dataset=str(root / "own.jsonl"), reward="exact")


def test_of_a_model_in_a_folder_only_its_name_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("jo/small-model")
    folder.mkdir(parents=True)
    assert open_node(home_of(tmp_path), config_of(tmp_path, str(folder))).model == "small-model"
    assert open_node(home_of(tmp_path / "b", "small-model"), config_of(tmp_path, str(folder))).model == "small-model"
    assert open_node(home_of(tmp_path / "c", str(folder)), config_of(tmp_path, str(folder))).model == str(folder)


def test_another_model_than_the_teams_and_a_name_that_no_bundle_takes_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the team's model is 'm', not 'other': give --model m"):
        open_node(home_of(tmp_path, "m"), config_of(tmp_path, "other"))
    with pytest.raises(ConfigError, match="the name of the model has 81 characters, at most 80 travel"):
        open_node(home_of(tmp_path / "b"), config_of(tmp_path, 81 * "m"))
