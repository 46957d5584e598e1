"""Where a local transformers model is: `hf:FOLDER` (what `save_pretrained` leaves) or `hf:FILE.gguf`. Free of torch."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gym.errors import ConfigError, MissingExtra
from gym.llm.local.catalogue import is_embedded
from gym.llm.local.weights import check_gguf

PREFIX = "hf:"
NEEDED = ("torch", "transformers")
CONTEXT_KEYS = ("max_position_embeddings", "n_positions")
"""What the architectures call it in config.json."""


def is_hf(model: str) -> bool:
    """Whether a model id means a transformers model of this machine.

    >>> is_hf("hf:~/models/qwen"), is_hf("hf:tiny.gguf"), is_hf("local:smollm2-135m")
    (True, True, False)
    """
    return model.startswith(PREFIX)


def runs_here(model: str) -> bool:
    """Whether a model id means weights of this machine, served by us or in this process."""
    return is_hf(model) or is_embedded(model)


def locate(model: str) -> Path:
    """The folder or GGUF file that `hf:PATH` names; raises `ConfigError` where there is no model."""
    named = model.removeprefix(PREFIX)
    path = Path(named).expanduser().absolute()
    if path.suffix.lower() == ".gguf":
        return check_gguf(path)
    if named and (path / "config.json").is_file():
        return path
    why = "it has no config.json" if path.is_dir() else "it does not exist"
    raise ConfigError(
        f"{model!r} is no transformers model: {why}; give hf:FOLDER as save_pretrained leaves it, or hf:FILE.gguf"
    )


def context(model: str) -> int | None:
    """Tokens that the model's window takes, as its folder says; None where it does not (or the model is a GGUF file)."""
    path = locate(model)
    if path.is_file():
        return None
    found = _settings(path / "config.json")
    found = found.get("text_config", found)
    return next((int(found[key]) for key in CONTEXT_KEYS if isinstance(found.get(key), int)), None)


def require_extra(what: str, *packages: str) -> None:
    """Raise `MissingExtra` unless torch, transformers and `packages` are installed."""
    if any(find_spec(name) is None for name in (*NEEDED, *packages)):
        raise MissingExtra(what, "train")


def _settings(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{str(file)!r} cannot be read: {error}") from error
    return found if isinstance(found, dict) else {}
