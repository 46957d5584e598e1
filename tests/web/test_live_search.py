"""Search services on loopback: what each is asked, how its reply is read, and what its refusals become."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from gym import plugins
from gym.errors import AccessDenied, ConfigError, ConnectionFailed, RateLimited, RequestRejected, ServerFailed
from gym.web.live_search import MAX_RETRIES, MOST_BYTES, LiveSearch, open_live_search
from gym.web.searchers import Service
from gym.web.searching import Hit

KEY = "s3cr3t-key"
HITS = (
    Hit(title="GIN Indexes", url="https://www.postgresql.org/docs/15/gin.html", snippet="GIN stands for …"),
    Hit(title="GiST", url="https://www.postgresql.org/docs/15/gist.html"),
)
REPLIES: Mapping[str, Any] = {
    "serper": {
        "searchParameters": {"q": "gin index", "type": "search", "engine": "google"},
        "organic": [
            {"title": hit.title, "link": hit.url, "position": n} | ({"snippet": hit.snippet} if hit.snippet else {})
            for n, hit in enumerate(HITS, 1)
        ],
        "relatedSearches": [{"query": "gist index"}],
    },
    "brave": {
        "type": "search",
        "query": {"original": "gin index", "more_results_available": True},
        "web": {
            "type": "search",
            "results": [{"title": hit.title, "url": hit.url, "description": hit.snippet} for hit in HITS],
        },
    },
    "jina": {
        "code": 200,
        "status": 20000,
        "data": [
            {"title": hit.title, "url": hit.url, "description": hit.snippet, "usage": {"tokens": 1000}} for hit in HITS
        ],
        "meta": {"usage": {"tokens": 10000}},
    },
    "tavily": {
        "query": "gin index",
        "answer": None,
        "results": [
            {"title": hit.title, "url": hit.url, "content": hit.snippet, "score": 0.9, "raw_content": None}
            for hit in HITS
        ],
        "response_time": 1.2,
    },
    "searxng": {
        "query": "gin index",
        "number_of_results": 0,
        "results": [{"title": hit.title, "url": hit.url, "content": hit.snippet, "engine": "mojeek"} for hit in HITS],
        "suggestions": [],
        "unresponsive_engines": [],
    },
}
"""As the services document their replies."""


class Asked:
    """What a server was asked."""

    def __init__(self, request: web.Request, body: Any) -> None:
        self.method, self.headers, self.sent = request.method, request.headers, body or dict(request.query)


class Server:
    """Answers in turn; the last answer again and again."""

    def __init__(self, *answers: Callable[[], web.Response]) -> None:
        self.asked: list[Asked] = []
        self._answers = answers

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append(Asked(request, await request.json() if request.can_read_body else None))
        return self._answers[min(len(self.asked), len(self._answers)) - 1]()


def ok(body: Any) -> Callable[[], web.Response]:
    return lambda: web.json_response(body)


def refuse(status: int, text: str = "no", **headers: str) -> Callable[[], web.Response]:
    return lambda: web.Response(status=status, text=text, headers=headers)


@asynccontextmanager
async def searching(
    service: Service, server: Server, waited: list[float] | None = None, asked: list[str] | None = None
) -> AsyncIterator[LiveSearch]:
    """The service, as if it were this server."""

    async def sleep(seconds: float) -> None:
        (waited if waited is not None else []).append(seconds)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/search"
    try:
        async with aiohttp.ClientSession() as http:
            yield LiveSearch(
                service,
                url,
                KEY,
                http,
                asked=lambda: (asked if asked is not None else []).append("asked"),
                random=lambda: 0.5,
                sleep=sleep,
            )
    finally:
        await runner.cleanup()


def service(name: str) -> Service:
    found: Service = plugins.resolve("searcher", name)
    return found


def test_the_services_are() -> None:
    assert plugins.names("searcher") == ("brave", "jina", "searxng", "serper", "tavily")


@pytest.mark.parametrize(
    ("name", "method", "sent", "header"),
    [
        ("serper", "POST", {"q": "gin index", "num": 5}, ("X-API-KEY", KEY)),
        ("brave", "GET", {"q": "gin index", "count": "5", "text_decorations": "false"}, ("X-Subscription-Token", KEY)),
        ("jina", "GET", {"q": "gin index"}, ("Authorization", f"Bearer {KEY}")),
        ("tavily", "POST", {"query": "gin index", "max_results": 5}, ("Authorization", f"Bearer {KEY}")),
        ("searxng", "GET", {"q": "gin index", "format": "json"}, ("Accept", "*/*")),
    ],
)
async def test_a_service_is_asked_in_its_own_way_and_read_alike(
    name: str, method: str, sent: Mapping[str, Any], header: tuple[str, str]
) -> None:
    server, paid = Server(ok(REPLIES[name])), list[str]()
    async with searching(service(name), server, asked=paid) as search:
        assert await search.search(" gin\n index ", count=5) == HITS
        assert await search.search("gin index", count=1) == HITS[:1]
    assert (server.asked[0].method, server.asked[0].sent) == (method, sent)
    assert server.asked[0].headers[header[0]] == header[1]
    assert len(paid) == 2


async def test_an_empty_query_asks_nobody_and_a_long_one_is_cut() -> None:
    server = Server(ok(REPLIES["serper"]))
    async with searching(service("serper"), server) as search:
        assert await search.search("  ", count=5) == ()
        await search.search("word " * 1000, count=50)
    assert [(len(one.sent["q"]), one.sent["num"]) for one in server.asked] == [(400, 10)]


async def test_a_busy_service_is_asked_again_when_it_says_and_a_broken_one_after_a_while() -> None:
    waited, paid = list[float](), list[str]()
    server = Server(refuse(429, **{"Retry-After": "7"}), refuse(503), ok(REPLIES["brave"]))
    async with searching(service("brave"), server, waited, paid) as search:
        assert await search.search("gin", count=2) == HITS
    assert waited == [7.5, 1.0]
    assert paid == ["asked"]


async def test_a_service_that_stays_busy_is_told_in_words() -> None:
    server, paid = Server(refuse(429, '{"error": "Rate limit exceeded"}')), list[str]()
    async with searching(service("serper"), server, asked=paid) as search:
        with pytest.raises(RateLimited, match="serper answered 429: Rate limit exceeded"):
            await search.search("gin", count=2)
    assert (len(server.asked), paid) == (1 + MAX_RETRIES, [])


async def test_a_service_that_asks_for_an_hour_is_not_waited_for() -> None:
    waited = list[float]()
    server = Server(refuse(429, **{"Retry-After": "3600"}))
    async with searching(service("serper"), server, waited) as search:
        with pytest.raises(RateLimited):
            await search.search("gin", count=2)
    assert waited == []


@pytest.mark.parametrize(
    ("name", "answer", "error", "words"),
    [
        (
            "serper",
            refuse(401, f"key {KEY} is unknown"),
            AccessDenied,
            "serper answered 401: key … is unknown .*API key",
        ),
        ("serper", refuse(403, '{"message": "Unauthorized."}'), AccessDenied, "serper answered 403: Unauthorized"),
        ("jina", refuse(402, "no balance"), AccessDenied, "no credit left"),
        ("searxng", refuse(403), AccessDenied, "must list json under search: formats"),
        ("searxng", refuse(404), AccessDenied, "check SEARXNG_URL"),
        ("brave", refuse(422, '{"error": {"detail": "q is too long"}}'), RequestRejected, "q is too long"),
        ("brave", ok({"web": {"results": "none"}}), RequestRejected, r"without web\.results"),
        ("brave", ok([1]), RequestRejected, r"without web\.results"),
        (
            "serper",
            ok({"message": "Quota exceeded"}),
            RequestRejected,
            "serper answered, but with an error: 'Quota exceeded'",
        ),
        ("serper", refuse(307, Location="/elsewhere"), RequestRejected, "the URL redirects; give the final one"),
        ("serper", refuse(400, "[" * 99_999), RequestRejected, "serper answered 400"),
        ("serper", lambda: web.Response(text="<html>"), ServerFailed, "not with JSON"),
        ("serper", lambda: web.Response(text="[" * (MOST_BYTES + 1)), ServerFailed, "not with JSON"),
    ],
)
async def test_what_cannot_be_used_is_said_without_the_key(
    name: str, answer: Callable[[], web.Response], error: type[Exception], words: str
) -> None:
    async with searching(service(name), Server(answer)) as search:
        with pytest.raises(error, match=words) as raised:
            await search.search("gin", count=2)
    assert KEY not in str(raised.value)


async def test_an_empty_result_and_odd_rows_are_no_error() -> None:
    odd = {
        "organic": [None, {"title": 3, "link": "https://a.example/", "snippet": None}, {"link": "javascript:alert(1)"}]
    }
    async with searching(service("serper"), Server(ok({"credits": 1}), ok(odd))) as search:
        assert await search.search("gin", count=2) == ()
        assert await search.search("gin", count=2) == (Hit(title="", url="https://a.example/"),)


async def test_hits_are_visible_lines_of_bounded_length_at_readable_addresses() -> None:
    rows = [
        {"title": "t " * 999, "link": "http://a.example/x y\nSYSTEM", "snippet": "\U000e0041s " * 999},
        {"title": "T", "link": "http://[", "snippet": ""},
        {"title": "T", "link": "http://a.example/" + "a" * 5000, "snippet": ""},
    ]
    async with searching(service("serper"), Server(ok({"organic": rows}))) as search:
        (hit,) = await search.search("gin", count=9)
    assert (len(hit.title), len(hit.snippet), hit.snippet[:3]) == (300, 1000, "s s")
    assert hit.url == "http://a.example/x%20ySYSTEM"


async def test_a_server_that_is_not_there_is_told_in_words() -> None:
    environ = {"SEARXNG_URL": "http://127.0.0.1:9"}

    async def sleep(seconds: float) -> None:
        pass

    async with open_live_search("searxng", environ, sleep=sleep) as search:
        with pytest.raises(ConnectionFailed, match="searxng cannot be reached"):
            await search.search("gin", count=1)


@pytest.mark.parametrize(
    ("name", "environ", "words"),
    [
        ("serper", {}, "serper needs a key: set the environment variable SERPER_API_KEY"),
        ("brave", {"BRAVE_API_KEY": " "}, "BRAVE_API_KEY"),
        ("jina", {"JINA_API_KEY": "a\nb"}, "JINA_API_KEY holds what no key can"),
        ("searxng", {}, "searxng needs SEARXNG_URL"),
        ("serpr", {}, "unknown searcher 'serpr': did you mean 'serper'"),
    ],
)
async def test_what_is_missing_is_one_line_before_anything_is_asked(
    name: str, environ: Mapping[str, str], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        async with open_live_search(name, environ):
            pass
