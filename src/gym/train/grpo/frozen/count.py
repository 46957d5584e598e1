"""How many numbers a model's files hold, read from their headers alone: no torch, and no weight is read."""

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import NamedTuple

from gym.errors import ConfigError
from gym.train.grpo.frozen.files import folder_files, gguf_files
from gym.train.grpo.frozen.gguf import gguf_sections
from gym.train.grpo.frozen.safetensors import safetensors_sections
from gym.train.grpo.frozen.sections import Section

_LINEAR = {
    ".gguf": ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down", "attn_qkv"),
    ".safetensors": ("_proj.weight", "c_attn.weight", "c_proj.weight", "c_fc.weight"),
}
"""In a tensor's name: a linear layer inside a block, beside which LoRA puts its adapters."""


class Stored(NamedTuple):
    """A tensor as it lies in a file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    """Bytes."""
    linear: bool
    """Whether it is a linear layer's weight inside a block."""

    @property
    def parameters(self) -> int:
        """Numbers in it."""
        return prod(self.shape)


def stored_tensors(path: Path) -> tuple[Stored, ...]:
    """Every tensor of a GGUF file (split or whole) or of a folder's safetensors files.

    Raises `ConfigError` where there is none whose header can be read.
    """
    files = folder_files(path) if path.is_dir() else gguf_files(path)
    found = tuple(one for file in files for one in _of_file(file))
    if not found:
        raise ConfigError(f"{str(path)!r}: its parameters cannot be counted: it has no .safetensors or .gguf file")
    return found


def adapter_parameters(tensors: tuple[Stored, ...], rank: int) -> int:
    """Parameters of LoRA's adapters of that rank beside every linear layer: rank x (inputs + outputs) each."""
    return sum(rank * sum(one.shape) for one in tensors if one.linear)


def _of_file(file: Path) -> Iterator[Stored]:
    match suffix := file.suffix.lower():
        case ".gguf":
            sections = gguf_sections(file)
        case ".safetensors":
            sections = safetensors_sections(file)
        case _:
            return
    yield from (_stored(one, _LINEAR[suffix]) for one in sections if one.kind == "tensor")


def _stored(section: Section, linear: tuple[str, ...]) -> Stored:
    layer = len(section.shape) == 2 and any(name in section.name for name in linear)
    return Stored(section.name, section.dtype, section.shape, section.end - section.start, layer)
