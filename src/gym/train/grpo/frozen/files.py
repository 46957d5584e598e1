"""The fingerprint of a GGUF file, split or whole, and of a model folder; torch is not needed.

A single file's whole digest is that of its bytes, as `sha256sum` prints it and the catalogue pins it, so its parts cost
a second reading. They follow from the whole: a file whose whole digest was met before is read once.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from gym.errors import ConfigError, StorageError
from gym.files import write_atomic
from gym.llm.local.weights import cache_dir
from gym.train.grpo.frozen.gguf import gguf_sections
from gym.train.grpo.frozen.parts import Fingerprint, Part
from gym.train.grpo.frozen.safetensors import safetensors_sections
from gym.train.grpo.frozen.sections import Progress, Section, parts_of, unheard, whole_file

_SPLIT = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
"""How llama.cpp names the files of a model that is split; it loads all when given the first."""

_LAYOUTS: dict[str, Callable[[Path], Sequence[Section]]] = {
    ".gguf": gguf_sections,
    ".safetensors": safetensors_sections,
}

FOLDER_SUFFIXES = frozenset(
    {*_LAYOUTS, ".bin", ".pt", ".pth", ".h5", ".msgpack", ".json", ".txt", ".model", ".tiktoken", ".jinja", ".py"}
)
"""What of a model folder decides how the model answers: weights, configuration, tokenizer, chat template, own code."""
WEIGHTS_SUFFIXES = frozenset({".gguf", ".safetensors", ".bin", ".pt", ".pth", ".h5", ".msgpack"})

_FORM = "1"
"""Of a remembered fingerprint; another one when parts are told in another way."""
_T = TypeVar("_T")


def whole_digest(path: Path, progress: Progress = unheard) -> str:
    """SHA-256 that a fingerprint of the model at `path` has as a whole, from its bytes as they are now.

    Raises `ConfigError` when it cannot be read, and for a folder without weights. `progress` is told of `size_of(path)`
    bytes in all.
    """
    if _is_single(path):
        return _read(path, lambda: whole_file(path, progress).sha256)
    return fingerprint(path, progress).whole


def fingerprint(path: Path, progress: Progress = unheard) -> Fingerprint:
    """Of the model at `path` as its bytes are now; a file whose layout cannot be read is one part. Raises as `whole_digest`."""
    if _is_single(path):
        return _of_single(path, whole_digest(path), progress)
    return _read(path, lambda: _of_folder(path, progress) if path.is_dir() else _of_split(gguf_files(path), progress))


def remembered(path: Path) -> Fingerprint:
    """The same in the time of `whole_digest`, when this file's parts are known from an earlier run."""
    if not _is_single(path):
        return fingerprint(path)
    digest = whole_digest(path)
    memory = cache_dir("fingerprints") / f"{digest}.{_FORM}.json"
    with suppress(OSError, ValidationError):
        if (known := Fingerprint.model_validate_json(memory.read_bytes())).whole == digest:
            return known
    found = _of_single(path, digest, unheard)
    with suppress(StorageError):
        write_atomic(memory, found.model_dump_json())
    return found


def size_of(path: Path) -> int:
    """The bytes that a fingerprint of the model at `path` reads; raises as `whole_digest`."""

    def sizes() -> int:
        files = folder_files(path) if path.is_dir() else gguf_files(path)
        return sum(file.stat().st_size for file in files)

    return _read(path, sizes)


def gguf_files(path: Path) -> tuple[Path, ...]:
    """The file itself, or all files of the model that it is the first of."""
    if (split := _SPLIT.search(path.name)) is None:
        return (path,)
    stem, count = path.name[: split.start()], int(split[2])
    return tuple(path.with_name(f"{stem}-{number:05}-of-{count:05}.gguf") for number in range(1, count + 1))


def folder_files(folder: Path) -> tuple[Path, ...]:
    """The files that make the model, by name; raises `ConfigError` when none of them holds weights."""
    files = [*folder.iterdir(), *folder.glob("*/*.jinja")]
    found = sorted(file for file in files if file.suffix.lower() in FOLDER_SUFFIXES and file.is_file())
    if not any(file.suffix.lower() in WEIGHTS_SUFFIXES for file in found):
        raise ConfigError(f"model folder {str(folder)!r} holds no weights: expected .safetensors or .bin files")
    return tuple(found)


def _is_single(path: Path) -> bool:
    return not path.is_dir() and gguf_files(path) == (path,)


def _read(path: Path, reading: Callable[[], _T]) -> _T:
    try:
        return reading()
    except OSError as error:
        raise ConfigError(f"model {str(path)!r} cannot be read: {error.strerror or error}") from error


def _of_single(path: Path, digest: str, progress: Progress) -> Fingerprint:
    parts = _read(path, lambda: tuple(_parts(path, progress, file="")))
    return Fingerprint(form="model file", whole=digest, parts=parts)


def _of_split(files: Sequence[Path], progress: Progress) -> Fingerprint:
    parts: list[Part] = []
    for number, file in enumerate(files, 1):
        parts += _parts(file, progress, file=f"{number} of {len(files)}")
    return Fingerprint.of("model file", parts)


def _of_folder(folder: Path, progress: Progress) -> Fingerprint:
    parts: list[Part] = []
    for file in folder_files(folder):
        parts += _parts(file, progress, file=file.relative_to(folder).as_posix())
    return Fingerprint.of("model folder", parts)


def _parts(path: Path, progress: Progress, *, file: str) -> Iterator[Part]:
    layout = _LAYOUTS.get(path.suffix.lower())
    try:
        sections = layout(path) if layout else None
    except ConfigError:
        sections = None
    if sections is None:
        yield whole_file(path, progress, file=file)
    else:
        yield from parts_of(path, sections, progress, file=file)
