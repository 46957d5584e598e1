"""The Ray cluster of a run: one started in this process, or one that is there already.

Ray starts in a thread of its own, so that its Python sets no signal handlers (its C++ is told not to, see
`base.RAY_SETTINGS`) and blocks no event loop; its children ignore the terminal's Ctrl-C by themselves. Ray waits minutes
for a cluster that is not there, so its address is tried first.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import ray
from yarl import URL

from gym.errors import ConfigError

NAMESPACE = "zoo-gym"
CLIENT = "ray://"
CLIENT_PORT, PORT = 10001, 6379
"""Ray's own defaults: of its client server, and of its head."""
REACH_TIMEOUT_S, CONNECT_TIMEOUT_S = 10.0, 60.0
OBJECT_STORE_BYTES = 100 * 2**20
"""Of a cluster that we start: messages are small and do not need the third of the memory that Ray would take."""


class Cluster(NamedTuple):
    """What workers can be put on."""

    nodes: tuple[str, ...]
    """Ray's ids of the living ones."""
    cpus: int


@asynccontextmanager
async def open_cluster(address: str = "") -> AsyncIterator[Cluster]:
    """Connected to `auto`, `host:port` or `ray://host:port`, or to a cluster of our own for ""; left again at the end.

    A Ray that the caller has initialised is used and left running. Raises `ConfigError` when nobody answers.
    """
    if ray.is_initialized():
        yield await asyncio.to_thread(_cluster)
        return
    await _connect(address)
    try:
        yield await asyncio.to_thread(_cluster)
    finally:
        await asyncio.to_thread(ray.shutdown)


async def _connect(address: str) -> None:
    settings: dict[str, Any] = {"namespace": NAMESPACE, "log_to_driver": False, "logging_level": logging.ERROR}
    if not address:  # this thread outlives the cluster: Linux ends Ray's processes with the thread that started them
        await asyncio.to_thread(
            ray.init, "local", include_dashboard=False, object_store_memory=OBJECT_STORE_BYTES, **settings
        )
        return
    if address != "auto":
        await _reach(address)
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await _in_a_daemon(lambda: ray.init(address, **settings))
    except TimeoutError as error:
        raise ConfigError(f"ray_address {address!r}: no Ray cluster answers within {CONNECT_TIMEOUT_S:g} s") from error
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise ConfigError(f"ray_address {address!r}: {_ends(str(error))}") from error


async def _reach(address: str) -> None:
    """Return when someone listens at the address."""
    host, port = _place(address)
    try:
        async with asyncio.timeout(REACH_TIMEOUT_S):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError) as error:
        why = f"nobody answers on {host} port {port}"
        raise ConfigError(
            f"ray_address {address!r}: {why}; is the cluster up (ray start --head), is the port open?"
        ) from error
    writer.close()


def _place(address: str) -> tuple[str, int]:
    client = address.startswith(CLIENT)
    try:
        url = URL(f"//{address.removeprefix(CLIENT)}")
        host, port = url.host, url.explicit_port
    except ValueError:
        host, port = None, None
    if not host or "://" in address.removeprefix(CLIENT):
        raise ConfigError(f"ray_address {address!r}: expected auto, host:port or ray://host:port")
    return host, port or (CLIENT_PORT if client else PORT)


def _ends(text: str) -> str:
    """The first and the last line of what Ray says, which may be a traceback."""
    said = text.strip().splitlines() or ["no reason given"]
    return " … ".join(dict.fromkeys((said[0].strip(), said[-1].strip())))


def _cluster() -> Cluster:
    nodes = tuple(node["NodeID"] for node in ray.nodes() if node["Alive"])  # type: ignore[no-untyped-call]
    return Cluster(nodes, int(ray.cluster_resources().get("CPU", 1)))  # type: ignore[no-untyped-call]


async def _in_a_daemon(work: Callable[[], object]) -> None:
    """Done in a thread that the process does not wait for at its end, should it hang."""
    future: Future[None] = Future()

    def run() -> None:
        try:
            work()
            future.set_result(None)
        except BaseException as error:  # handed to whoever waits
            future.set_exception(error)

    threading.Thread(target=run, name="ray connect", daemon=True).start()
    await asyncio.wrap_future(future)
