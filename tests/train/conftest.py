"""A small counting task and a scripted model for whole runs of the loop."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gym.config import RunConfig, load_config

Configured = Callable[..., RunConfig]


def write_rows(path: Path, numbers: range) -> Path:
    """Counting questions whose right answer carries an exclamation mark that the question does not ask for."""
    rows = [{"id": f"p{n}", "question": f"How many apples are {n} apples?", "answer": f"{n}!"} for n in numbers]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configured:
    """A configuration over 12 training, 12 held-out and 6 validation problems, answered by `desk_script.py`."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    for name, numbers in (("train", range(12)), ("test", range(12, 24)), ("val", range(24, 30))):
        write_rows(tmp_path / f"{name}.jsonl", numbers)

    def config(**changes: object) -> RunConfig:
        settings = {
            "model": "scripted:desk_script:reply",
            "data": str(tmp_path / "train.jsonl"),
            "reward": "exact",
            "epochs": 2,
            "batch_size": 5,
            "output_dir": str(tmp_path / "output"),
            "experiment_name": "run",
        }
        return load_config(None, settings | changes, environ={})

    return config
