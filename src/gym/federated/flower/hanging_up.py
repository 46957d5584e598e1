"""A node that was killed is still connected for a minute, to the server: before it connects anew it hangs up in its own name."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import httpx
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from flwr.proto.fleet_pb2 import DeactivateNodeRequest
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
from flwr.supernode.fleet_http_client import FleetHttpClient
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

from gym.federated.certificates import AUTHORITY
from gym.federated.flower.processes import NODE_LOG
from gym.federated.keys import LINK
from gym.files import write_atomic

CONNECTION = "link.id"
"""The number that the server knows the node's key by; no secret."""
FORGETS_S = 60
"""After which a server takes a silent node for gone."""
_SAID = re.compile(r"SuperNode ID: (\d+)")


def hang_up(folder: Path, server: str, *, wait: Callable[[float], None] = time.sleep) -> None:
    """End what the last process of this node may have left open; nothing where nothing is open.

    A server that is away is waited for as long as it would take the node for connected when it comes back.
    """
    if (node_id := _last_connection(folder)) is None:
        return
    for _ in range(FORGETS_S):
        if _told(folder, server, node_id):
            return
        wait(1.0)


def _told(folder: Path, server: str, node_id: int) -> bool:
    """Whether the server has heard it, or it is none of ours and never will."""
    key = load_ssh_private_key((folder / LINK).read_bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    interceptors = [RuntimeVersionHttpInterceptor(component_name="gym"), NodeAuthHttpInterceptor(key, key.public_key())]
    try:
        with FleetHttpClient.from_server_address(server, False, str(folder / AUTHORITY), interceptors) as client:
            client.DeactivateNode(DeactivateNodeRequest(node_id=node_id))
    except httpx.TransportError as error:
        return "CERTIFICATE" in str(error)
    except (httpx.HTTPError, httpx.InvalidURL, RuntimeError):
        pass
    return True


def _last_connection(folder: Path) -> int | None:
    """As the log of the last process tells it, kept because the next one's log takes its place."""
    log, kept = folder / NODE_LOG, folder / CONNECTION
    if log.exists() and (found := _SAID.findall(log.read_text(encoding="utf-8", errors="replace"))):
        write_atomic(kept, found[-1])
    said = kept.read_text(encoding="utf-8", errors="replace").strip() if kept.exists() else ""
    return int(said) if said.isascii() and said.isdigit() else None
