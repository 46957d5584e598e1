"""One GET request over a guarded connection: its size is bounded while it streams, also after decompression.

aiohttp's own decompression is off: it inflates what it is given whole, and a kilobyte may hold a megabyte.
"""

import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

import aiohttp
from yarl import URL

from gym import __version__
from gym.core.value import Value
from gym.web.fetching import Refusal
from gym.web.guard import Guard, GuardedResolver, Lookup, PrivateAddress

AGENT = "zoo-gym"
"""What a robots.txt may call us."""
HEADERS = {
    "User-Agent": f"{AGENT}/{__version__}",
    "Accept": "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}
REDIRECTS = (301, 302, 303, 307, 308)
CONNECTIONS, CONNECTIONS_TO_ONE = 64, 8
_CHUNK = 1 << 16
_GZIP_OR_ZLIB = 47


class Limits(Value):
    """Of one page."""

    seconds: float = 20.0
    """From the first request to the text, redirects and a slow server included; waiting for a turn at a host is not."""
    bytes: int = 8 << 20
    """Unpacked."""
    redirects: int = 8
    patience_s: float = 30.0
    """A longer Retry-After is not waited for."""


class Answer(NamedTuple):
    """What a server sent."""

    url: URL
    status: int
    headers: Mapping[str, str]
    body: bytes


class Packed(Exception):
    """In a way that we have not asked for, or not whole."""


Unwanted = Callable[[URL, str], Refusal | None]
"""Why a body of this content type is not read; None when it is."""


def anything(url: URL, kind: str) -> None:
    """Every body is read."""


class Client:
    """Asks guarded addresses; no cookies, no proxy, no redirects."""

    def __init__(self, session: aiohttp.ClientSession, limits: Limits) -> None:
        self._session, self._limits = session, limits

    async def get(
        self, url: URL, unwanted: Unwanted = anything, *, accept: str = HEADERS["Accept"]
    ) -> Answer | Refusal:
        """The answer at a URL that the guard has passed; the deadline is the caller's."""
        try:
            async with self._session.get(url, allow_redirects=False, headers={"Accept": accept}) as response:
                if response.status in REDIRECTS and "Location" in response.headers:
                    return Answer(url, response.status, response.headers, b"")
                if response.ok and (refusal := unwanted(url, response.headers.get("Content-Type", ""))):
                    return refusal
                body = await self._body(response)
        except aiohttp.ClientConnectorError as error:
            return _unreached(url, error)
        except aiohttp.ClientResponseError:
            return _broken(url, "the server's answer is no HTTP that can be read")
        except (Packed, zlib.error):
            return _broken(url, "the page is packed in a way that cannot be unpacked here")
        except (aiohttp.ClientError, OSError):
            return _broken(url, "the answer broke off")
        if body is None:
            return Refusal(
                url=str(url),
                label="size",
                reason=f"the page is larger than {self._limits.bytes >> 20} MB and was not read",
            )
        return Answer(url, response.status, response.headers, body)

    async def _body(self, response: aiohttp.ClientResponse) -> bytes | None:
        """None when it is too large."""
        coding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if coding not in ("identity", "", "gzip", "x-gzip", "deflate"):
            raise Packed
        packed, unpack = coding not in ("identity", ""), None
        if (response.content_length or 0) > self._limits.bytes:
            return None
        body = bytearray()
        async for chunk in response.content.iter_chunked(_CHUNK):
            if packed and unpack is None:
                bare = coding == "deflate" and chunk[0] & 0x0F != 8  # servers that leave the wrapping out
                unpack = zlib.decompressobj(-15 if bare else _GZIP_OR_ZLIB)
            body += chunk if unpack is None else unpack.decompress(chunk, self._limits.bytes + 1 - len(body))
            if len(body) > self._limits.bytes:
                return None
        return bytes(body)


@asynccontextmanager
async def open_client(
    guard: Guard, limits: Limits | None = None, *, lookup: Lookup | None = None
) -> AsyncIterator[Client]:
    """A client until the context ends; `lookup`: what finds the addresses of names (default: the system)."""
    connector = aiohttp.TCPConnector(
        resolver=GuardedResolver(guard, lookup), limit=CONNECTIONS, limit_per_host=CONNECTIONS_TO_ONE
    )
    async with aiohttp.ClientSession(
        connector=connector,
        headers=HEADERS,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
    ) as session:
        yield Client(session, limits or Limits())


def _broken(url: URL, reason: str) -> Refusal:
    """In our words: what a server sends reaches a model between the marks of a page and nowhere else."""
    return Refusal(url=str(url), label="connection", reason=reason)


def _unreached(url: URL, error: aiohttp.ClientConnectorError) -> Refusal:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return Refusal(
            url=str(url), label="connection", reason=f"its certificate is not good: {error.certificate_error}"
        )
    if isinstance(error.os_error, PrivateAddress):
        return Refusal(url=str(url), label="private", reason="the host lies in a private network")
    why = error.os_error.strerror or error.os_error
    return Refusal(url=str(url), label="connection", reason=f"the host cannot be reached: {why}")
