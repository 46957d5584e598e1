"""A file's bytes, hashed section by section in one pass from front to back.

Read, not mapped: a file that is cut short while it is read then ends early, where a mapped one would end the process.
What lies in no section is hashed together as the file's header.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from gym.train.grpo.frozen.parts import Kind, Part

CHUNK = 1 << 20

Progress = Callable[[int], None]
"""Told how many more bytes were read."""


def unheard(count: int) -> None:
    """A progress that nobody looks at."""


class Section(NamedTuple):
    """Where a part of a file lies."""

    kind: Kind
    name: str
    start: int
    end: int
    dtype: str = ""
    shape: tuple[int, ...] = ()


def parts_of(path: Path, sections: Iterable[Section], progress: Progress, *, file: str = "") -> Iterator[Part]:
    """The parts of the file at `path`, in the order of their bytes, the header last; sections must not overlap."""
    with path.open("rb", buffering=0) as source:
        header, around = hashlib.sha256(), 0
        for section in sorted(sections, key=lambda section: section.start):
            around += _feed(header, source, section.start - source.tell(), progress)
            inside = hashlib.sha256()
            size = _feed(inside, source, section.end - section.start, progress)
            yield Part(
                kind=section.kind,
                name=section.name,
                file=file,
                dtype=section.dtype,
                shape=section.shape,
                size=size,
                sha256=inside.hexdigest(),
            )
        around += _feed(header, source, path.stat().st_size - source.tell(), progress)
    yield Part(kind="header", name=file, file=file, size=around, sha256=header.hexdigest())


def whole_file(path: Path, progress: Progress, *, file: str = "") -> Part:
    """The file as a part of its own."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as source:
        size = _feed(digest, source, path.stat().st_size, progress)
    return Part(kind="file", name=file, file=file, size=size, sha256=digest.hexdigest())


def _feed(digest: "hashlib._Hash", source: IO[bytes], size: int, progress: Progress) -> int:
    """Hash the next `size` bytes, or as many as there are; how many there were."""
    buffer = memoryview(bytearray(min(max(size, 0), CHUNK)))
    done = 0
    while done < size and (got := source.readinto(buffer[: size - done])):  # type: ignore[attr-defined]
        digest.update(buffer[:got])
        progress(got)
        done += got
    return done
