"""What a GGUF file says about itself: name, architecture, context, chat template.

Read here rather than by the gguf package, whose reader keeps every one of 150,000 tokens and merges as an array: many
seconds, where skipping them takes a fraction of one. Layout: the GGUF specification, versions 2 and 3.
"""

import struct
from pathlib import Path
from typing import IO, Any, NamedTuple

from gym.errors import ConfigError
from gym.llm.local.weights import check_gguf

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_BROKEN = (struct.error, KeyError, UnicodeDecodeError, MemoryError, OverflowError, RecursionError, OSError)
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
            facts = _Reader(file).facts()
    except _BROKEN as error:
        raise ConfigError(f"model file {str(path)!r} has a broken GGUF header") from error
    architecture = str(facts.get("general.architecture", ""))
    return Header(
        name=str(facts.get("general.name", "")),
        architecture=architecture,
        context=facts.get(f"{architecture}.context_length"),
        chat_template="tokenizer.chat_template" in facts,
    )


class _Reader:
    """Walks the key-value pairs once, front to back; arrays are skipped."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def facts(self) -> dict[str, Any]:
        """Every pair whose value is no array."""
        self.file.seek(len(b"GGUF"))
        version, _tensors, pairs = self._unpack("I"), self._unpack("Q"), self._unpack("Q")
        if version not in (2, 3):
            raise KeyError(version)
        found = {self._text(): self._value(self._unpack("I")) for _ in range(pairs)}
        return {key: value for key, value in found.items() if value is not None}

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._text()
        if kind == _ARRAY:
            return self._skip_array(self._unpack("I"), self._unpack("Q"))
        return self._unpack(_SCALARS[kind])

    def _skip_array(self, kind: int, length: int) -> None:
        if kind in _SCALARS:
            self.file.seek(length * struct.calcsize("<" + _SCALARS[kind]), 1)
            return
        for _ in range(length):
            if kind == _STRING:
                self.file.seek(self._unpack("Q"), 1)
            else:
                self._value(kind)

    def _text(self) -> str:
        size = self._unpack("Q")
        return self._unpack(f"{size}s").decode("utf-8")  # type: ignore[no-any-return]

    def _unpack(self, layout: str) -> Any:
        layout = "<" + layout
        return struct.unpack(layout, self.file.read(struct.calcsize(layout)))[0]
