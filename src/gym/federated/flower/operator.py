"""What only the server's operator may do at its SuperLink: register the members' keys, and speak to the nodes."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import httpx
from flwr.cli.build import build_fab_from_files
from flwr.proto.control_pb2 import ListNodesRequest, RegisterNodeRequest, StartRunRequest, UnregisterNodeRequest
from flwr.proto.fab_pb2 import Fab
from flwr.proto.runtime_pb2 import AcquireTaskRequest
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.superlink.grid.http_grid import HttpGrid

from gym.errors import ConnectionFailed
from gym.federated.certificates import read_authority
from gym.federated.flower.line import Line, claiming
from gym.federated.homes import ServerHome
from gym.federated.keys import OPERATOR, RUNTIME, public_pem, secret, token
from gym.federated.team import Team

_APP: Mapping[str, bytes] = {
    "pyproject.toml": b"""[project]
name = "zoo-gym-round"
version = "1.0.0"
description = "Nothing: each side of a Zoo Gym federation runs its own code."
license = "MIT"
dependencies = []

[tool.flwr.app]
publisher = "zoo-gym"

[tool.flwr.app.components]
serverapp = "empty:app"
clientapp = "empty:app"

[tool.flwr.app.config]
""",
    "LICENSE": b"MIT",
    "empty.py": b"",
}


class _Bearer:
    """Shows the operator's token."""

    def __init__(self, token: str) -> None:
        self._token = token

    def intercept(self, context: Any, call_next: Any) -> httpx.Response:
        context.request.headers["authorization"] = f"Bearer {self._token}"
        response: httpx.Response = call_next(context)
        return response


class Operator:
    """Of one server, at host:port. What fails on the way is a `ConnectionFailed`."""

    def __init__(self, home: ServerHome, address: str) -> None:
        self.address = address
        self._online = frozenset[str]()
        self._authority = read_authority(home.path)
        self._secret = secret(home.path / RUNTIME)
        shown = token(home.path / OPERATOR)
        self._control = ControlHttpClient.from_server_address(
            address, False, self._authority, [RuntimeVersionHttpInterceptor(component_name="gym"), _Bearer(shown)]
        )

    def answers(self) -> bool:
        """Whether the SuperLink is there."""
        try:
            self._control.ListNodes(ListNodesRequest())
        except httpx.TransportError:
            return False
        return True

    def online(self) -> frozenset[str]:
        """Names of the members that are connected; those of the last moment where nobody answers."""
        try:
            nodes = self._control.ListNodes(ListNodesRequest()).nodes_info
            self._online = frozenset(node.name for node in nodes if node.status == "online")
        except httpx.HTTPError:
            pass
        return self._online

    def register(self, team: Team) -> None:
        """Let the team's keys connect, and no others."""
        wanted = {public_pem(card.link): card.member.address for card in team.cards}
        try:
            nodes = self._control.ListNodes(ListNodesRequest()).nodes_info
            listed = {node.public_key: node.node_id for node in nodes if node.status != "unregistered"}
            for key in listed.keys() - wanted.keys():
                self._control.UnregisterNode(UnregisterNodeRequest(node_id=listed[key]))
            for key in wanted.keys() - listed.keys():
                self._control.RegisterNode(RegisterNodeRequest(public_key=key, name=wanted[key]))
        except httpx.HTTPError as error:
            raise unreachable(self.address, error) from error

    def speak(self) -> Line:
        """A line to the nodes; close it."""
        try:
            fab, _ = build_fab_from_files(_APP)
            self._control.StartRun(StartRunRequest(fab=Fab(hash_str=sha256(fab).hexdigest(), content=fab)))
            tasks = RuntimeHttpClient.from_server_address(
                self.address, insecure=False, root_certificates=self._authority, interceptors=claiming(self._secret)
            )
            token = tasks.AcquireTask(AcquireTaskRequest(supported_task_types=["flwr-serverapp"])).token
            tasks.close()
            return Line(HttpGrid(self.address, False, self._authority, token=token))
        except httpx.HTTPError as error:
            raise unreachable(self.address, error) from error

    def close(self) -> None:
        """Let go of the connection."""
        self._control.close()


def unreachable(address: str, error: Exception) -> ConnectionFailed:
    """Nobody is there, or it is another server."""
    return ConnectionFailed(
        f"the server at {address} does not answer as ours does ({type(error).__name__}: {error})"[:300]
    )
