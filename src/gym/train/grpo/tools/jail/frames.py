"""Messages on a pipe: four bytes of length, then JSON. Whoever reads says how long a message may be."""

import json
import os
from typing import Any

HEADER = 4


class Garbled(ValueError):
    """What came is no message, or a longer one than allowed."""


def encoded(message: dict[str, Any]) -> bytes:
    """The message as bytes; lone surrogates stay escaped."""
    body = json.dumps(message).encode("ascii")
    return len(body).to_bytes(HEADER, "big") + body


def decoded(body: bytes) -> dict[str, Any]:
    """The message of a body; raises `Garbled`."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Garbled("not JSON") from error
    if not isinstance(message, dict):
        raise Garbled("not an object")
    return message


def send(fd: int, message: dict[str, Any]) -> None:
    """Write all of it; blocks while the pipe is full."""
    rest = memoryview(encoded(message))
    while rest:
        rest = rest[os.write(fd, rest) :]


def receive(fd: int, max_bytes: int) -> dict[str, Any] | None:
    """The next message; None at the end of the pipe. Raises `Garbled`."""
    incoming = Incoming(max_bytes)
    while True:
        if (message := incoming.next()) is not None:
            return message
        chunk = os.read(fd, incoming.wanted)
        if not chunk:
            return None
        incoming.add(chunk)


class Incoming:
    """Puts messages together from bytes as they come."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._bytes = bytearray()

    @property
    def wanted(self) -> int:
        """Bytes missing to the end of the header or of the message: reading no more leaves the next one in the pipe."""
        return self._end - len(self._bytes)

    def add(self, chunk: bytes) -> None:
        self._bytes += chunk

    def next(self) -> dict[str, Any] | None:
        """A whole message, taken out, or None; raises `Garbled`."""
        if len(self._bytes) < HEADER or len(self._bytes) < self._end:
            return None
        body = bytes(self._bytes[HEADER : self._end])
        del self._bytes[: self._end]
        return decoded(body)

    @property
    def _end(self) -> int:
        if len(self._bytes) < HEADER:
            return HEADER
        length = int.from_bytes(self._bytes[:HEADER], "big")
        if length > self.max_bytes:
            raise Garbled(f"{length} bytes")
        return HEADER + length
