"""Flower's SuperLink for a server's folder, as its own command starts it, but with a lock on its control."""

import hmac
from collections.abc import Sequence
from pathlib import Path

import uvicorn
from flwr.supercore.auth.typing import AccountInfo
from flwr.superlink.auth_plugin.noop_auth_plugin import NoOpControlAuthnPlugin
from flwr.superlink.cli.flower_superlink import SuperLinkLifespan
from flwr.superlink.config_loader import SuperLinkLifespanConfig
from flwr.superlink.main import create_app

from gym.federated.certificates import AUTHORITY, CERTIFICATE, CERTIFICATE_KEY
from gym.federated.keys import OPERATOR, RUNTIME

DATABASE = "superlink.db"


class OperatorOnly(NoOpControlAuthnPlugin):
    """Lets no one register nodes or start runs but who has the server's token."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def validate_tokens_in_metadata(
        self, metadata: Sequence[tuple[str, str | bytes]]
    ) -> tuple[bool, AccountInfo | None]:
        said = [value for _, value in metadata if isinstance(value, str)]
        if any(hmac.compare_digest(value.encode(), self._token.encode()) for value in said):
            allowed: tuple[bool, AccountInfo | None] = super().validate_tokens_in_metadata(metadata)
            return allowed
        return False, None


def superlink(folder: Path, host: str, port: int) -> None:
    """Serve until terminated; nodes and messages are kept in the folder."""
    authority, certificate, key = (folder / name for name in (AUTHORITY, CERTIFICATE, CERTIFICATE_KEY))
    config = SuperLinkLifespanConfig(
        control_address="",
        health_server_address=None,
        host=host,
        port=port,
        insecure=False,
        certificates=(authority.read_bytes(), certificate.read_bytes(), key.read_bytes()),
        superexec_auth_secret=(folder / RUNTIME).read_bytes(),
        authn_plugin=OperatorOnly((folder / OPERATOR).read_text(encoding="ascii")),
        event_log_plugin=None,
        fleet_event_log_plugin=None,
        enable_event_log=False,
        artifact_provider=None,
        enable_supernode_auth=True,
        fleet_api_type="grpc-rere",
        fleet_api_address=None,
        simulation=False,
        ssl_ca_certfile=str(authority),
        ssl_certfile=str(certificate),
        ssl_keyfile=str(key),
        database=str(folder / DATABASE),
        isolation="process",
        runtime_dependency_install=False,
    )
    app = create_app(config, SuperLinkLifespan)
    uvicorn.run(app, host=host, port=port, ssl_keyfile=str(key), ssl_certfile=str(certificate), access_log=False)
