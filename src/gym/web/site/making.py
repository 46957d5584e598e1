"""A site on disk: its pages in a folder of their own, apart from the questions, which nobody who visits it may find."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from gym.errors import ConfigError, StorageError
from gym.files import write_atomic
from gym.web.site.built import Built, build
from gym.web.site.questions import Split, questions
from gym.web.site.rows import Row, row
from gym.web.sites import MADE, PAGES
from gym.web.survey import Done, untold

HOST = "halden.example"
FEWEST, MOST = 100, 3_000


class Site(NamedTuple):
    """A whole site."""

    built: Built
    rows: tuple[Row, ...]
    host: str

    def split(self, name: Split) -> tuple[Row, ...]:
        """The questions of one part."""
        return tuple(found for found in self.rows if found["split"] == name)


def make(seed: int, *, pages: int = 300, host: str = HOST, done: Done = untold) -> Site:
    """The site of a seed, the same everywhere; `done` is told of its questions.

    Raises `ConfigError` for a size that cannot be made.
    """
    if not FEWEST <= pages <= MOST:
        raise ConfigError(f"a site has {FEWEST} to {MOST:,} pages, not {pages:,}")
    built = build(seed, pages)
    rows = tuple(
        row(question, f"{host.split('.')[0]}-{seed}-{number:03}", host)
        for number, question in enumerate(questions(built, done), 1)
    )
    return Site(built, rows, host)


def write(site: Site, folder: Path) -> None:
    """What is made, the pages, and last the questions by split and together.

    Writing the same site again changes nothing, and ends what was broken off. Raises `ConfigError` where something else is,
    `StorageError` for a disk that refuses.
    """
    made = {"seed": site.built.seed, "pages": len(site.built.files), "host": site.host}
    _check_place(folder, made)
    write_atomic(folder / MADE, json.dumps(made, indent=2) + "\n")
    for path, text in site.built.files.items():
        _put(folder / PAGES / path, text)
    for split in get_args(Split):
        write_atomic(folder / f"{split}.jsonl", _lines(site.split(split)))
    write_atomic(folder / "questions.jsonl", _lines(site.rows))


def _check_place(folder: Path, made: Any) -> None:
    there = folder / MADE
    try:
        known = json.loads(there.read_text(encoding="utf-8")) if there.is_file() else None
    except (OSError, ValueError):
        known = None
    if known == made or not os.path.exists(folder):
        return
    if not os.path.isdir(folder):
        raise ConfigError(f"{str(folder)!r} is no folder: name another place with --output")
    if any(folder.iterdir()):
        what = f"holds another site ({_told(known)})" if isinstance(known, dict) else "is not empty"
        raise ConfigError(f"{str(folder)!r} {what}: remove it, or name another place with --output")


def _told(made: Mapping[str, Any]) -> str:
    return f"seed {made.get('seed')}, {made.get('pages')} pages, {made.get('host')}"


def _put(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    except OSError as error:
        raise StorageError(f"cannot write {str(path)!r}: {error.strerror}") from error


def _lines(rows: Sequence[Row]) -> Iterable[str]:
    return (json.dumps(found, ensure_ascii=False) + "\n" for found in rows)
