"""`gym model get|list`."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gym.cli.main import gym
from gym.errors import ConfigError
from gym.llm.local.catalogue import EVERYTHING, find


def run(*arguments: str) -> Result:
    return CliRunner().invoke(gym, ["model", *arguments])


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.mark.usefixtures("empty_cache")
def test_the_list_names_every_model_with_size_licence_and_use() -> None:
    result = run("list")
    assert result.exit_code == 0
    for weights in EVERYTHING.values():
        row = next(line for line in result.output.splitlines() if line.startswith(weights.name))
        assert f"{weights.size / 1e9:.2f} GB" in row
        assert weights.licence in row
        assert " no " in row


@pytest.mark.usefixtures("smollm")
def test_the_list_says_what_is_cached() -> None:
    rows = {row["name"]: row for row in json.loads(run("list", "--json").stdout)["models"]}
    assert rows["smollm2-135m"]["path"].endswith("smollm2-135m.gguf")


def test_get_takes_the_users_copy_and_prints_the_header(smollm: Path, empty_cache: Path, tmp_path: Path) -> None:
    own = shutil.copy(smollm, tmp_path / "own.gguf")
    result = run("get", "smollm2-135m", "--from", str(own), "--json")
    assert result.exit_code == 0, result.output
    got = json.loads(result.stdout)
    assert Path(got["path"]) == empty_cache / "smollm2-135m.gguf"
    assert got["sha256"] == EVERYTHING["smollm2-135m"].sha256
    assert got["header"] == {
        "name": "Smollm2 135M 8k Lc100K Mix1 Ep2",
        "architecture": "llama",
        "context": 8192,
        "chat_template": True,
    }


@pytest.mark.usefixtures("smollm")
def test_get_of_a_cached_model_says_how_to_use_it() -> None:
    result = run("get", "local:smollm2-135m")
    assert result.exit_code == 0
    assert "8192 tokens of context, with a chat template" in result.stdout
    assert "--model local:smollm2-135m" in result.stdout


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["smollm"], "did you mean 'smollm2-135m'"), (["smollm2-135m", "--from", "/no/such/file"], "does not exist")],
)
def test_a_wrong_name_or_path_is_one_clear_error(arguments: list[str], complaint: str) -> None:
    result = run("get", *arguments)
    assert isinstance(result.exception, ConfigError)
    assert complaint in str(result.exception)


@pytest.mark.usefixtures("minilm")
def test_the_encoder_is_listed_and_got_but_is_no_model_to_ask() -> None:
    rows = {row["name"]: row for row in json.loads(run("list", "--json").stdout)["models"]}
    assert rows["all-minilm-l6-v2"]["path"].endswith("all-minilm-l6-v2.safetensors")
    result = run("get", "all-minilm-l6-v2")
    assert "for retrieval" in result.stdout
    assert "--model" not in result.stdout
    with pytest.raises(ConfigError, match="unknown embedded model"):
        find("local:all-minilm-l6-v2")
