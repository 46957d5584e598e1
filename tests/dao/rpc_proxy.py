"""A node between us and the real one, which passes calls on and answers some in its own way: limits, lies, older chains."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Pass = Callable[[dict[str, Any]], dict[str, Any]]
"""Asks the real node."""
Answer = Callable[[dict[str, Any], Pass], dict[str, Any]]
"""What the proxy answers to a call."""


@contextmanager
def proxied(url: str, answer: Answer) -> Iterator[str]:
    """The address of such a node."""

    def ask(call: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(url, json.dumps(call).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as response:
            found: dict[str, Any] = json.load(response)
            return found

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told = json.dumps(answer(call, ask)).encode()
            with suppress(ConnectionError):  # who asked may have stopped waiting
                self.send_response(200)
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def refusal(call: dict[str, Any], message: str) -> dict[str, Any]:
    """An error as JSON-RPC tells it."""
    return {"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32_000, "message": message}}


@contextmanager
def noted(url: str, paths: list[str]) -> Iterator[str]:
    """A server that passes every POST on as it is, and notes its path."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kind = self.headers.get("Content-Type", "application/octet-stream")
            paths.append(self.path)
            try:
                answer = urllib.request.urlopen(urllib.request.Request(url + self.path, body, {"Content-Type": kind}))
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                told = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
