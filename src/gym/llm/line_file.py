"""An append-only file of lines: what is written is handed to the operating system at once, whole or not at all."""

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self

from gym.errors import ConfigError, StorageError
from gym.llm.group_commit import INTERVAL_S, GroupCommit

log = logging.getLogger(__name__)

READ_AT_ONCE = 16 * 1024
"""Bytes read for a line; longer ones take more reads."""
READ_AHEAD = 1024 * 1024
"""Bytes at a time when all lines are read."""


class LineFile:
    """An open file; use `LineFile.open`. One writer at a time, from one thread.

    Invariant: `size` is where the whole lines end: 0 until `load` has read them.
    """

    def __init__(self, path: Path, handle: int) -> None:
        self.path, self.size = path, 0
        self._handle = handle
        self._commit: GroupCommit | None = None

    @classmethod
    def open(cls, path: Path) -> Self:
        """The file at `path`, created when missing. Raises `StorageError`."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return cls(path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644))
        except OSError as error:
            raise StorageError(f"{str(path)!r} cannot be opened: {error.strerror}") from error

    def load(self, take: Callable[[bytes, int], bool], damaged: Callable[[int], ConfigError]) -> int:
        """Show `take` every line, its end included, and where it starts, before anything is appended; how many are whole.

        `take` says whether it is a line of its own. The last one that is none was torn, and is dropped with a warning;
        of any other, `damaged` makes from its number what is raised.
        """
        number, start, line = 0, 0, b"\n"
        with self.path.open("rb", buffering=READ_AHEAD) as file:
            for number, line in enumerate(file, start=1):
                if not take(line, start):
                    self._drop_torn(line, number, start, damaged)
                    return number - 1
                start += len(line)
        self.size = start
        if not line.endswith(b"\n"):  # the last is whole but for its end
            self.append(b"\n")
        return number

    def keep_synced(self, sync: Callable[[int], None] = os.fsync, interval_s: float = INTERVAL_S) -> None:
        """From now on bring what is appended to the disk, with `sync`, which is given the handle."""
        self._commit = GroupCommit(lambda: self._sync(sync), self.path.name, interval_s=interval_s)

    def append(self, line: bytes) -> None:
        """Write at the end. Raises `StorageError`, leaving the file as it was."""
        try:
            rest = line
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        except OSError as error:
            self._cut()
            raise StorageError(
                f"{str(self.path)!r} cannot be written ({error.strerror}); what was recorded before stays: "
                "free some space and run the same command to go on"
            ) from error
        self.size += len(line)
        if self._commit is not None:
            self._commit.note()

    def line_at(self, offset: int) -> bytes:
        """The line that starts there, without its newline."""
        data = self._read(READ_AT_ONCE, offset)
        while b"\n" not in data and (more := self._read(len(data), offset + len(data))):
            data += more
        return data.partition(b"\n")[0]

    def number_at(self, offset: int) -> int:
        """The number, from 1, of the line that starts there."""
        with self.path.open("rb") as file:
            return file.read(offset).count(b"\n") + 1

    def close(self) -> None:
        """Bring everything to the disk; a second call does nothing."""
        if self._handle >= 0:
            if self._commit is not None:
                self._commit.close()
            os.close(self._handle)
            self._handle = -1

    def _drop_torn(self, line: bytes, number: int, start: int, damaged: Callable[[int], ConfigError]) -> None:
        if start + len(line) != os.fstat(self._handle).st_size:
            raise damaged(number)
        log.warning("%s:%d: dropped a torn last line; what it held is asked for again", self.path, number)
        self.size = start
        self._cut()

    def _cut(self) -> None:
        """Drop what stands after the whole lines."""
        os.ftruncate(self._handle, self.size)

    def _read(self, size: int, offset: int) -> bytes:
        if sys.platform == "win32":  # no pread; writes go to the end wherever the position stands
            os.lseek(self._handle, offset, os.SEEK_SET)
            return os.read(self._handle, size)
        return os.pread(self._handle, size, offset)

    def _sync(self, sync: Callable[[int], None]) -> None:
        try:
            sync(self._handle)
        except OSError as error:
            log.error("%s: could not be brought to the disk: %s", self.path, error.strerror)
