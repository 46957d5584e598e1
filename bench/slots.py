"""`python -m bench.slots SERVER --slots N`: llama.cpp's own server behind an address that chooses the slot for every request.

Left to itself, the server gives the five answers to one question to five idle slots, and each reads the question anew. Here a
request waits for a slot that holds its whole prompt, or else the longest beginning of it, unless too many wait there, so that
a question is read once or twice: for the benches that take `--base-url`. Long prompts (a library, a critique's worked
examples) have slots of their own, so that questions do not push their beginning out, and of slots that hold nothing of a
prompt the one that was left alone longest is given up. A request that is repeated with its seed, or at temperature 0, is
answered once.

The server needs one cache for all slots, or it computes slots with unequal work one after the other, and must not empty the
slots that rest, as it else does then. A bench of eight processes fills 32 slots, one of 24 processes 96:

    llama-server -m MODEL.gguf --port 8080 -np 32 -c 65536 --kv-unified --no-cache-idle-slots --cache-ram 0
    python -m bench.slots http://127.0.0.1:8080 --slots 32
    python -m bench.ablation --base-url http://127.0.0.1:8090/v1
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

LONG = 500
"""Characters of a prompt from which on it goes to the slots for long ones."""
FOR_LONG = 0.5
"""Share of the slots."""
A_TOKEN = 2
"""Characters to be read that an answer's token weighs which a slot's queue may still write."""
USUAL = 32
"""Tokens of an answer that does not say how many it may have."""
NEARLY = 50
"""Of slots that differ by fewer characters the one that was left alone longest is taken."""
QUEUE = 256
"""Tokens that may be ahead of a request in a slot that holds its whole prompt, before another slot reads it too."""
PATHS = ("/v1/models", "/health")
"""Passed on as they are."""


@dataclass
class Slot:
    """One of the server's."""

    number: int
    holds: str = ""
    """The prompt that it reads or read last, that of the last request in its queue."""
    ahead: int = 0
    """Tokens that the requests in its queue may write, the one that it answers included."""
    used: int = 0
    """When it was last chosen, as a count."""
    free: asyncio.Lock = field(default_factory=asyncio.Lock)

    def cost(self, prompt: str) -> int:
        """Characters that would have to be read, and what the queue weighs."""
        known = len(os.path.commonprefix((self.holds, prompt)))  # noqa: RUF071 -- by characters is what is meant
        return len(prompt) - known + A_TOKEN * self.ahead


def chosen(slots: Sequence[Slot], prompt: str) -> Slot:
    """The slot in which the prompt is read soonest.

    >>> slots = [Slot(0, "A shop. How much?"), Slot(1, "A farm. How many?"), Slot(2)]
    >>> chosen(slots, "A farm. How many eggs?").number
    1
    """
    border = len(slots) - max(1, round(FOR_LONG * len(slots)))
    kind = slots[border:] if len(prompt) > LONG else slots[:border]
    if holders := [slot for slot in kind if slot.holds == prompt and slot.ahead < QUEUE]:
        return min(holders, key=lambda slot: slot.ahead)
    return min(kind, key=lambda slot: (slot.cost(prompt) // NEARLY, slot.used))


def prompt_of(body: Mapping[str, Any]) -> str:
    """All messages as one text, in which equal beginnings are equal beginnings of what the model reads."""
    return "".join(f"<{message['role']}>{message.get('content') or ''}" for message in body["messages"])


class Router:
    """A web application in front of `server`."""

    def __init__(self, server: str, slots: int) -> None:
        self.server = server.rstrip("/")
        self.slots = [Slot(number) for number in range(slots)]
        self.count = 0
        self.answered: dict[str, asyncio.Task[tuple[int, bytes]]] = {}
        """By request; a failed one is asked again."""

    def application(self) -> web.Application:
        """To be served."""
        made = web.Application(client_max_size=1 << 26)
        made.cleanup_ctx.append(self._connected)
        made.router.add_post("/v1/chat/completions", self.complete)
        for path in PATHS:
            made.router.add_get(path, self.passed_on)
        return made

    async def complete(self, request: web.Request) -> web.Response:
        """One chat completion."""
        try:
            body = await request.json()
            prompt_of(body)
        except (ValueError, TypeError, KeyError):
            return _response((400, b'{"error": {"message": "expected a chat completion request with messages"}}'))
        if "seed" not in body and body.get("temperature") != 0:
            return _response(await self._ask(body))
        key = json.dumps(body, sort_keys=True)
        if key not in self.answered:
            self.answered[key] = asyncio.create_task(self._ask(body))
        status, content = await asyncio.shield(self.answered[key])
        if status != 200:
            self.answered.pop(key, None)
        return _response((status, content))

    async def passed_on(self, request: web.Request) -> web.Response:
        """What is no completion."""
        async with self._client.get(self.server + request.path) as answer:
            return _response((answer.status, await answer.read()))

    async def _ask(self, body: dict[str, Any]) -> tuple[int, bytes]:
        prompt = prompt_of(body)
        slot = chosen(self.slots, prompt)
        slot.holds = prompt
        room = limit if isinstance(limit := body.get("max_tokens"), int) else USUAL
        slot.ahead += room
        self.count += 1
        slot.used = self.count
        try:
            async with slot.free:
                given = body | {"id_slot": slot.number, "cache_prompt": True}
                async with self._client.post(f"{self.server}/v1/chat/completions", json=given) as answer:
                    return answer.status, await answer.read()
        except aiohttp.ClientError as error:
            return 502, json.dumps({"error": {"message": f"{self.server}: {error}; is llama-server up?"}}).encode()
        finally:
            slot.ahead -= room

    async def _connected(self, _: web.Application) -> Any:
        timeout, connector = aiohttp.ClientTimeout(total=None), aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(timeout=timeout, connector=connector) as self._client:
            yield


def _response(answer: tuple[int, bytes]) -> web.Response:
    status, content = answer
    return web.Response(status=status, body=content, content_type="application/json")


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="bench.slots", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("server", help="where llama-server listens, as http://127.0.0.1:8080")
    parser.add_argument("--slots", type=int, required=True, help="as many as it was started with (-np)")
    parser.add_argument("--port", type=int, default=8090, help="to listen on (default: 8090)")
    asked = parser.parse_args()
    if asked.slots < 2:
        parser.error("--slots: two at least, one of them for long prompts")
    try:
        web.run_app(Router(asked.server, asked.slots).application(), host="127.0.0.1", port=asked.port)
    except OSError as error:
        sys.exit(f"error: cannot listen on port {asked.port}: {error.strerror or error}; give another --port")


if __name__ == "__main__":
    main()
