"""The transport: one chat completion over HTTP, as every OpenAI-compatible server speaks it.

aiohttp with one session for each event loop and no cap on connections: it keeps 90 % of the ideal rate at 1,000 calls
in flight, the official SDK 6 %. No retries here: `gym.llm.retry` decides on those. A parameter that the server does
not know is left out from then on, and that is said once (FAULTS P1).
"""

import asyncio
import base64
import json
import logging
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from gym.core.chat import Completion, Message, Sampling
from gym.errors import ConfigError, ConnectionFailed, ProviderError, ServerFailed, TimedOut
from gym.llm.rejections import provider_error, refusal, unsupported_parameter
from gym.llm.wire import NotACompletion, parse_completion, request_body

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 30.0
SHORTEST_SECRET = 4
"""Characters; hiding shorter ones would garble every message and hide nothing."""
KEEPALIVE_S = 60.0
"""How long an idle connection is kept: over a pause that a server asks for, a new handshake is dearer."""
REPLACEMENTS = {"max_tokens": "max_completion_tokens"}
"""What a newer server wants in place of a parameter; the others are left out."""


class Observer(Protocol):
    """Who reads the rate limits in the headers: told of every completion that is asked for, and of its answer."""

    def sent(self) -> Any:
        """A call is sent now; what is returned comes back with the answer."""
        ...

    def answered(self, ticket: Any, headers: Mapping[str, str]) -> None:
        """The headers of the answer, whatever its status."""
        ...


class OpenAICompatible:
    """A `ChatModel` at `base_url`, which is what stands before `/chat/completions`.

    `timeout_s` limits each call. `name` is the id in logs and prices where it differs from the one on the wire.
    Raises the `ProviderError` family, and `ConfigError` for a URL or key that no request could carry.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: str | None = None,
        timeout_s: float = 600.0,
        extra_headers: Mapping[str, str] | None = None,
        *,
        name: str = "",
        observer: Observer | None = None,
    ) -> None:
        self.model = model
        self.name = name or model
        self.timeout_s = timeout_s
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=CONNECT_TIMEOUT_S)
        given = _base_url(base_url)
        self._base = given.with_user(None)
        self._completions = _Place.below(self._base, "chat/completions")
        self._observer = observer
        self._headers = {**(extra_headers or {}), **_authorization(api_key, given)}
        self._proxy = _proxy(given)
        secrets = (api_key, given.password, *(extra_headers or {}).values())
        self._secrets = tuple(text for text in secrets if text and len(text) >= SHORTEST_SECRET)
        self._refused: set[str] = set()
        """Parameters this server does not take; it only grows."""
        self._sessions: dict[asyncio.AbstractEventLoop, _Kept] = {}

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.name!r}, {self.url!r})"

    @property
    def url(self) -> str:
        """The base URL as it may be shown: without password and query."""
        return _shown(self._base)

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """One completion. A parameter the server refuses is dropped (or renamed) and the call sent again."""
        body = request_body(self.model, messages, sampling)
        while True:
            sent = self._adapted(body)
            started = time.perf_counter()
            ticket = self._observer.sent() if self._observer else None
            reply = await self._exchange("POST", self._completions, sent)
            if self._observer:
                self._observer.answered(ticket, reply.headers)
            if reply.status == 200:
                return self._completion(reply, time.perf_counter() - started)
            found = refusal(reply.status, reply.headers, reply.text)
            parameter = unsupported_parameter(found, sent)
            if parameter is None:
                raise self._error(reply)
            self._leave_out(parameter, found.message)

    async def models(self) -> list[str]:
        """Ids that the server lists, in its order. Raises like `complete`."""
        reply = await self._exchange("GET", _Place.below(self._base, "models"))
        if reply.status != 200:
            raise self._error(reply)
        body = self._json(reply)
        rows = body.get("data") if isinstance(body, dict) else body
        if not isinstance(rows, list):
            raise ServerFailed(f"{reply.where} answered 200, but not with a list of models", status=200)
        return [str(row["id"]) for row in rows if isinstance(row, dict) and row.get("id")]

    async def aclose(self) -> None:
        """Close the connections of this event loop, and have other running loops close theirs."""
        here, sessions, self._sessions = asyncio.get_running_loop(), self._sessions, {}
        for loop, kept in sessions.items():
            if loop is here:
                await kept.session.close()
            elif loop.is_running():
                asyncio.run_coroutine_threadsafe(kept.session.close(), loop)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _adapted(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body without what this server refuses; a replacement that it refuses as well goes too."""
        sent = dict(body)
        for name in [name for name in body if name in self._refused]:
            value, other = sent.pop(name), REPLACEMENTS.get(name)
            if other and other not in self._refused:
                sent[other] = value
        return sent

    def _leave_out(self, parameter: str, reason: str) -> None:
        if parameter in self._refused:
            return
        self._refused.add(parameter)
        other = REPLACEMENTS.get(parameter)
        action = f"sending {other!r} instead" if other else "leaving it out"
        log.warning("%s does not take %r: %s from now on (%s)", self.name, parameter, action, self._redact(reason))

    async def _exchange(self, method: str, place: "_Place", body: object = None) -> "_Reply":
        url, where = place
        try:
            session = await self._session()
            async with session.request(
                method, url, json=body, allow_redirects=False, proxy=self._proxy, timeout=self._timeout
            ) as response:
                content = await response.read()
        except aiohttp.ConnectionTimeoutError as error:
            raise ConnectionFailed(f"{where}: no connection in {CONNECT_TIMEOUT_S:g} s; is the server up?") from error
        except TimeoutError as error:
            raise TimedOut(f"{where}: no answer within {self.timeout_s:g} s") from error
        except aiohttp.ClientPayloadError as error:
            raise ServerFailed(f"{where}: the answer broke off in the middle") from error
        except (aiohttp.ClientError, OSError) as error:
            reason = self._redact(_reason(error))
            raise ConnectionFailed(f"{where}: {reason}; is the server up and the URL right?") from error
        return _Reply(where, response.status, response.headers, content.decode("utf-8", "replace"))

    async def _session(self) -> aiohttp.ClientSession:
        """The session of the running event loop. There is no await before it is kept, so a loop never makes two."""
        loop = asyncio.get_running_loop()
        if (kept := self._sessions.get(loop)) is None or kept.session.closed:
            session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=KEEPALIVE_S),
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
            self._sessions = {other: kept for other, kept in self._sessions.items() if not other.is_closed()}
            kept = self._sessions[loop] = _Kept(session, _until_the_loop_ends(session))
            await anext(kept.keeper)
        return kept.session

    def _completion(self, reply: "_Reply", latency_s: float) -> Completion:
        body = self._json(reply)
        if isinstance(body, dict) and body.get("error") and "choices" not in body:
            raise self._error(reply)
        try:
            return parse_completion(body, latency_s)
        except NotACompletion as error:
            raise ServerFailed(f"{reply.where} answered 200, but with {error}", status=200) from error

    def _json(self, reply: "_Reply") -> Any:
        try:
            return json.loads(reply.text)
        except (ValueError, RecursionError) as error:
            kind = "an HTML page" if reply.text.lstrip()[:1] == "<" else "broken JSON"
            raise ServerFailed(f"{reply.where} answered {reply.status} with {kind}", status=reply.status) from error

    def _error(self, reply: "_Reply") -> ProviderError:
        found = refusal(reply.status, reply.headers, reply.text)
        if found.status < 300:  # an error dressed as a success
            code = next((int(code) for code in found.code.split() if code.isdecimal() and 400 <= int(code) < 600), 500)
            found = found._replace(status=code)
        return provider_error(found._replace(message=self._redact(found.message)), reply.where, self.model)

    def _redact(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[secret]")
        return text


class _Place(NamedTuple):
    """A URL, and as it may be shown."""

    url: URL
    shown: str

    @classmethod
    def below(cls, base: URL, path: str) -> "_Place":
        url = (base / path).with_query(base.query)
        return cls(url, _shown(url))


class _Reply(NamedTuple):
    where: str
    status: int
    headers: Mapping[str, str]
    text: str


class _Kept(NamedTuple):
    session: aiohttp.ClientSession
    keeper: AsyncGenerator[None, None]


async def _until_the_loop_ends(session: aiohttp.ClientSession) -> AsyncGenerator[None, None]:
    """Suspended for as long as the session is wanted: event loops close such generators when they end."""
    try:
        yield
    finally:
        await session.close()


def _base_url(text: str) -> URL:
    trimmed = text.strip().rstrip("/").removesuffix("/chat/completions")
    try:
        url = URL(trimmed)
    except ValueError as error:
        raise ConfigError(f"base URL {trimmed!r} is no URL: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigError(f"base URL {trimmed!r} must start with http:// or https://, e.g. http://127.0.0.1:8080/v1")
    return url


def _authorization(api_key: str | None, url: URL) -> dict[str, str]:
    if not api_key:
        basic = base64.b64encode(f"{url.user}:{url.password or ''}".encode()).decode()
        return {"Authorization": f"Basic {basic}"} if url.user else {}
    if not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise ConfigError("the API key holds a space, a line break or a non-ASCII character: was it pasted whole?")
    return {"Authorization": f"Bearer {api_key}"}


def _proxy(url: URL) -> str | None:
    """The environment's HTTP proxy for this URL; never for our own loopback, which no proxy reaches."""
    host = url.host or ""
    found = None if host in ("127.0.0.1", "localhost", "::1") or proxy_bypass(host) else getproxies().get(url.scheme)
    return found if found and found.startswith("http") else None


def _shown(url: URL) -> str:
    return str(url.with_query(None).with_fragment(None))


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name cannot be resolved"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection ({error.os_error.strerror or error.os_error})"
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionResetError):
        return "the server closed the connection without an answer"
    return f"{type(error).__name__}: {error}"
