"""What Flower's processes write into their logs, in plain words: whether the server is there, and why a connection ended."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gym.federated.certificates import AUTHORITY
from gym.federated.team import CARD

_FAILED, _BACK, _THERE = "Connection attempt failed", "Connection successful", "SuperNode ID:"
UNKNOWN_KEY = (
    f"it does not take this node's connection key: have its operator run gym federate join SERVER {CARD}, "
    "and see that no other process connects with this key"
)
_REASONS = {
    "Hostname mismatch|IP address mismatch": "its certificate is not for this address: gym federate keys SERVER --server --host",
    "CERTIFICATE_VERIFY_FAILED": f"it is another server than the one whose {AUTHORITY} is here: copy the server's {AUTHORITY}",
    r"\[code: 2004\]": UNKNOWN_KEY,
    "address already in use": "another program has this port",
}


def plainly(log: str) -> str | None:
    """Why a connection ended, as its log tells it; None for what we have no words for."""
    return next((why for pattern, why in _REASONS.items() if re.search(pattern, log)), None)


@dataclass
class News:
    """Of a connection, from the log that its process writes; each change is told once."""

    log: Path
    server: str
    _read: int = 0
    _rest: str = ""
    _there: bool | None = None
    """Whether the server answers; None before anything is known."""
    _connected: bool = field(default=False)

    def fresh(self) -> Iterator[str]:
        """What has changed since the last call."""
        with self.log.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        self._read += len(data)
        *lines, self._rest = (self._rest + data.decode("utf-8", "replace")).split("\n")
        for line in lines:
            if (told := self._heard(line)) is not None:
                yield told

    def _heard(self, line: str) -> str | None:
        if _FAILED in line and self._there is not False:
            self._there = False
            return (
                "the server is gone, trying again"
                if self._connected
                else f"no answer from {self.server} yet, trying again"
            )
        if _THERE in line and not self._connected:
            self._there = self._connected = True
            return f"connected to {self.server}"
        if _BACK in line and self._connected and self._there is False:
            self._there = True
            return "the server is back"
        return None
