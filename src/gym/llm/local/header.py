"""What a GGUF file says about itself: name, architecture, context, chat template.

Read here rather than by the gguf package, whose reader keeps every one of 150,000 tokens and merges as an array: many
seconds, where skipping them takes a fraction of one. Layout: the GGUF specification, versions 2 and 3.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from gym.errors import ConfigError
from gym.llm.local.weights import check_gguf

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LENGTH = struct.Struct("<Q")
BROKEN = (struct.error, KeyError, UnicodeDecodeError, MemoryError, OverflowError, RecursionError, OSError)
"""What walking through arbitrary bytes can raise."""


class Header(NamedTuple):
    """The few facts worth printing; `None` and "" where the file is silent."""

    name: str
    architecture: str
    context: int | None
    """Tokens the model was trained for."""
    chat_template: bool
    """Without one it is a base model: it continues text and does not answer."""


def read_header(path: Path) -> Header:
    """The header of the GGUF file at `path`; raises `ConfigError` when it is none, or broken."""
    try:
        with check_gguf(path).open("rb") as file:
            facts = {key: value for key, value, _ in Reader(file).pairs() if value is not None}
    except BROKEN as error:
        raise ConfigError(f"model file {str(path)!r} has a broken GGUF header") from error
    architecture = str(facts.get("general.architecture", ""))
    return Header(
        name=str(facts.get("general.name", "")),
        architecture=architecture,
        context=facts.get(f"{architecture}.context_length"),
        chat_template="tokenizer.chat_template" in facts,
    )


class Pair(NamedTuple):
    """One of the file's key-value pairs."""

    key: str
    value: Any
    """None of an array, which is passed over."""
    start: int
    """Where in the file it begins; it ends where the next one or the tensors' table does."""


class Reader:
    """Walks the key-value pairs once, front to back; arrays are skipped. What follows them can be read with `take`."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.tensors = 0

    def pairs(self) -> Iterator[Pair]:
        """Every pair; afterwards `tensors` is how many entries the table has that comes next."""
        self.file.seek(len(b"GGUF"))
        version, self.tensors, pairs = self.take("I"), self.take("Q"), self.take("Q")
        if version not in (2, 3):
            raise KeyError(version)
        for _ in range(pairs):
            start = self.file.tell()
            yield Pair(self.text(), self._value(self.take("I")), start)

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self._skip_array(self.take("I"), self.take("Q"))
        return self.take(_SCALARS[kind])

    def _skip_array(self, kind: int, length: int) -> None:
        if kind in _SCALARS:
            self.file.seek(length * struct.calcsize("<" + _SCALARS[kind]), 1)
            return
        if kind == _STRING:  # 300,000 tokens and merges in a usual file
            read, seek, unpack = self.file.read, self.file.seek, _LENGTH.unpack
            for _ in range(length):
                seek(unpack(read(_LENGTH.size))[0], 1)
            return
        for _ in range(length):
            self._value(kind)

    def text(self) -> str:
        """A length and as many bytes of UTF-8."""
        size = self.take("Q")
        return self.take(f"{size}s").decode("utf-8")  # type: ignore[no-any-return]

    def take(self, layout: str) -> Any:
        """The next value of one of `struct`'s kinds, little-endian."""
        layout = "<" + layout
        return struct.unpack(layout, self.file.read(struct.calcsize(layout)))[0]
