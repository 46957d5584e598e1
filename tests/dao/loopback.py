"""Servers on loopback that answer as they like, and nodes between us and the real one: limits, lies, older chains."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Reply = Callable[[BaseHTTPRequestHandler], None]
Pass = Callable[[dict[str, Any]], dict[str, Any]]
"""Asks the real node."""
Answer = Callable[[dict[str, Any], Pass], dict[str, Any]]
"""What the proxy answers to a call."""


@contextmanager
def serving(reply: Reply) -> Iterator[str]:
    """The address of a server that answers every POST like this."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            reply(self)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def posted(request: BaseHTTPRequestHandler) -> bytes:
    """The body of a request."""
    return request.rfile.read(int(request.headers.get("Content-Length") or 0))


def tell(request: BaseHTTPRequestHandler, data: bytes, *, promised: int | None = None, status: int = 200) -> None:
    """Answer with these bytes, and promise so many."""
    request.send_response(status)
    request.send_header("Content-Length", str(len(data) if promised is None else promised))
    request.end_headers()
    request.wfile.write(data)


def proxied(url: str, answer: Answer) -> AbstractContextManager[str]:
    """The address of a node that answers JSON-RPC calls like this."""

    def ask(call: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(url, json.dumps(call).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as response:
            found: dict[str, Any] = json.load(response)
            return found

    def reply(request: BaseHTTPRequestHandler) -> None:
        told = json.dumps(answer(json.loads(posted(request)), ask)).encode()
        with suppress(ConnectionError):  # who asked may have stopped waiting
            tell(request, told)

    return serving(reply)


def refusal(call: dict[str, Any], message: str) -> dict[str, Any]:
    """An error as JSON-RPC tells it."""
    return {"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32_000, "message": message}}


def noted(url: str, paths: list[str]) -> AbstractContextManager[str]:
    """A server that passes every POST on as it is, and notes its path."""

    def reply(request: BaseHTTPRequestHandler) -> None:
        body, kind = posted(request), request.headers.get("Content-Type", "application/octet-stream")
        paths.append(request.path)
        try:
            answer = urllib.request.urlopen(urllib.request.Request(url + request.path, body, {"Content-Type": kind}))
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            tell(request, answer.read(), status=answer.status)

    return serving(reply)
