"""A node's answers through its SuperNode: the code that a server sends along is never opened, ours answers."""

import time
from collections.abc import Callable
from typing import Any

import httpx
from flwr.app import Message
from flwr.common.constant import SubStatus
from flwr.proto.runtime_pb2 import AcquireTaskRequest
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor, RuntimeVersionHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

from gym.errors import ConfigError
from gym.federated.flower.line import beating, claiming, read, record
from gym.federated.flower.processes import Child

BREATH_S = 0.3


def serve(
    child: Child,
    port: int,
    secret: bytes,
    answer: Callable[[bytes], bytes],
    *,
    stopped: Callable[[], bool] = lambda: False,
    heard: Callable[[], None] = lambda: None,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Answer until `stopped`, calling `heard` between.

    Raises `ConfigError` with Flower's reason when the SuperNode ends by itself.
    """
    address = f"127.0.0.1:{port}"
    claims = _client(address, claiming(secret))
    while not stopped():
        if child.ended:
            raise ConfigError(f"the connection to the server ended: {child.last_words()}")
        try:
            token = claims.AcquireTask(AcquireTaskRequest(supported_task_types=["flwr-clientapp"])).token
            if token:
                _answer(address, token, answer)
                continue
        except httpx.HTTPError:  # it starts, or ends: then it is seen above
            pass
        heard()
        wait(BREATH_S)
    claims.close()


def _answer(address: str, token: str, answer: Callable[[bytes], bytes]) -> None:
    client = _client(address, [RuntimeVersionHttpInterceptor(component_name="gym"), RuntimeTokenHttpInterceptor(token)])
    alive = beating(client)
    alive.start()
    try:
        message, context, _, _ = pull_task_input(client)
        push_message(client, Message(record(answer(read(message))), reply_to=message), context)
        push_task_output(client=client, context=context, sub_status=SubStatus.COMPLETED, details="")
    finally:
        alive.stop()
        client.close()


def _client(address: str, interceptors: list[Any]) -> RuntimeHttpClient:
    """On loopback, where only our own process and Flower's speak; the secret keeps other users out."""
    return RuntimeHttpClient.from_server_address(
        server_address=address, insecure=True, root_certificates=None, interceptors=interceptors
    )
