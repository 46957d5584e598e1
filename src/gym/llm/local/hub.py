"""One file from a model hub over HTTP, continued after a broken connection as long as bytes keep coming."""

import os
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from gym.llm.local.catalogue import HubFile, Weights
from gym.llm.local.incoming import CHUNK, Fetch, Progress, Unavailable, require_room

HUB_URL = "https://huggingface.co"
TIMEOUT_S = 10.0
"""Of connecting, and of any one silence."""
ATTEMPTS = 20


def source(file: HubFile, hub_url: str | None = None) -> Fetch:
    """Fetch `file` from `hub_url`, else `$HF_ENDPOINT` (a mirror), else the public hub."""
    base = (hub_url or os.environ.get("HF_ENDPOINT") or HUB_URL).rstrip("/")
    url = f"{base}/{file.repo}/resolve/main/{file.file}"

    def fetch(weights: Weights, incoming: Path, progress: Progress) -> Path:
        target = incoming / "hub"
        target.touch()
        for _ in range(ATTEMPTS):
            if (had := target.stat().st_size) >= weights.size:
                return target
            reason = _continue(url, target, weights, progress)
            if target.stat().st_size <= had:
                raise Unavailable(reason)
        raise Unavailable(f"broke off {ATTEMPTS} times ({reason}); the same command continues")

    return fetch


def _continue(url: str, target: Path, weights: Weights, progress: Progress) -> str:
    """Bring what `target` lacks, from the start again where the server knows no ranges; why it ended, in words."""
    have = target.stat().st_size
    try:
        response = urlopen(Request(url, headers={"Range": f"bytes={have}-"}), timeout=TIMEOUT_S)
    except HTTPError as error:
        error.close()
        return f"HTTP {error.code}"
    except (HTTPException, OSError) as error:
        return f"no answer ({getattr(error, 'reason', error)})"
    with response:
        start = have if response.status == 206 else 0
        length = response.headers.get("Content-Length")
        if length is not None and start + int(length) != weights.size:
            return f"offers {start + int(length)} bytes, expected {weights.size}"
        require_room(target.parent, weights.size - start, weights.name)
        return _receive(response, target, start, progress)


def _receive(response: HTTPResponse, target: Path, start: int, progress: Progress) -> str:
    """Write the body at `start`. Only reading may fail quietly: a full disk must not look like a broken line."""
    with target.open("ab" if start else "wb") as file:
        while True:
            try:
                chunk = response.read1(CHUNK)
            except (HTTPException, OSError) as error:
                return f"the connection broke ({error})"
            if not chunk:
                return "the connection ended early"
            file.write(chunk)
            start += len(chunk)
            progress(start)
