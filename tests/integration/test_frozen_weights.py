"""A real model's file that changes: between two runs, between a stop and its resume, and while a run is at it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from gym.cli.main import gym
from gym.config import RunConfig, load_config
from gym.errors import WeightsChanged
from gym.llm.meter import Meter
from gym.train.grpo.fork import fork_run
from gym.train.grpo.frozen import fingerprint
from gym.train.grpo.frozen.gguf import gguf_sections
from gym.train.grpo.training_free_workflow import train
from gym.train.grpo.watch import Silent

pytestmark = pytest.mark.slow

TENSOR = "blk.29.ffn_down.weight"


@pytest.fixture
def weights(smollm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model's file, ours to damage."""
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path / "cache"))
    return Path(shutil.copy(smollm, tmp_path / "own.gguf"))


@pytest.fixture
def config(weights: Path, tmp_path: Path) -> Callable[[str], RunConfig]:
    rows = [{"question": f"Say yes or no: is {n} even?", "answer": "Yes" if n % 2 == 0 else "No"} for n in range(2)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    settings = {
        "model": str(weights),
        "data": str(tmp_path / "train.jsonl"),
        "reward": "normalized",
        "epochs": 1,
        "group_size": 2,
        "rollout_max_tokens": 4,
        "output_dir": str(tmp_path / "output"),
    }
    return lambda name: load_config(None, {**settings, "experiment_name": name}, environ={})


def flip(path: Path) -> None:
    """One bit in the middle of a tensor, in place, as a failing disk does it."""
    section = next(section for section in gguf_sections(path) if section.name == TENSOR)
    with path.open("r+b") as file:
        file.seek((section.start + section.end) // 2)
        (byte,) = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte ^ 16]))


def test_a_training_run_and_an_evaluation_in_its_folder_are_both_verified(
    weights: Path, config: Callable[[str], RunConfig], tmp_path: Path
) -> None:
    run = train(config("both")).folder
    arguments = ["--data", str(tmp_path / "train.jsonl"), "--reward", "normalized", "--model", str(weights), "--k", "1"]
    places = ["--output-dir", str(run.parent), "--experiment-name", run.name, "--rollout-max-tokens", "4", "--quiet"]
    assert CliRunner().invoke(gym, ["eval", *arguments, *places], catch_exceptions=False).exit_code == 0
    found = CliRunner().invoke(gym, ["verify", str(run), "--json"])
    checks = json.loads(found.stdout)["checks"]
    assert [Path(check["subject"]).name for check in checks] == ["manifest.json", "manifest-eval.json"]
    assert [check["verdict"] for check in checks] == ["unchanged", "unchanged"]
    flip(weights)
    found = CliRunner().invoke(gym, ["verify", str(run / "manifest-eval.json")])
    assert (found.exit_code, found.stdout.splitlines()[1:]) == (4, [f"  tensor {TENSOR!r} changed"])


def test_a_bit_that_flips_between_two_runs_is_caught_by_name(weights: Path, config: Callable[[str], RunConfig]) -> None:
    first = train(config("first")).folder
    whole = fingerprint(weights).whole
    assert CliRunner().invoke(gym, ["verify", str(first)]).exit_code == 0
    assert CliRunner().invoke(gym, ["verify", "--library", str(first)]).exit_code == 0
    flip(weights)
    second = train(config("second")).folder
    found = CliRunner().invoke(gym, ["verify", str(first)])
    assert (found.exit_code, found.stdout.splitlines()[1:]) == (4, [f"  tensor {TENSOR!r} changed"])
    assert CliRunner().invoke(gym, ["verify", "--library", str(first)]).exit_code == 4
    assert CliRunner().invoke(gym, ["verify", str(second)]).exit_code == 0
    with pytest.raises(WeightsChanged, match=f"not those that run .* began with: SHA-256 {whole} then.*{TENSOR!r}"):
        train(config("first"))
    with pytest.raises(WeightsChanged, match=r"not those that run .*forked.* began with"):
        train(fork_run(config("first"), "forked"))


class Failing(Silent):
    """A watch on whose machine a bit flips when the run's first phase begins."""

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path

    def phase(self, name: str, total: int, meter: Meter) -> None:
        if self.path is not None:
            flip(self.path)
            self.path = None


def test_a_bit_that_flips_during_a_run_is_caught_at_its_end(
    weights: Path, config: Callable[[str], RunConfig], tmp_path: Path
) -> None:
    with pytest.raises(WeightsChanged, match=f"changed during the run: .*: tensor {TENSOR!r} changed"):
        train(config("run"), watch=Failing(weights))
    folder = tmp_path / "output" / "run"
    found = CliRunner().invoke(gym, ["verify", str(folder), "--json"])
    assert found.exit_code == 4
    assert json.loads(found.stdout)["checks"][0]["differences"] == [f"during the run: tensor {TENSOR!r} changed"]
    assert not (folder / "signature.json").exists()
