"""Flower as the carrier (the extra `federated`): TLS, registered nodes, reconnection. Our packets are bytes to it.

Flower hands the code of an app to every node and runs it there, and lets whoever reaches a SuperLink register nodes and
start runs. A server that is not trusted must not bring code, so here each side runs its own: SuperLink and SuperNode are
Flower's, in its mode for processes of one's own, and the app that Flower wants to see is empty. Control of the SuperLink
takes a token that never leaves its machine. Flower has no stable interface for this, hence the narrow range of versions.
"""

from importlib.util import find_spec

from gym.errors import MissingExtra


def require_flower() -> None:
    """Raises `MissingExtra` where Flower is not installed."""
    if find_spec("flwr") is None:
        raise MissingExtra("a federation over the network", "federated")
