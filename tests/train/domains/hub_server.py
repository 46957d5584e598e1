"""A Hugging Face hub on loopback with data sets of JSONL files: the few answers that the library `datasets` needs."""

import hashlib
import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "a" * 40
Files = Mapping[str, bytes]


def data_set(config: str, **splits: list[dict[str, Any]]) -> Files:
    """The files of a repository with one configuration."""
    listed = "".join(f"  - split: {name}\n    path: {config}/{name}.jsonl\n" for name in splits)
    card = f"---\nconfigs:\n- config_name: {config}\n  data_files:\n{listed}---\n"
    texts = {f"{config}/{name}.jsonl": "".join(json.dumps(row) + "\n" for row in rows) for name, rows in splits.items()}
    return {name: text.encode() for name, text in {"README.md": card, **texts}.items()}


class HubServer(ThreadingHTTPServer):
    """Serves `repositories` (owner/name -> its files) at `url`; `asked` are the paths that were asked for."""

    daemon_threads = True

    def __init__(self, repositories: Mapping[str, Files]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories = repositories
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    server: HubServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(path)
        parts = path.removeprefix("/api").removeprefix("/datasets/").split("/")
        files = self.server.repositories.get("/".join(parts[:2]))
        if files is None:
            self._send(b"", 404, {"X-Error-Code": "RepoNotFound"})
        elif path.startswith("/api/"):
            self._send(json.dumps(_described("/".join(parts[:2]), parts[2:], files)).encode())
        elif (body := files.get("/".join(parts[4:]))) is None:
            self._send(b"", 404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
        else:
            self._send(body, 200, {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha1(body).hexdigest()}"'})

    def do_HEAD(self) -> None:
        self.do_GET()

    def _send(self, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def _described(name: str, asked: list[str], files: Files) -> object:
    """What the API says of a repository, or of a folder of it."""
    if asked[0] != "tree":
        return {"id": name, "sha": COMMIT, "private": False, "siblings": [{"rfilename": file} for file in files]}
    folder = "/".join(asked[2:])
    return [
        {"type": "file", "path": file, "size": len(body), "oid": hashlib.sha1(body).hexdigest()}
        for file, body in files.items()
        if file.rpartition("/")[0] == folder
    ]
