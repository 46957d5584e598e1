"""What every source of a model shares: how it fails, how it reports bytes, and the room it needs."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO

from gym.errors import StorageError
from gym.llm.local.catalogue import Weights

CHUNK = 1 << 20

Progress = Callable[[int], None]
"""Told the bytes of the model had so far."""
Fetch = Callable[[Weights, Path, Progress], Path]
"""Brings a candidate file into a folder, or raises `Unavailable`."""


class Unavailable(Exception):
    """A source does not have the model, or not these bytes: the next one is asked."""


def nothing(done: int) -> None:
    """A progress that nobody watches."""


def copy(path: Path) -> Fetch:
    """The file itself, when its size is right."""

    def fetch(weights: Weights, incoming: Path, progress: Progress) -> Path:
        if (size := path.stat().st_size) != weights.size:
            raise Unavailable(f"{path.name!r} has {size} bytes, {weights.title} has {weights.size}")
        require_room(incoming, weights.size, weights.name)
        with path.open("rb") as source, (incoming / "copy").open("wb") as target:
            pour(source, target, 0, progress)
        return incoming / "copy"

    return fetch


def pour(source: IO[bytes], target: IO[bytes], done: int, progress: Progress) -> int:
    """Copy to the end; bytes had in all, `done` of them before."""
    while chunk := source.read(CHUNK):
        target.write(chunk)
        done += len(chunk)
        progress(done)
    return done


def require_room(folder: Path, needed: int, name: str) -> None:
    """Raise `StorageError` before the first byte when the disk cannot take `needed` more."""
    if (free := shutil.disk_usage(folder).free) < needed:
        raise StorageError(
            f"not enough room in {str(folder.parent)!r}: {name} needs {needed / 1e9:.2f} GB more, "
            f"{free / 1e9:.2f} GB are free; make room, or let ZOO_GYM_CACHE name another folder"
        )
