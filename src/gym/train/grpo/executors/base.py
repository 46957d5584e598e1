"""What an executor is, and the one that needs nothing: everything in this process.

An executor moves work and decides nothing: call log, meter, budget, brake, retries and limits stay with the run, so that
its results are the same wherever the work is done. Ray is imported by its own modules alone, when it is asked for.
"""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import ClassVar, Protocol

from gym.core.problem import Solver
from gym.errors import MissingExtra
from gym.llm.endpoint import Opener, open_transport

RAY_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
    "RAY_DISABLE_FAILURE_SIGNAL_HANDLER": "1",
}
"""Read by Ray when it is imported: nobody is called, a worker's death is not printed into our standard output, and SIGTERM
stays ours. Ray's C++ would take it, abort this process 3 s after one, and leave the signal to nobody at Ray's shutdown."""


class Executor(Protocol):
    """Where models are asked and solvers run."""

    @property
    def open(self) -> Opener:
        """Opens the bare model of an endpoint."""
        ...

    def remote(self, solver: Solver) -> Solver:
        """The solver, run where the executor runs solvers; the model it asks stays the caller's."""
        ...


class Local:
    """This process."""

    open: ClassVar[Opener] = staticmethod(open_transport)

    def remote(self, solver: Solver) -> Solver:
        """The solver itself."""
        return solver


@asynccontextmanager
async def open_executor(
    name: str, *, address: str = "", workers: int | None = None, say: Callable[[str], None] = lambda text: None
) -> AsyncIterator[Executor]:
    """The executor `local` or `ray`; `address` and `workers` are for Ray, whose workers end with the context.

    Raises `MissingExtra` without Ray, `ConfigError` when no cluster answers at `address`.
    """
    if name == "local":
        yield Local()
        return
    if find_spec("ray") is None:
        raise MissingExtra("executor: ray", "ray")
    for key, value in RAY_SETTINGS.items():
        os.environ.setdefault(key, value)
    from gym.train.grpo.executors.ray import open_ray  # takes half a second and most runs do without

    async with open_ray(address, workers=workers, say=say) as executor:
        yield executor
