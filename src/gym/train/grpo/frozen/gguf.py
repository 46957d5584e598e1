"""Where a GGUF file keeps each tensor and each metadata value.

A tensor reaches to the next one's beginning, padding included: so no table of quantization formats is needed, and every
byte has its place. Layout: the GGUF specification, versions 2 and 3.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from gym.errors import ConfigError
from gym.llm.local.header import BROKEN, Pair, Reader
from gym.llm.local.weights import check_gguf
from gym.train.grpo.frozen.sections import Section

ALIGNMENT = "general.alignment"
USUAL_ALIGNMENT = 32
MOST_DIMENSIONS = 8
"""GGML has four; more is a broken table."""


class _Entry(NamedTuple):
    """A line of the tensors' table."""

    name: str
    shape: tuple[int, ...]
    """The fastest dimension first, as GGML counts."""
    type: int
    offset: int
    """From where the tensors' bytes begin."""


def gguf_sections(path: Path) -> tuple[Section, ...]:
    """Metadata, then tensors; raises `ConfigError` when the file is no GGUF or its header is broken."""
    try:
        with check_gguf(path).open("rb") as file:
            reader = Reader(file)
            pairs = list(reader.pairs())
            table = file.tell()
            entries = [_entry(reader) for _ in range(reader.tensors)]
            after = file.tell()
    except BROKEN as error:
        raise ConfigError(f"model file {str(path)!r} has a broken GGUF header") from error
    step = next((pair.value for pair in pairs if pair.key == ALIGNMENT), USUAL_ALIGNMENT)
    if len({entry.name for entry in entries}) < len(entries) or not isinstance(step, int) or step < 1:
        raise ConfigError(f"model file {str(path)!r} has a broken GGUF header")
    data = -(-after // step) * step
    return (*_metadata(pairs, table), *_tensors(entries, data, path.stat().st_size))


def _entry(reader: Reader) -> _Entry:
    name, dimensions = reader.text(), reader.take("I")
    if dimensions > MOST_DIMENSIONS:
        raise KeyError(dimensions)
    shape = tuple(reader.take("Q") for _ in range(dimensions))
    return _Entry(name, shape, reader.take("I"), reader.take("Q"))


def _metadata(pairs: Sequence[Pair], table: int) -> Iterator[Section]:
    ends = [*(pair.start for pair in pairs[1:]), table]
    for pair, end in zip(pairs, ends, strict=True):
        yield Section("metadata", pair.key, pair.start, end)


def _tensors(entries: Sequence[_Entry], data: int, size: int) -> Iterator[Section]:
    ordered = sorted(entries, key=lambda entry: entry.offset)
    starts = [data + entry.offset for entry in ordered]
    for entry, (start, end) in zip(ordered, pairwise([*starts, max(size, *starts[-1:])]), strict=True):
        yield Section("tensor", entry.name, start, end, f"GGML type {entry.type}", entry.shape)
