"""An OpenAI-compatible server on loopback whose replies, faults included, are a function of the request.

For tests and rehearsals over a real socket: refusals, hangs, resets, odd bodies. See `gym.llm.scripted` for the same
without HTTP.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from aiohttp import web

Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """One HTTP answer; `fault` instead of it: `hang` never answers, `reset` cuts the connection."""

    body: object = ""
    """JSON value, or text sent as it is."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: Literal["", "hang", "reset", "cut"] = ""
    """`cut`: the body promises more bytes than it has."""


Script = Callable[[Json], "Answer | str"]


def completion_body(text: str | None, **changes: Any) -> Json:
    """A chat completion as the wire has it; `changes` replace its top-level fields."""
    body: Json = {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted-model",
        "choices": [
            {"index": 0, "finish_reason": "stop", "logprobs": None, "message": {"role": "assistant", "content": text}}
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }
    return body | changes


def error_body(message: str, **fields: Any) -> Json:
    """An error as OpenAI words it."""
    return {"error": {"message": message} | fields}


class ScriptedServer:
    """`async with ScriptedServer(script) as server`: listens on a free loopback port until the context ends.

    A script's string is a completion with that text. `models` are listed by GET /models (None: 404).
    """

    def __init__(self, script: Script, models: tuple[str, ...] | Answer | None = None) -> None:
        self.requests: list[Json] = []
        """Bodies of the chat completions asked for, in order of arrival."""
        self.headers: list[Mapping[str, str]] = []
        self.queries: list[str] = []
        self.asked = asyncio.Event()
        """Set by the first chat completion asked for."""
        self.base_url = ""
        self._script, self._models = script, models
        self._released = asyncio.Event()
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._list)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._released.set()
        await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self.queries.append(request.query_string)
        self.asked.set()
        answer = self._script(body)
        return await self._send(request, Answer(completion_body(answer)) if isinstance(answer, str) else answer)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        if self._models is None:
            raise web.HTTPNotFound
        if isinstance(self._models, Answer):
            return await self._send(request, self._models)
        rows = [{"id": name, "object": "model", "owned_by": "scripted"} for name in self._models]
        return web.json_response({"object": "list", "data": rows})

    async def _send(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        if answer.fault == "hang":
            await self._released.wait()
        if answer.fault in ("hang", "reset"):
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if answer.fault == "cut":
            response = web.StreamResponse(status=answer.status, headers={"Content-Length": "1000"})
            await response.prepare(request)
            await response.write(b'{"choices": [{"mess')
            assert request.transport is not None
            request.transport.close()
            return response
        if isinstance(answer.body, str):
            return web.Response(text=answer.body, status=answer.status, headers=answer.headers)
        return web.json_response(answer.body, status=answer.status, headers=answer.headers)
