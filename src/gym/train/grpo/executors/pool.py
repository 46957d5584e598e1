"""Worker processes of one kind: the least loaded is asked, a dead one is left out until Ray has replaced it.

Ray restarts a dead actor's process, on another node when its own is gone. A call that was in flight there fails as
`WorkerLost` and is never repeated here: whoever keeps the record repeats it.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import ray
from ray.exceptions import ObjectLostError, RayActorError, WorkerCrashedError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from gym import __version__
from gym.errors import ConfigError, ConnectionFailed, GymError, WorkerLost
from gym.train.grpo.executors.worker import Hello, Worker

LOST = (RayActorError, ObjectLostError, WorkerCrashedError)
"""How Ray says that a process or its node ended."""
AT_ONCE = 10_000
"""Calls that one worker may have in flight; the run's limiter keeps them fewer."""
CPUS = 0.1
"""What a worker reserves of a node: it shows Ray that someone is there and never waits for a busy node."""
START_TIMEOUT_S, CLOSE_TIMEOUT_S, REPLACE_TIMEOUT_S = 120.0, 10.0, 60.0
LOOK_AGAIN_S = 0.2


class Member:
    """One worker process, whichever process that is at the time."""

    def __init__(self, actor: Any, on_lost: Callable[["Member"], None]) -> None:
        self.actor, self.load, self.alive = actor, 0, True
        self._on_lost = on_lost

    async def call(self, method: str, *arguments: Any) -> Any:
        """What the worker's method returns; it is cancelled there when the caller is cancelled here.

        Raises `WorkerLost` when the process ended first.
        """
        try:
            return await _result(getattr(self.actor, method).remote(*arguments))
        except LOST as error:
            self._on_lost(self)
            raise WorkerLost("the Ray worker's process ended before it answered") from error


class Pool:
    """Members that are all alike. Invariant: `_someone` is set exactly while a member is alive."""

    def __init__(self, actors: Sequence[Any], say: Callable[[str], None]) -> None:
        self.members = [Member(actor, self._lost) for actor in actors]
        self._say = say
        self._someone = asyncio.Event()
        self._someone.set()
        self._replacing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def member(self) -> AsyncIterator[Member]:
        """The living member with the least to do; `ConnectionFailed` when none comes back to life in time."""
        try:
            async with asyncio.timeout(REPLACE_TIMEOUT_S):
                await self._someone.wait()
        except TimeoutError as error:
            raise ConnectionFailed(f"no Ray worker came back within {REPLACE_TIMEOUT_S:g} s") from error
        member = min((one for one in self.members if one.alive), key=lambda one: one.load)
        member.load += 1
        try:
            yield member
        finally:
            member.load -= 1

    async def close(self) -> None:
        """Let every member put away what it holds, then end them."""
        for task in self._replacing:
            task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                closing = [_result(one.actor.close.remote()) for one in self.members]
                await asyncio.gather(*closing, return_exceptions=True)
        for one in self.members:
            ray.kill(one.actor)

    def _lost(self, member: Member) -> None:
        if not member.alive:
            return
        member.alive = False
        if not any(one.alive for one in self.members):
            self._someone.clear()
        self._say("a Ray worker's process ended: its calls go to another, and it is replaced")
        task = asyncio.create_task(self._replaced(member))
        self._replacing.add(task)
        task.add_done_callback(self._replacing.discard)

    async def _replaced(self, member: Member) -> None:
        """Until Ray has a new process for the member."""
        while True:
            try:
                await _result(member.actor.hello.remote())
                break
            except LOST:
                await asyncio.sleep(LOOK_AGAIN_S)
        member.alive = True
        self._someone.set()


@asynccontextmanager
async def open_pool(
    kind: type[Worker], *arguments: Any, nodes: Sequence[str], cpus: float = CPUS, say: Callable[[str], None]
) -> AsyncIterator[Pool]:
    """A worker of `kind`, made of `arguments`, for each of `nodes`, ended with the context.

    A node that is named "" is chosen by Ray. Raises `ConfigError` when they do not start or are of another version.
    """
    made = ray.remote(kind)
    options = {"max_restarts": -1, "max_task_retries": 0, "max_concurrency": AT_ONCE, "num_cpus": cpus}
    actors = [made.options(scheduling_strategy=_place(node), **options).remote(*arguments, _search()) for node in nodes]
    pool = Pool(actors, say)
    try:
        await _started(pool)
        yield pool
    finally:
        await pool.close()


async def _started(pool: Pool) -> None:
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            hellos: list[Hello] = await asyncio.gather(*(_result(one.actor.hello.remote()) for one in pool.members))
    except TimeoutError as error:
        raise ConfigError(
            f"executor ray: no worker within {START_TIMEOUT_S:g} s; has the cluster {CPUS:g} free CPUs for each?"
        ) from error
    except ray.exceptions.RayError as error:
        cause = str(error).strip().rpartition("\n")[2]
        raise ConfigError(
            f"executor ray: a worker does not start; is zoo-gym {__version__} installed on every node? ({cause})"
        ) from error
    for hello in hellos:
        if hello.version != __version__:
            raise ConfigError(
                f"executor ray: node {hello.node!r} has zoo-gym {hello.version}, this is {__version__}: "
                "install the same version on both"
            )


async def of_all(pool: Pool, method: str) -> list[Any]:
    """What every member's method returns; raises the first `GymError` that one of them returned."""
    found = await asyncio.gather(*(one.call(method) for one in pool.members))
    for each in found:
        if isinstance(each, GymError):
            raise each
    return found


async def _result(reference: Any) -> Any:
    """What a call to an actor gives; cancelled here, it is cancelled there.

    Ray's own future is left alone: the thread of its client dies when it finds one cancelled.
    """
    future = asyncio.wrap_future(reference.future())
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody else will look at it
        ray.cancel(reference)
        raise


def _place(node: str) -> Any:
    return NodeAffinitySchedulingStrategy(node, soft=True) if node else "SPREAD"


def _search() -> tuple[str, ...]:
    """Where this process finds modules, the working folder included, for workers on this machine."""
    return (os.getcwd(), *filter(None, sys.path))
