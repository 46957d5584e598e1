"""Where a safetensors file keeps each tensor: a length, a JSON object, then the bytes of all tensors.

Read here because the package gives a tensor's values through NumPy or torch, and NumPy has no bfloat16; we want bytes.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from gym.core.value import Value
from gym.errors import ConfigError
from gym.train.grpo.frozen.sections import Section

LONGEST_HEADER = 100_000_000
"""Bytes; the format's own limit."""
METADATA = "__metadata__"
LENGTH_BYTES = 8


class _Entry(Value):
    dtype: str
    shape: tuple[NonNegativeInt, ...]
    data_offsets: tuple[NonNegativeInt, NonNegativeInt]


_ENTRIES = TypeAdapter(dict[str, _Entry])


def safetensors_sections(path: Path) -> tuple[Section, ...]:
    """Every tensor; raises `ConfigError` when the file is no safetensors file or its header is broken."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(LENGTH_BYTES), "little")
            text = file.read(length) if length <= LONGEST_HEADER else b""
        entries = _ENTRIES.validate_python(_tensors(json.loads(text)))
    except (OSError, ValueError, RecursionError, ValidationError) as error:
        raise ConfigError(f"model file {str(path)!r} has a broken safetensors header") from error
    found = sorted(_placed(entries, LENGTH_BYTES + length), key=lambda section: (section.start, section.end))
    if any(one.end > other.start for one, other in pairwise(found)):
        raise ConfigError(f"model file {str(path)!r} has a broken safetensors header: tensors overlap")
    return tuple(found)


def _tensors(header: Any) -> Mapping[str, Any]:
    if not isinstance(header, dict):
        raise ValueError("no object")
    return {name: entry for name, entry in header.items() if name != METADATA}


def _placed(entries: Mapping[str, _Entry], data: int) -> Iterator[Section]:
    for name, entry in entries.items():
        start, end = entry.data_offsets
        if start > end:
            raise ConfigError(f"the tensor {name!r} ends before it begins")
        yield Section("tensor", name, data + start, data + end, entry.dtype, entry.shape)
