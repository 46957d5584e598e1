"""calls.jsonl: the one record of paid work, append-only, a line a call (SPEC 4.5).

A line is handed to the operating system before its completion is used, so a killed process loses nothing; a
background thread brings it to the disk within 50 ms, against power loss. Memory holds a digest and an offset a call,
completions stay in the file. Lines are pure ASCII: lone surrogates and every locale survive (FAULTS M7, S7).
"""

import json
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

from pydantic import Field

from gym.core.chat import Completion, Message, Sampling
from gym.core.value import Value, digest
from gym.errors import ConfigError, StorageError

log = logging.getLogger(__name__)

SYNC_INTERVAL_S = 0.05


class Request(Value):
    """What was asked."""

    messages: tuple[Message, ...]
    sampling: Sampling


class CallError(Value):
    """Why there is no completion: the class of the error, its message, and the HTTP status where there was one."""

    type: str
    message: str
    status: int | None = None


class Call(Value):
    """One line: a completion, or the error in its place."""

    key: str = Field(pattern="^[0-9a-f]{64}$")
    stage: str
    model: str
    request: Request
    completion: Completion | None = None
    error: CallError | None = None
    at: str
    """When it ended, ISO 8601 in UTC."""


def call_key(model: str, messages: Sequence[Message], sampling: Sampling) -> str:
    """The identity of a request, 64 hex digits: model, messages and all sampling, `sample` included (FAULTS P9)."""
    return digest([model, [message.model_dump() for message in messages], sampling.model_dump()])


class CallLog:
    """An open calls.jsonl; use `CallLog.open`. One writer at a time, from one thread.

    Invariant: `_offsets` holds, for each key with a completion, where its first line starts; `_end` is the file's size.
    """

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle = handle
        self._offsets: dict[bytes, int] = {}
        self._end = 0
        self._lines = 0
        self._dirty = threading.Event()
        self._closing = threading.Event()
        self._syncer = threading.Thread(target=self._keep_synced, name="calls.jsonl", daemon=True)

    @classmethod
    def open(cls, path: str | Path, on_call: Callable[[Call], None] | None = None) -> Self:
        """The log at `path`, created when missing; `on_call` sees every call already in it, in order.

        A torn last line is dropped with a warning. Raises `ConfigError` naming any other line that cannot be read, and
        `StorageError` when the file cannot be opened.
        """
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        except OSError as error:
            raise StorageError(f"{str(path)!r} cannot be opened: {error.strerror}") from error
        opened = cls(path, handle)
        try:
            opened._load(on_call)
        except BaseException:
            os.close(handle)
            raise
        opened._syncer.start()
        return opened

    def __len__(self) -> int:
        return self._lines

    def __iter__(self) -> Iterator[Call]:
        """Every call in the file, oldest first."""
        with self.path.open("rb") as file:
            for line in file:
                yield Call.model_validate(json.loads(line))

    def find(self, key: str) -> Completion | None:
        """The first completion recorded for a key; None when there is none. Errors are never served."""
        offset = self._offsets.get(bytes.fromhex(key))
        if offset is None:
            return None
        with self.path.open("rb") as file:
            file.seek(offset)
            return Call.model_validate(json.loads(file.readline())).completion

    def append(self, call: Call) -> None:
        """Record a call; a process killed after this keeps it. Raises `StorageError`, leaving the file whole."""
        line = json.dumps(call.model_dump(), separators=(",", ":")).encode("ascii") + b"\n"
        try:
            _write_all(self._handle, line)
        except OSError as error:
            os.ftruncate(self._handle, self._end)
            raise StorageError(
                f"{str(self.path)!r} cannot be written ({error.strerror}); what was recorded before stays: "
                "free some space and run the same command to go on"
            ) from error
        self._index(call, len(line))
        self._dirty.set()

    def close(self) -> None:
        """Bring everything to the disk and close the file; a second call does nothing."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._dirty.set()
        self._syncer.join()
        self._sync()
        os.close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _load(self, on_call: Callable[[Call], None] | None) -> None:
        size = os.fstat(self._handle).st_size
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                call = _read(line)
                if call is None and self._end + len(line) < size:
                    raise ConfigError(f"{self.path}:{number}: not a call record; restore the file or delete this line")
                if call is None:
                    log.warning("%s:%d: dropped a torn last line; its call is made again", self.path, number)
                    os.ftruncate(self._handle, self._end)
                    break
                if on_call is not None:
                    on_call(call)
                self._index(call, len(line))
                if not line.endswith(b"\n"):  # whole but for its end
                    _write_all(self._handle, b"\n")
                    self._end += 1

    def _index(self, call: Call, length: int) -> None:
        if call.completion is not None:
            self._offsets.setdefault(bytes.fromhex(call.key), self._end)
        self._end += length
        self._lines += 1

    def _keep_synced(self) -> None:
        while not self._closing.is_set():
            self._dirty.wait()
            self._dirty.clear()
            self._sync()
            self._closing.wait(SYNC_INTERVAL_S)

    def _sync(self) -> None:
        try:
            os.fsync(self._handle)
        except OSError as error:
            log.error("%s: could not be brought to the disk: %s", self.path, error.strerror)


def _read(line: bytes) -> Call | None:
    """The call on a line, or None when it holds none. (`ValidationError` is a `ValueError`.)"""
    try:
        return Call.model_validate(json.loads(line))
    except ValueError:
        return None


def _write_all(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]
