"""A weights file on disk: its digest, its place in the cache, and whether it is a GGUF at all."""

import hashlib
import os
from pathlib import Path

from platformdirs import user_cache_dir

from gym.errors import ConfigError
from gym.llm.local.catalogue import Weights

MAGIC = b"GGUF"
CACHE_VARIABLE = "ZOO_GYM_CACHE"


def cache_dir(kind: str = "models") -> Path:
    """Where models, or other things that can be had again, are kept: below `$ZOO_GYM_CACHE`, else the user's cache."""
    return Path(os.environ.get(CACHE_VARIABLE) or user_cache_dir("zoo-gym")) / kind


def present(weights: Weights, folder: Path | None = None) -> Path | None:
    """The file in the cache when it is there whole; its digest was checked when it came in."""
    path = (folder or cache_dir()) / weights.file_name
    return path if path.is_file() and path.stat().st_size == weights.size else None


def cached(weights: Weights, folder: Path | None = None) -> Path | None:
    """The file in the cache when it and all that belongs to it are there."""
    return present(weights, folder) if all(present(other, folder) for other in weights.beside) else None


def weights_digest(path: Path) -> str:
    """SHA-256 of the file's bytes as they are now, 64 hex digits; never a remembered value (SPEC 5.4)."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_gguf(path: Path) -> Path:
    """The path itself; raises `ConfigError` when it is missing, unreadable, or starts like something else."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except FileNotFoundError as error:
        raise ConfigError(f"model file {str(path)!r} does not exist") from error
    except OSError as error:
        raise ConfigError(f"model file {str(path)!r} cannot be read: {error.strerror}") from error
    if magic != MAGIC:
        raise ConfigError(f"model file {str(path)!r} is not a GGUF file: it starts with {magic!r}, not {MAGIC!r}")
    return path
