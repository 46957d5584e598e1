"""A training's checkpoints on the disk: which is the last whole one, and what a killed or damaged one becomes. Free of torch.

Transformers writes `checkpoint-N` file by file and trusts the highest N, so a kill in mid-write would end a run for ever.
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from gym.errors import ConfigError
from gym.train.grpo.frozen.safetensors import safetensors_sections

FOLDER = "checkpoints"
"""In the run's folder; the last one holds what was trained."""
STATE = "trainer_state.json"
"""Written last."""
GOES_ON = ("optimizer.pt", "scheduler.pt", "rng_state.pth")
OF_TRAINING = (*GOES_ON, "scaler.pt")
"""What only a training that goes on needs."""
_NAME = re.compile(r"checkpoint-(\d+)")


def last_whole(run: Path) -> Path | None:
    """The last checkpoint of a run that has all its files in full; None without one."""
    return next((one for one in _newest_first(run) if is_whole(one)), None)


def set_broken_aside(run: Path) -> tuple[Path, ...]:
    """Rename what lies above the last whole checkpoint, so that nobody goes on from it; the new names."""
    moved = []
    for one in _newest_first(run):
        if is_whole(one):
            break
        aside = one.with_name(f"broken-{one.name}")
        shutil.rmtree(aside, ignore_errors=True)
        moved.append(one.replace(aside))
    return tuple(moved)


def steps(checkpoint: Path | None) -> int:
    """Optimizer steps that a checkpoint holds; 0 for none."""
    return int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0


def is_whole(checkpoint: Path) -> bool:
    """Whether training can go on from it, or, at its end, be measured again."""
    state = _state(checkpoint)
    if state.get("global_step") != steps(checkpoint):
        return False
    weights = tuple(checkpoint.glob("*.safetensors"))
    if not weights or not all(map(_reaches_its_end, weights)):
        return False
    return is_finished(checkpoint) or all(is_zipfile(checkpoint / name) for name in GOES_ON)


def is_finished(checkpoint: Path) -> bool:
    """Whether it is that of the last step."""
    state = _state(checkpoint)
    return bool(state) and state.get("global_step") == state.get("max_steps")


def forget_optimizer(run: Path) -> None:
    """Of a finished training only what was trained stays, not what goes on needs: two thirds of the bytes."""
    last = last_whole(run)
    if last and is_finished(last):
        for name in OF_TRAINING:
            (last / name).unlink(missing_ok=True)


def _newest_first(run: Path) -> Iterator[Path]:
    found = [one for one in (run / FOLDER).glob("checkpoint-*") if _NAME.fullmatch(one.name) and one.is_dir()]
    yield from sorted(found, key=steps, reverse=True)


def _state(checkpoint: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return found
    return {}


def _reaches_its_end(file: Path) -> bool:
    try:
        return max((one.end for one in safetensors_sections(file)), default=0) <= file.stat().st_size
    except (ConfigError, OSError):
        return False
