"""weights.json: the fingerprints a run began and ended with, kept beside its manifest so that a change can be named."""

from pathlib import Path

from pydantic import ValidationError

from gym.core.value import Value
from gym.errors import ConfigError
from gym.train.grpo.frozen.parts import Fingerprint

EVALUATION = "-eval"
"""Ends the names of what an evaluation leaves in the folder of a training run, which has a manifest of its own."""


def record_path(run: Path, ending: str = "") -> Path:
    """Where a run's record lies."""
    return run / f"weights{ending}.json"


def manifest_path(run: Path, ending: str = "") -> Path:
    """Where the manifest lies that it belongs to."""
    return run / f"manifest{ending}.json"


class Held(Value):
    """One model before and after a run."""

    before: Fingerprint
    after: str | None = None
    """The whole digest at the run's end; None until then."""
    became: Fingerprint | None = None
    """What it was at the end, where that is something else."""


class Record(Value):
    """What a run's weights.json holds."""

    model: str
    """The model id as the run was told it."""
    files: Held
    memory: Held | None = None
    """Of the module that was in memory, where the run had one."""

    def to_json(self) -> str:
        """The file's text."""
        return self.model_dump_json(exclude_defaults=True) + "\n"


def read_record(path: Path) -> Record | None:
    """The record in a file; None where there is none. Raises `ConfigError` when it cannot be read as one."""
    try:
        return Record.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise ConfigError(f"{str(path)!r} is damaged: it holds no digests of weights") from error
