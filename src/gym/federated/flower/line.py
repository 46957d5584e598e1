"""A line from the server to the nodes: one of Flower's runs, kept alive, over which our bytes go as messages."""

import logging
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import httpx
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.common.constant import SubStatus
from flwr.common.serde import run_from_proto
from flwr.proto.runtime_pb2 import PullTaskInputRequest, PushTaskOutputRequest, SendTaskHeartbeatRequest
from flwr.supercore.heartbeat import HeartbeatSender
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor, SuperExecAuthHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.grid.http_grid import HttpGrid

logging.getLogger("flwr").setLevel(logging.ERROR)  # it tells of every connection

RECORD, FIELD = "zoo-gym", "bytes"


class Reply(NamedTuple):
    """What came back to one message; empty for what is not ours."""

    to: str
    data: bytes


class Line:
    """An open line to all nodes: Flower's grid, kept alive."""

    def __init__(self, grid: HttpGrid) -> None:
        self.grid = grid
        grid._retry_invoker = None  # Flower's tries for ever, and interrupts this process when it is refused
        task = grid._runtime_client.PullTaskInput(PullTaskInputRequest())
        TaskIdentity.task_id, TaskIdentity.run_id = task.task_id, task.run.run_id
        TaskIdentity.node_id = task.context.node_id
        grid.set_run(run_from_proto(task.run))
        self._alive = beating(grid._runtime_client)
        self._alive.start()

    def nodes(self) -> Mapping[bytes, Any]:
        """By public key, the nodes that are connected."""
        return {node.public_key: node for node in self.grid.get_nodes()}

    def send(self, node_id: int, data: bytes, lives_s: float) -> list[str]:
        """The message's id; none when Flower does not take it."""
        message = Message(record(data), node_id, "query", ttl=max(lives_s, 1.0))
        return [sent for sent in self.grid.push_messages([message]) if sent]

    def replies(self, sent: Collection[str]) -> Iterator[Reply]:
        """To these messages, as far as they are here."""
        for message in self.grid.pull_messages(sent) if sent else ():
            yield Reply(message.metadata.reply_to_message_id, read(message))

    def close(self) -> None:
        """Hang up, as far as the server is there."""
        self._alive.stop()
        try:
            done = PushTaskOutputRequest(context=None, sub_status=SubStatus.COMPLETED, details="")
            self.grid._runtime_client.PushTaskOutput(done)
        except httpx.HTTPError:
            pass
        self.grid.close()


def beating(client: RuntimeHttpClient) -> HeartbeatSender:
    """Keeps a task of Flower's alive; Flower's own would interrupt this process when the task is forgotten."""

    def beat() -> bool:
        try:
            client.SendTaskHeartbeat(SendTaskHeartbeatRequest())
        except httpx.HTTPError:
            return False
        return True

    return HeartbeatSender(beat)


def claiming(secret: bytes) -> list[Any]:
    """What lets a process claim the tasks of the Flower process beside it."""
    protected = ["/flwr.proto.Runtime/AcquireTask"]
    return [
        RuntimeVersionHttpInterceptor(component_name="gym"),
        SuperExecAuthHttpInterceptor(master_secret=secret, protected_methods=protected),
    ]


def record(data: bytes) -> RecordDict:
    """Bytes as Flower carries them."""
    return RecordDict({RECORD: ConfigRecord({FIELD: data})})


def read(message: Message) -> bytes:
    """The bytes in a message; none for an error or anything else."""
    if not message.has_content() or RECORD not in message.content.config_records:
        return b""
    found = message.content.config_records[RECORD].get(FIELD)
    return found if isinstance(found, bytes) else b""
