"""A solver that runs in a worker process while every model call of it is made here.

So its calls are recorded, limited, paid and replayed as if it ran here. When its worker dies the attempt starts again in
another, and what it had asked before is answered from the log.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import assert_never
from uuid import uuid4

from ray import cloudpickle

from gym.core.chat import ChatModel, Message, Sampling
from gym.core.problem import Solver, Trajectory
from gym.errors import GymError, WorkerLost
from gym.train.grpo.executors.pool import Member, Pool
from gym.train.grpo.executors.worker import Asked, Ended, Event, Unknown, Withdrawn

LIVES = 4
"""Workers that one attempt may lose, its own doing perhaps, before it fails."""


class RemoteSolver:
    """A `Solver`; `pool` gives the workers when they are first needed."""

    def __init__(self, solver: Solver, pool: Callable[[], Awaitable[Pool]]) -> None:
        self._solver: bytes = cloudpickle.dumps(solver)  # type: ignore[no-untyped-call]
        self._pool = pool

    async def __call__(self, model: ChatModel, messages: Sequence[Message], sampling: Sampling) -> Trajectory:
        """The solver's trajectory; raises what it raises, and `WorkerLost` when it loses worker after worker."""
        pool = await self._pool()
        for _ in range(LIVES):
            async with pool.member() as member:
                found = await _Attempt(member, model).run(self._solver, messages, sampling)
            if isinstance(found, Exception):
                raise found
            if found is not None:
                return found
        raise WorkerLost(f"{LIVES} Ray workers ended, one after the other, while they ran this attempt")


class _Attempt:
    """The driver's side of a solver in one worker."""

    def __init__(self, member: Member, model: ChatModel) -> None:
        self._member, self._model = member, model
        self._ticket = uuid4().hex
        self._asked: dict[int, asyncio.Task[None]] = {}

    async def run(
        self, solver: bytes, messages: Sequence[Message], sampling: Sampling
    ) -> Trajectory | Exception | None:
        """How it ended; None: the worker did, and what it had asked for was waited for, since that is paid."""
        try:
            async with asyncio.TaskGroup() as calls:
                with suppress(WorkerLost):
                    begun = ("begin", self._ticket, solver, self._model.name, tuple(messages), sampling)
                    return await self._followed(calls, await self._member.call(*begun))
            return None
        except BaseExceptionGroup as group:  # an error that is no model's ends the attempt as it would here
            raise group.exceptions[0] from None
        finally:
            self._member.actor.forget.remote(self._ticket)

    async def _followed(self, calls: asyncio.TaskGroup, event: Event) -> Trajectory | Exception | None:
        while True:
            match event:
                case Asked():
                    self._asked[event.number] = calls.create_task(self._answer(event))
                case Withdrawn():
                    self._asked[event.number].cancel()
                case Ended():
                    return event.result
                case Unknown():
                    return None
                case _:
                    assert_never(event)
            event = await self._member.call("next", self._ticket)

    async def _answer(self, asked: Asked) -> None:
        try:
            answer = await self._model.complete(asked.messages, asked.sampling)
        except GymError as error:
            with suppress(WorkerLost):
                await self._member.call("reply", self._ticket, asked.number, error)
        else:
            with suppress(WorkerLost):
                await self._member.call("reply", self._ticket, asked.number, answer)
