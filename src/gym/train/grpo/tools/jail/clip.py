"""Long text with its middle left out, in bounded memory however long it grows."""

import codecs


class Clip:
    """Keeps the head and the tail of what is added, `max_chars` characters together."""

    def __init__(self, max_chars: int) -> None:
        self.head_chars = max_chars - max_chars // 2
        self.tail_chars = max_chars // 2
        self.bytes = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._chars = 0
        self._head = self._tail = ""

    def add(self, chunk: bytes) -> None:
        """Bytes of UTF-8; what is none becomes U+FFFD."""
        self.bytes += len(chunk)
        self._add(self._decoder.decode(chunk))

    def text(self) -> str:
        """All of it when it fits, else both ends around a line with the number of characters left out."""
        self._add(self._decoder.decode(b"", final=True))
        left_out = self._chars - len(self._head) - len(self._tail)
        if not left_out:
            return self._head + self._tail
        return f"{self._head}\n[… {left_out:,} characters left out here …]\n{self._tail}"

    def _add(self, text: str) -> None:
        self._chars += len(text)
        room = self.head_chars - len(self._head)
        self._head += text[:room]
        if rest := text[room:]:
            self._tail = (self._tail + rest)[-self.tail_chars :] if self.tail_chars else ""


def clip(text: str, max_chars: int) -> str:
    """`text` itself when it fits, else without its middle.

    >>> clip("abcdefghij", 4)
    'ab\\n[… 6 characters left out here …]\\nij'
    """
    kept = Clip(max_chars)
    kept.add(text.encode("utf-8", "backslashreplace"))
    return kept.text()
