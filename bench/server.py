"""The mock model server: HTTP/1.1 by hand on an asyncio protocol, so that one core answers thousands a second.

No task per request: an answer is a timer. Run as a program it serves in a process of its own, prints its URL, and ends
with its standard input, so that it never outlives the bench. GET /ledger tells what happened; POST /plan starts anew.
"""

import asyncio
import json
import math
import re
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Literal, Protocol, cast

from bench import script
from bench.cores import pin
from bench.ledger import Entry, Ledger
from bench.plan import MODEL, Fault, Plan

BACKLOG = 4096
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error"}


_COMPLETION = (
    b'{"id": "chatcmpl-bench", "object": "chat.completion", "created": 0, "model": "bench-model", "choices": [{"index": 0, '
    b'"finish_reason": "stop", "logprobs": null, "message": {"role": "assistant", "content": %s}}], "usage": '
    b'{"prompt_tokens": 96, "completion_tokens": %d, "total_tokens": %d, "prompt_tokens_details": {"cached_tokens": 48}}}'
)

Trouble = Fault | Literal["halt"]
"""What a job ends in instead of its answer; `halt` is a hang that the plan meant for everybody."""


class Later(Protocol):
    """`loop.call_later`, or a test's."""

    def __call__(self, delay: float, callback: Callable[..., None], /, *args: Any) -> asyncio.TimerHandle: ...


class Job:
    """A request being worked on, or waiting for its turn."""

    __slots__ = ("began", "connection", "entry", "fault", "text", "timer", "working")

    def __init__(self, connection: "Connection", entry: Entry, text: str, fault: Trouble | None, began: float) -> None:
        self.connection, self.entry, self.text, self.fault, self.began = connection, entry, text, fault, began
        self.timer: asyncio.TimerHandle | None = None
        self.working = False


class Desk:
    """Works on requests as a plan says. Invariant: at most `plan.capacity` jobs are working, the rest wait in order."""

    def __init__(self, plan: Plan, later: Later, clock: Callable[[], float] = time.monotonic) -> None:
        self.plan, self.ledger = plan, Ledger(clock)
        self._later, self._clock = later, clock
        self._waiting: deque[Job] = deque()
        self._working = 0
        self._tokens, self._refilled = plan.rate or 0.0, clock()

    def take(self, connection: "Connection", body: bytes) -> Job | None:
        """Start or queue the work on a completion request; None when it was refused at once."""
        began = self._clock()
        asked = script.read(self.plan, body)
        entry = self.ledger.receive(asked.identity)
        if not self._within_rate(began):
            self.ledger.limit(entry, began)
            connection.send(429, _error("too many requests a second"), self._headers(refused=True))
            return None
        fault = self._trouble(asked, entry)
        if fault == "429":
            self.ledger.fail(entry, began, fault)
            connection.send(429, _error("slow down"), self._headers(refused=True))
            return None
        job = Job(connection, entry, asked.text, fault, began)
        self._waiting.append(job)
        self._work()
        return job

    def drop(self, job: Job) -> None:
        """The client of a job went away."""
        if job.timer is not None:
            job.timer.cancel()
        if job.fault == "hang" and job.working:
            self.ledger.fail(job.entry, job.began, "hang")
        else:
            self.ledger.lose(job.began)
        self._leave(job)

    def _work(self) -> None:
        """Give every job its turn that may have it."""
        while self._waiting and (self.plan.capacity is None or self._working < self.plan.capacity):
            job = self._waiting.popleft()
            job.working = True
            self._working += 1
            if job.fault not in ("hang", "halt"):
                job.timer = self._later(self.plan.latency_s, self._finish, job)

    def _finish(self, job: Job) -> None:
        if job.fault is None:
            self.ledger.answer(job.entry, job.began)
        else:
            self.ledger.fail(job.entry, job.began, job.fault)
        self._leave(job)
        _deliver(job, self._headers())
        job.connection.free()

    def _leave(self, job: Job) -> None:
        if job.working:
            self._working -= 1
            self._work()
        else:
            self._waiting.remove(job)

    def _trouble(self, asked: script.Asked, entry: Entry) -> Trouble | None:
        if self.plan.halt_after is not None and self.ledger.received > self.plan.halt_after:
            return "halt"
        return self.plan.fault(asked.identity, entry.requests, asked.problem)

    def _within_rate(self, now: float) -> bool:
        rate = self.plan.rate
        if rate is None:
            return True
        self._tokens = min(rate, self._tokens + (now - self._refilled) * rate)
        self._refilled = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def _headers(self, *, refused: bool = False) -> str:
        wait_s, rate = self.plan.retry_after_s, self.plan.rate
        lines = f"Retry-After: {math.ceil(wait_s)}\r\n" if refused else ""
        lines += f"retry-after-ms: {1000 * wait_s:.0f}\r\n" if refused and wait_s % 1 else ""
        if not self.plan.rate_headers or rate is None:
            return lines
        return (
            f"{lines}x-ratelimit-limit-requests: {rate * 60:.0f}\r\nx-ratelimit-remaining-requests: {self._tokens:.0f}\r\n"
            f"x-ratelimit-reset-requests: {(rate - self._tokens) / rate:.3f}s\r\n"
        )


class Connection(asyncio.Protocol):
    """One kept-alive connection; the next request on it is read when the last is done."""

    def __init__(self, floor: "Floor") -> None:
        self._floor, self._desk = floor, floor.desk
        self._buffer = b""
        self._job: Job | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._job is None:
            self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        job, self._job = self._job, None
        if job is not None:
            self._desk.drop(job)

    def free(self) -> None:
        """The job is done: go on with what has come in the meantime."""
        self._job = None
        if self._buffer and not self._transport.is_closing():
            self._next()

    def send(self, status: int, body: bytes, headers: str = "") -> None:
        """A whole reply with a JSON body."""
        self._transport.write(
            b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s"
            % (status, _REASONS[status].encode(), headers.encode(), len(body), body)
        )

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        raw = self._transport.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def _next(self) -> None:
        buffer = self._buffer
        end = buffer.find(b"\r\n\r\n") + 4
        if end < 4:
            return
        found = _LENGTH.search(buffer, 0, end)
        stop = end + (int(found[1]) if found else 0)
        if len(buffer) < stop:
            return
        self._buffer = buffer[stop:]
        target = buffer[: buffer.index(b"\r\n")].rpartition(b" ")[0]
        self._route(target, buffer[end:stop])

    def _route(self, target: bytes, body: bytes) -> None:
        match target:
            case b"POST /v1/chat/completions":
                self._complete(body)
            case b"GET /v1/models":
                self.send(200, json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]}).encode())
            case b"GET /ledger" | b"GET /ledger?calls":
                self.send(200, json.dumps(self._floor.desk.ledger.to_json(calls=target.endswith(b"calls"))).encode())
            case b"POST /plan":
                self._floor.start(Plan.from_json(body.decode()))
                self.send(200, b"{}")
            case _:
                self.send(404, _error("no such page"))

    def _complete(self, body: bytes) -> None:
        self._desk = self._floor.desk
        try:
            self._job = self._desk.take(self, body)
        except (ValueError, LookupError, TypeError) as error:
            self.send(400, _error(f"no chat completion request: {type(error).__name__}: {error}"))


class Floor:
    """Where the present desk stands: a new plan gets a new desk with an empty ledger, the address stays."""

    def __init__(self, plan: Plan, later: Later, clock: Callable[[], float] = time.monotonic) -> None:
        self._later, self._clock = later, clock
        self.start(plan)

    def start(self, plan: Plan) -> None:
        """Serve `plan` from now on; work begun under the last one ends under it."""
        self.desk = Desk(plan, self._later, self._clock)


async def listen(floor: Floor) -> asyncio.Server:
    """Serve on a free loopback port."""
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: Connection(floor), "127.0.0.1", 0, backlog=BACKLOG)


def address(server: asyncio.Server) -> str:
    """The base URL without /v1."""
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def _deliver(job: Job, headers: str) -> None:
    match job.fault:
        case None:
            job.connection.send(200, _completion(job.text), headers)
        case "500":
            job.connection.send(500, _error("the server has failed"))
        case "truncated":
            whole = _completion(job.text)
            job.connection.send(200, whole[: len(whole) // 2], headers)
        case _:
            job.connection.reset()


def _completion(text: str) -> bytes:
    """A chat completion whose prompt was half cached, as the wire has it."""
    spoken = len(text) // 4
    return _COMPLETION % (json.dumps(text).encode(), spoken, spoken + 96)


def _error(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "mock"}}).encode()


async def _serve(plan: Plan) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    server = await listen(Floor(plan, loop.call_later))
    print(address(server), flush=True)
    threading.Thread(target=wait_for_the_end, daemon=True).start()
    await ended.wait()
    server.close()


def _loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def main() -> None:
    """Serve the plan given as JSON (without one: the usual plan), on the core given as second argument."""
    if len(sys.argv) > 2:
        pin(int(sys.argv[2]))
    with asyncio.Runner(loop_factory=_loop()) as runner:
        runner.run(_serve(Plan.from_json(sys.argv[1] if len(sys.argv) > 1 else "{}")))


if __name__ == "__main__":
    main()
