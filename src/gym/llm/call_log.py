"""calls.jsonl: the one record of paid work, append-only, a line a call (SPEC 4.5).

A line is handed to the operating system before its completion is used, so a killed process loses nothing; a background
thread brings it to the disk in groups, against power loss. Memory holds 24 bytes a call, texts stay in the file, and
opening reads only what meter and index need. Lines are ASCII: lone surrogates and every locale survive (FAULTS M7, S7).
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self

from gym.core.chat import Completion
from gym.errors import ConfigError
from gym.llm.asked import Asked
from gym.llm.call_facts import Facts, read_facts
from gym.llm.call_index import CallIndex
from gym.llm.call_line import Call, CallError, holds, read_call, read_completion, write_line
from gym.llm.group_commit import INTERVAL_S
from gym.llm.line_file import LineFile


class AnsweredAs(NamedTuple):
    """What a requested model answered as, each name once, in order of first appearance; "" is none."""

    returned: dict[str, None]
    fingerprints: dict[str, None]


class Record(NamedTuple):
    """A line and where it starts."""

    offset: int
    line: bytes


class CallLog:
    """An open calls.jsonl; use `CallLog.open`. One writer at a time, from one thread.

    Invariant: `_index` holds, for each key with a completion, where its first line starts.
    """

    def __init__(self, file: LineFile) -> None:
        self.path = file.path
        self._file = file
        self._index = CallIndex()
        self._models: dict[str, AnsweredAs] = {}
        self._lines = 0

    @classmethod
    def open(
        cls,
        path: str | Path,
        on_call: Callable[[Facts], None] | None = None,
        *,
        sync: Callable[[int], None] = os.fsync,
        interval_s: float = INTERVAL_S,
    ) -> Self:
        """The log at `path`, created when missing; `on_call` sees every call already in it, in order.

        `sync` brings a file handle to the disk. A torn last line is dropped with a warning. Raises `ConfigError` naming
        any other line that is no call record, and `StorageError` when the file cannot be opened.
        """
        opened = cls(LineFile.open(Path(path)))
        try:
            opened._load(on_call)
        except BaseException:
            opened.close()
            raise
        opened._file.keep_synced(sync, interval_s)
        return opened

    def __len__(self) -> int:
        return self._lines

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sys.getsizeof(self._index)

    def __iter__(self) -> Iterator[Call]:
        """Every call in the file, oldest first, parsed in full: for audits. Raises `ConfigError` for a damaged line."""
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if (call := read_call(line)) is None:
                    raise self._not_a_call(number)
                yield call

    @property
    def models(self) -> Mapping[str, AnsweredAs]:
        """Per requested model, in order of first appearance, as what it answered."""
        return self._models

    def __contains__(self, key: str) -> bool:
        """Whether a completion is recorded for a key. Raises `ConfigError` when the record is damaged."""
        return self._recorded(key) is not None

    def find(self, key: str) -> Completion | None:
        """The first completion recorded for a key; None when there is none. Errors are never served.

        Raises `ConfigError` when the record is damaged.
        """
        if (record := self._recorded(key)) is None:
            return None
        try:
            return read_completion(record.line)
        except ValueError as error:
            raise self._not_a_call(self._file.number_at(record.offset)) from error

    def append(self, asked: Asked, outcome: Completion | CallError, *, stage: str, at: str) -> None:
        """Record a call; a process killed after this keeps it. Raises `StorageError`, leaving the file whole."""
        start = self._file.size
        self._file.append(write_line(asked, outcome, stage=stage, at=at))
        self._lines += 1
        if isinstance(outcome, Completion):
            names = outcome.model, outcome.system_fingerprint or ""
            self._answered(bytes.fromhex(asked.key), start, asked.model, *names)

    def close(self) -> None:
        """Bring everything to the disk and close the file; a second call does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _load(self, on_call: Callable[[Facts], None] | None) -> None:
        index, seen = self._index.add, set[tuple[str, str, str]]()

        def take(line: bytes, start: int) -> bool:  # a million turns: what can be is kept in local names
            if (facts := read_facts(line)) is None:
                return False
            if on_call is not None:
                on_call(facts)
            key, _, model, spent, returned, fingerprint = facts
            if not spent.failed:
                index(key, start)
                if (names := (model, returned, fingerprint)) not in seen:
                    seen.add(names)
                    self._name(*names)
            return True

        self._lines = self._file.load(take, self._not_a_call)

    def _answered(self, key: bytes, offset: int, model: str, returned: str, fingerprint: str) -> None:
        self._index.add(key, offset)
        self._name(model, returned, fingerprint)

    def _name(self, model: str, returned: str, fingerprint: str) -> None:
        if (names := self._models.get(model)) is None:
            names = self._models[model] = AnsweredAs({}, {})
        names.returned[returned] = names.fingerprints[fingerprint] = None

    def _recorded(self, key: str) -> Record | None:
        if (offset := self._index.find(bytes.fromhex(key))) is None:
            return None
        line = self._file.line_at(offset)
        try:
            return Record(offset, line) if holds(line, key) else None
        except ValueError as error:
            raise self._not_a_call(self._file.number_at(offset)) from error

    def _not_a_call(self, number: int) -> ConfigError:
        return ConfigError(f"{self.path}:{number}: not a call record; restore the file or delete this line")
