"""Work on a Ray cluster: models are asked, and solvers run, in worker processes; what decides stays here.

Each endpoint has workers of its own, a model `local:NAME` one a node with a server in each. Solvers have workers apart
from those, since one that computes would keep its process from answering anybody else.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from gym.core.chat import Completion, Message, Sampling
from gym.core.problem import Solver
from gym.errors import GymError
from gym.llm.endpoint import Endpoint, Observer, target
from gym.train.grpo.executors.cluster import Cluster, open_cluster
from gym.train.grpo.executors.pool import Pool, of_all, open_pool
from gym.train.grpo.executors.remote import RemoteSolver
from gym.train.grpo.executors.worker import ModelWorker, Reply, SolverWorker
from gym.train.grpo.solvers.single_turn import single_turn

if TYPE_CHECKING:
    from gym.llm.local.server import LocalServer

MOST_WORKERS = 8
"""By default: more processes only pay where they compute."""


@asynccontextmanager
async def open_ray(
    address: str = "", *, workers: int | None = None, say: Callable[[str], None] = lambda text: None
) -> AsyncIterator["RayExecutor"]:
    """The executor on the cluster at `address` ("": one that starts here); its workers end with the context."""
    async with open_cluster(address) as cluster, AsyncExitStack() as stack:
        yield RayExecutor(cluster, stack, workers, say)


class RayExecutor:
    """An `Executor`; solver workers start when a solver that needs them first runs, and end with `stack`.

    Invariant: `_solvers` is set under `_lock`, once.
    """

    def __init__(
        self, cluster: Cluster, stack: AsyncExitStack, workers: int | None, say: Callable[[str], None]
    ) -> None:
        self._cluster, self._stack, self._workers, self._say = cluster, stack, workers, say
        self._lock = asyncio.Lock()
        self._solvers: Pool | None = None

    @asynccontextmanager
    async def open(
        self,
        endpoint: Endpoint,
        environ: Mapping[str, str] | None = None,
        *,
        on_server: Callable[["LocalServer"], None] | None = None,
        say: Callable[[str], None] = lambda text: None,
        observer: Observer | None = None,
    ) -> AsyncIterator["RayTransport"]:
        """A model that is asked by workers, once all of them have it open; `on_server` sees no server of theirs."""
        found = located(endpoint, os.environ if environ is None else environ)
        nodes = self._nodes(found)
        async with open_pool(ModelWorker, found, nodes=nodes, say=say) as pool:
            say(f"{len(nodes)} Ray workers open {found.model}")
            name: str = (await of_all(pool, "open"))[0]
            yield RayTransport(name, pool, observer)

    def remote(self, solver: Solver) -> Solver:
        """The solver in a worker; a single question has nothing to compute there and stays here."""
        return solver if solver is single_turn else RemoteSolver(solver, self._solver_pool)

    async def _solver_pool(self) -> Pool:
        async with self._lock:
            if self._solvers is None:
                nodes = [""] * (self._workers or min(self._cluster.cpus, MOST_WORKERS))
                opening = open_pool(SolverWorker, nodes=nodes, say=self._say)
                self._solvers = await self._stack.enter_async_context(opening)
            return self._solvers

    def _nodes(self, endpoint: Endpoint) -> Sequence[str]:
        """Where the workers of an endpoint go: those with weights of ours one a node, all others where Ray likes."""
        if not endpoint.embedded:
            return [""] * (self._workers or min(self._cluster.cpus, MOST_WORKERS))
        known = self._cluster.nodes
        return [known[place % len(known)] for place in range(self._workers or len(known))]


class RayTransport:
    """A `ChatModel` that has a worker make the one attempt; raises `WorkerLost` when that worker dies over it."""

    def __init__(self, name: str, pool: Pool, observer: Observer | None = None) -> None:
        self.name = name
        self.workers = len(pool.members)
        """Processes, and servers where each has one."""
        self.pool, self._observer = pool, observer

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """What the endpoint answered the least loaded worker."""
        ticket = self._observer.sent() if self._observer else None
        async with self.pool.member() as member:
            reply: Reply = await member.call("send", tuple(messages), sampling)
        if self._observer:
            for headers in reply.headers:
                self._observer.answered(ticket, headers)
        if isinstance(reply.answer, GymError):
            raise reply.answer
        return reply.answer


def located(endpoint: Endpoint, environ: Mapping[str, str]) -> Endpoint:
    """The endpoint with all that this machine's environment says of it, for workers that have another."""
    if endpoint.embedded or endpoint.model.startswith("scripted:"):
        return endpoint
    found = target(endpoint, environ)
    return replace(endpoint, model=found.model, provider="", base_url=found.base_url, api_key=found.api_key)
