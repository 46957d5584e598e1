"""Where content is kept: a folder, or an IPFS node by its RPC (kubo's `/api/v0`). Both are re-hashed on every read (SPEC 7.4)."""

import json
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Self

from gym.core.cid import MAX_BLOCK
from gym.core.cid import cid as cid_of
from gym.core.text import visible_line
from gym.dao.content import Missing, digest_of_cid
from gym.dao.units import host, is_http
from gym.errors import ConfigError, ConnectionFailed, MissingExtra, ProviderError, ServerFailed
from gym.files import write_atomic

try:
    import httpx
except ImportError as error:
    raise MissingExtra("an IPFS node", "dao") from error

ALTERED = "what is kept there does not hash to it"


class Folder(NamedTuple):
    """One file for each content, named by its address."""

    path: Path

    @property
    def name(self) -> str:
        """The folder."""
        return str(self.path)

    def put(self, data: bytes) -> str:
        """Keep the bytes unless they are kept already."""
        cid = _address(data)
        if self.get(cid) != data:
            write_atomic(self.path / cid, data)
        return cid

    def get(self, cid: str) -> bytes | Missing:
        """The file's bytes, when they hash to its name."""
        digest_of_cid(cid)  # no other name is ever looked for
        try:
            with open(self.path / cid, "rb") as file:
                data = file.read(MAX_BLOCK + 1)
        except OSError as error:
            return Missing(cid, (error.strerror or str(error)).lower())
        return data if cid_of(data) == cid else Missing(cid, ALTERED)

    def unpin(self, cids: Iterable[str]) -> None:
        """What lies here stays: it is needed to rebuild the past."""


class _Answer(NamedTuple):
    status: int
    data: bytes


class IpfsNode:
    """An IPFS node, kubo or another that speaks its RPC, for a `with`. No answer is waited for longer than `timeout_s`."""

    def __init__(
        self, url: str, *, timeout_s: float = 10.0, client: httpx.Client | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        if not is_http(url):
            raise ConfigError(f"{host(url)!r} is no URL of an IPFS node's RPC: expected http:// or https://")
        self.name = host(url)
        self._base = f"{url.rstrip('/')}/api/v0"
        self._timeout_s, self._clock = timeout_s, clock
        self._client = client or httpx.Client(timeout=timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def put(self, data: bytes) -> str:
        """Add and pin the bytes; raises `ServerFailed` when the node gives them another address."""
        cid = _address(data)
        options = {"cid-version": "1", "raw-leaves": "true", "pin": "true"}
        said = self._said("add", options, files={"file": (cid, data)})
        if said.get("Hash") != cid:
            raise ServerFailed(f"{self.name} gave content {said.get('Hash')!r} for an address instead of {cid!r}")
        return cid

    def get(self, cid: str) -> bytes | Missing:
        """The content as the node gives it, when it hashes to its address."""
        digest_of_cid(cid)
        try:
            data = self._read(cid)
        except (ProviderError, httpx.HTTPError) as error:
            return Missing(cid, _told(error))
        return data if cid_of(data) == cid else Missing(cid, ALTERED)

    def unpin(self, cids: Iterable[str]) -> None:
        """Let the node forget what has left the library; what it never pinned is passed over."""
        for cid in cids:
            digest_of_cid(cid)
            try:
                self._said("pin/rm", {"arg": cid})
            except ServerFailed:
                continue

    def _said(self, call: str, options: dict[str, str], **request: Any) -> dict[str, object]:
        try:
            answer = self._asked(call, options, **request)
        except (ConnectionFailed, httpx.HTTPError) as error:
            raise ConnectionFailed(f"{self.name}: {_told(error)}") from error
        try:
            said = json.loads(answer.data) if answer.status == 200 else None
        except ValueError:
            said = None
        if not isinstance(said, dict):
            told = visible_line(answer.data.decode(errors="replace"), 200)
            raise ServerFailed(f"{self.name} refused {call}: {told}", status=answer.status)
        return said

    def _read(self, cid: str) -> bytes:
        answer = self._asked("cat", {"arg": cid})
        if answer.status != 200:
            raise ServerFailed(f"status {answer.status}", status=answer.status)
        return answer.data

    def _asked(self, call: str, options: dict[str, str], **request: Any) -> _Answer:
        """At most a piece too many, within the time; a node that has not got it may break off in the middle of a 200."""
        deadline, data = self._clock() + self._timeout_s, bytearray()
        with self._client.stream("POST", f"{self._base}/{call}", params=options, **request) as answer:
            for piece in answer.iter_bytes():
                data += piece
                if len(data) > MAX_BLOCK:
                    break
                if self._clock() > deadline:
                    raise ConnectionFailed(f"no whole answer in {self._timeout_s:g} s")
        return _Answer(answer.status_code, bytes(data))


def _address(data: bytes) -> str:
    if len(data) > MAX_BLOCK:
        raise ConfigError(f"content of {len(data):,} bytes: one block holds {MAX_BLOCK:,}")
    return cid_of(data)


def _told(error: Exception) -> str:
    reason = visible_line(re.sub(r"\[Errno -?\d+\] ", "", str(error))) or type(error).__name__
    return f"nobody answers there ({reason.lower()})" if isinstance(error, httpx.ConnectError) else reason
