"""Search by a service with a key: asked over HTTP, retried here and nowhere else, counted by whoever pays.

What stays broken after the retries is raised as a `ProviderError`: a refused key ends the run, anything else is told to the
model in words. A key never stands in a message.
"""

import asyncio
import json
import os
import random as randomness
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from gym import plugins
from gym.core.text import shown
from gym.errors import (
    AccessDenied,
    ConfigError,
    ConnectionFailed,
    ProviderError,
    RequestRejected,
    ServerFailed,
    TimedOut,
)
from gym.llm.rejections import provider_error, refusal
from gym.llm.retry import pause_s
from gym.web.address import canonical
from gym.web.guard import LONGEST_URL
from gym.web.page import visible
from gym.web.searchers import Service
from gym.web.searching import Hit

TIMEOUT_S = 30.0
AT_ONCE = 4
"""Queries in flight."""
MAX_RETRIES = 3
PATIENCE_S = 60.0
"""A service that asks to wait longer than this is not waited for: a rollout waits with it."""
MOST_BYTES = 4_000_000
"""Of a reply."""
LONGEST_TITLE, LONGEST_SNIPPET = 300, 1_000
"""Characters of a hit that are kept."""
MOST_CHARS = 400
"""Of a query: what the strictest service takes."""

Sleep = Callable[[float], Awaitable[None]]


class LiveSearch:
    """A `Searcher` that asks a service. Use `open_live_search`.

    `asked` is told of each query that was answered, which is what services bill.
    """

    def __init__(
        self,
        service: Service,
        url: str,
        key: str,
        http: aiohttp.ClientSession,
        *,
        asked: Callable[[], None] = lambda: None,
        random: Callable[[], float] = randomness.random,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.service = service
        self._url, self._key, self._http, self._asked = url, key, http, asked
        self._random, self._sleep = random, sleep
        self._room = asyncio.Semaphore(AT_ONCE)

    async def search(self, query: str, *, count: int) -> tuple[Hit, ...]:
        """At most `count` hits; raises `ProviderError` when the service refuses, or stays silent after retries."""
        words = " ".join(query.split())[:MOST_CHARS]
        if not words or count < 1:
            return ()
        async with self._room:
            body = await self._retried(words, count)
        self._asked()
        return hits(body, self.service)[:count]

    async def _retried(self, words: str, count: int) -> Any:
        loop = AsyncRetrying(
            stop=stop_after_attempt(1 + MAX_RETRIES),
            retry=retry_if_exception(_worth_retrying),
            wait=lambda state: pause_s(_error(state), state.attempt_number, random=self._random),
            sleep=self._sleep,
            reraise=True,
        )
        return await loop(self._ask, words, count)

    async def _ask(self, words: str, count: int) -> Any:
        service = self.service
        sent = {service.query: words, **service.fixed}
        asked = {service.limit: min(count, service.most)} if service.limit else {}
        headers = {name: value.format(key=self._key) for name, value in service.headers.items()}
        given: dict[str, Any] = {"json": sent | asked} if service.method == "POST" else {"params": sent | asked}
        given["allow_redirects"] = not self._key  # it is for this server alone
        try:
            async with self._http.request(service.method, self._url, headers=headers, **given) as reply:
                text = (await _bytes(reply.content)).decode("utf-8", "replace")
        except TimeoutError as error:
            raise TimedOut(f"{service.name} gave no answer within {TIMEOUT_S:g} s") from error
        except aiohttp.ClientError as error:
            raise ConnectionFailed(f"{service.name} cannot be reached ({type(error).__name__})") from error
        if reply.status != 200:
            raise self._refused(reply.status, reply.headers, text)
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ServerFailed(f"{service.name} answered 200, but not with JSON", status=200) from error

    def _refused(self, status: int, headers: Mapping[str, str], text: str) -> ProviderError:
        if status == 403 and self.service.fixed.get("format"):
            return AccessDenied(f"{self.service.name} answered 403: its settings must list json under search: formats")
        if status == 404:
            return AccessDenied(
                f"{self.service.name} answered 404: check {self.service.url_env or 'the URL'}", status=404
            )
        said = text.replace(self._key, "…") if self._key else text
        return provider_error(refusal(status, headers, said), self.service.name, self.service.name)


def hits(body: Any, service: Service) -> tuple[Hit, ...]:
    """The hits of a reply, in its order; what has no web address is left out.

    Raises `RequestRejected` for another shape, and for an error that came with status 200.
    """
    if isinstance(body, dict) and service.results[0] not in body and (told := body.get("error") or body.get("message")):
        raise RequestRejected(f"{service.name} answered, but with an error: {shown(str(told), 200)}")
    for name in service.results:
        body = body.get(name, []) if isinstance(body, dict) else None
    if not isinstance(body, list):
        raise RequestRejected(f"{service.name} answered, but without {'.'.join(service.results)}")
    rows = [row for row in body if isinstance(row, dict)]
    return tuple(
        Hit(title=_text(row.get(service.title), LONGEST_TITLE), url=url, snippet=_text(row.get(service.snippet)))
        for row in rows
        if (url := _address(row.get(service.link)))
    )


def _address(link: object) -> str:
    """An address over HTTP in its canonical spelling; empty for what is none."""
    try:
        found = canonical(link) if isinstance(link, str) else None
    except ValueError:
        return ""
    return str(found) if found and found.scheme in ("http", "https") and len(str(found)) <= LONGEST_URL else ""


@asynccontextmanager
async def open_live_search(
    name: str,
    environ: Mapping[str, str] | None = None,
    *,
    asked: Callable[[], None] = lambda: None,
    sleep: Sleep = asyncio.sleep,
) -> AsyncIterator[LiveSearch]:
    """The service called `name`, which may be `pkg.mod:SEARCHER`.

    Raises `ConfigError` with the nearest known name, or naming the environment variable that is not set.
    """
    service: Service = plugins.resolve("searcher", name)
    environ = os.environ if environ is None else environ
    url, key = _place(service, environ), _key(service, environ)
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as http:
        yield LiveSearch(service, url, key, http, asked=asked, sleep=sleep)


def _place(service: Service, environ: Mapping[str, str]) -> str:
    if not service.url_env:
        return service.url
    if not (server := environ.get(service.url_env, "")):
        raise ConfigError(f"web_search: {service.name} needs {service.url_env}: set it to the server's URL")
    return f"{server.rstrip('/')}/{service.url}"


def _key(service: Service, environ: Mapping[str, str]) -> str:
    key = environ.get(service.key_env, "").strip()
    if service.key_env and not key:
        raise ConfigError(f"web_search: {service.name} needs a key: set the environment variable {service.key_env}")
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"web_search: {service.key_env} holds what no key can: line breaks, or letters beyond ASCII")
    return key


async def _bytes(content: aiohttp.StreamReader) -> bytes:
    """The body; of one that is too long, its beginning, which is no JSON."""
    found = bytearray()
    async for piece in content.iter_any():
        found += piece
        if len(found) > MOST_BYTES:
            break
    return bytes(found[:MOST_BYTES])


def _worth_retrying(error: BaseException) -> bool:
    return isinstance(error, ProviderError) and error.retryable and (error.retry_after_s or 0.0) <= PATIENCE_S


def _error(state: RetryCallState) -> ProviderError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, ProviderError)
    return error


def _text(value: object, most: int = LONGEST_SNIPPET) -> str:
    return " ".join(visible(value).split())[:most] if isinstance(value, str) else ""
