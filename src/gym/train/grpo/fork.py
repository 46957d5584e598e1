"""A new run that starts from an old one's paid calls (SPEC 4.6)."""

import shutil
from pathlib import Path

from gym.config import RunConfig
from gym.errors import ConfigError
from gym.train.grpo.frozen.record import record_path
from gym.train.grpo.run_dir import RunDir, safe_name
from gym.train.grpo.task import run_folder


def fork_run(config: RunConfig, new_name: str) -> RunConfig:
    """The configuration of a run called `new_name`, whose records of calls, pages and weights start as the present run's.

    Calls that the changed settings leave as they were are then served free. Raises `ConfigError` when the old run does
    not exist or the new one already does.
    """
    old = run_folder(config)
    if not (old / "calls.jsonl").exists():
        raise ConfigError(f"--fork: there is no run {str(old)!r} to fork from; start it without --fork")
    new = old.parent / safe_name(new_name)
    if any(new.glob("epoch_*")):
        raise ConfigError(f"--fork: {str(new)!r} exists already; choose another name")
    with RunDir(old), RunDir(new):
        for record in filter(Path.exists, (old / "calls.jsonl", old / "pages.jsonl", record_path(old))):
            shutil.copyfile(record, new / record.name)
    return config.model_copy(update={"output_dir": str(old.parent), "experiment_name": new.name})
