"""What runs inside a worker process: one asks a model, the other runs solvers.

Plain async classes that Ray turns into actors; they know nothing of Ray. What goes wrong with a model is a value in the
answer and keeps its type on the way; a bug is raised and arrives as Ray's report of it.
"""

import asyncio
import itertools
import os
import pickle
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

from gym import __version__
from gym.core.chat import ChatModel, Completion, Message, Sampling
from gym.core.problem import Solver, Trajectory
from gym.errors import ConfigError, GymError
from gym.llm.endpoint import Endpoint, open_transport, preflight

Headers = dict[str, str]
_seen: ContextVar[list[Headers]] = ContextVar("seen")


class Hello(NamedTuple):
    """Who a worker is."""

    version: str
    """Of zoo-gym."""
    node: str
    pid: int


class Reply(NamedTuple):
    """What came of one call, and what the server's headers said of its rate limits on the way."""

    answer: Completion | GymError
    headers: tuple[Headers, ...] = ()


class Worker:
    """A process that finds what the driver finds: `search` are its folders for imports, those that exist here."""

    def __init__(self, search: Sequence[str] = ()) -> None:
        sys.path += [folder for folder in search if folder not in sys.path and Path(folder).exists()]

    async def hello(self) -> Hello:
        """Proof of life."""
        return Hello(__version__, platform.node(), os.getpid())

    async def close(self) -> None:
        """Leave nothing behind."""


class ModelWorker(Worker):
    """One endpoint, opened in this process by the first who needs it.

    Invariant: `_model` is set under `_lock`, once, when `_stack` holds what must be closed.
    """

    def __init__(self, endpoint: Endpoint, search: Sequence[str] = ()) -> None:
        super().__init__(search)
        self._endpoint = endpoint
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._model: ChatModel | None = None

    async def open(self) -> str | GymError:
        """The model's name, when it can be asked from here."""
        try:
            return (await self._opened()).name
        except GymError as error:
            return error

    async def send(self, messages: Sequence[Message], sampling: Sampling) -> Reply:
        """One attempt at a completion."""
        headers: list[Headers] = []
        _seen.set(headers)
        try:
            answer: Completion | GymError = await (await self._opened()).complete(messages, sampling)
        except GymError as error:
            answer = error
        return Reply(answer, tuple(headers))

    async def close(self) -> None:
        """Close its connections, and end its server when we started one."""
        await self._stack.aclose()

    async def _opened(self) -> ChatModel:
        async with self._lock:
            if self._model is None:
                opening = open_transport(self._endpoint, {}, observer=_Overheard())
                model = await self._stack.enter_async_context(opening)
                await preflight(model)
                self._model = model
            return self._model


class _Overheard:
    """Keeps the rate limits in a server's headers for the `Reply` of the call that met them."""

    def sent(self) -> None:
        """Times are the driver's to take."""

    def answered(self, ticket: None, headers: Mapping[str, str]) -> None:
        """Those that `gym.llm.rate_headers` can read."""
        if (seen := _seen.get(None)) is not None:
            seen.append({name.lower(): text for name, text in headers.items() if "ratelimit" in name.lower()})


class Asked(NamedTuple):
    """A solver asks its model."""

    number: int
    messages: tuple[Message, ...]
    sampling: Sampling


class Withdrawn(NamedTuple):
    """A solver no longer waits for an answer."""

    number: int


class Ended(NamedTuple):
    """A solver is done; an error of a model, or a time limit of its own, is a way to be done."""

    result: Trajectory | GymError | TimeoutError


class Unknown(NamedTuple):
    """This process has never heard of the attempt: it is younger than that."""


Event = Asked | Withdrawn | Ended | Unknown


class SolverWorker(Worker):
    """Runs solvers; each model call of theirs becomes an event for the driver, who sends the completion back."""

    def __init__(self, search: Sequence[str] = ()) -> None:
        super().__init__(search)
        self._attempts: dict[str, _Attempt] = {}

    async def begin(
        self, ticket: str, solver: bytes, name: str, messages: Sequence[Message], sampling: Sampling
    ) -> Event:
        """Start an attempt of a pickled solver on a model called `name`; its first event."""
        try:
            loaded: Solver = pickle.loads(solver)
        except (ImportError, AttributeError) as error:
            return Ended(ConfigError(f"the solver cannot be imported on {platform.node()} ({error}): install it there"))
        self._attempts[ticket] = _Attempt(name, loaded, messages, sampling)
        return await self.next(ticket)

    async def next(self, ticket: str) -> Event:
        """What an attempt does next; raises what is no failure of a model but a bug of the solver."""
        attempt = self._attempts.get(ticket)
        return Unknown() if attempt is None else await attempt.next()

    async def reply(self, ticket: str, number: int, answer: Completion | GymError) -> None:
        """Give an attempt what it asked for."""
        if (attempt := self._attempts.get(ticket)) is not None:
            attempt.answer(number, answer)

    async def forget(self, ticket: str) -> None:
        """End an attempt, finished or not."""
        if (attempt := self._attempts.pop(ticket, None)) is not None:
            attempt.task.cancel()


class _Attempt:
    """One run of a solver, and the `ChatModel` it sees."""

    def __init__(self, name: str, solver: Solver, messages: Sequence[Message], sampling: Sampling) -> None:
        self.name = name
        self._events: asyncio.Queue[Event | Exception] = asyncio.Queue()
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Completion | GymError]] = {}
        self.task = asyncio.create_task(self._run(solver, messages, sampling))

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """The completion that the driver sends."""
        number = next(self._numbers)
        future: asyncio.Future[Completion | GymError] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        self._events.put_nowait(Asked(number, tuple(messages), sampling))
        try:
            answer = await future
        except asyncio.CancelledError:
            self._events.put_nowait(Withdrawn(number))
            raise
        finally:
            del self._waiting[number]
        if isinstance(answer, GymError):
            raise answer
        return answer

    async def next(self) -> Event:
        event = await self._events.get()
        if isinstance(event, Exception):
            raise event
        return event

    def answer(self, number: int, answer: Completion | GymError) -> None:
        if (future := self._waiting.get(number)) is not None and not future.done():
            future.set_result(answer)

    async def _run(self, solver: Solver, messages: Sequence[Message], sampling: Sampling) -> None:
        try:
            self._events.put_nowait(Ended(await solver(self, messages, sampling)))
        except (GymError, TimeoutError) as error:
            self._events.put_nowait(Ended(error))
        except Exception as error:  # the solver's bug: raised by `next`, with its traceback
            self._events.put_nowait(error)
