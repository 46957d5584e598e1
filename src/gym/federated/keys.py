"""Private files of a small team: for each node one key to sign and one to connect, and secrets between processes.

They are for their owner alone, never printed, and never made anew over old ones. Connections are checked on the curve that
Flower takes, P-384, with keys in OpenSSH's form; the server's certificate is in `gym.federated.certificates`.
"""

import os
import secrets
from pathlib import Path

from gym.errors import ConfigError
from gym.files import create_private
from gym.signing import OTHERS

OPERATOR = "operator.token"
"""Who has it may register nodes and start rounds at the server."""
RUNTIME = "runtime.secret"
"""Between our process and Flower's on one machine."""
SIGNING, LINK = "signing.pem", "link.key"
SECRET_BYTES = 32


def link_key(path: Path) -> str:
    """The public key that the server knows a node by, as OpenSSH writes it; its private key is made where there is none."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    if not path.exists():
        made = ec.generate_private_key(ec.SECP384R1())
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption())
        write_private(path, made.private_bytes(*form))
    try:
        key = serialization.load_ssh_private_key(read_private(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:  # damaged, with a password, exotic
        raise ConfigError(f"{str(path)!r} holds no private key of OpenSSH") from error
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return public.decode()


def check_link(folder: Path, link: str) -> None:
    """Raises `ConfigError` where the folder's connection key is missing, damaged, or not the one that the server knows."""
    read_private(path := folder / LINK)
    if link_key(path) != link:
        raise ConfigError(f"{str(path)!r} is not the key in the node's card, which the server knows")


def public_pem(link: str) -> bytes:
    """A node's connection key as Flower knows it; raises `ConfigError` for what is no key on P-384."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        key = serialization.load_ssh_public_key(link.encode())
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name != "secp384r1":
        raise ConfigError(f"{link[:60]!r}… is no connection key of a node, ECDSA on P-384")
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def secret(path: Path) -> bytes:
    """32 random bytes in a private file, drawn where there is none; raises like `read_private`."""
    if not path.exists():
        write_private(path, secrets.token_bytes(SECRET_BYTES))
    return read_private(path, SECRET_BYTES)


def token(path: Path) -> str:
    """A secret that a header can carry, drawn where there is none; raises like `read_private`."""
    if not path.exists():
        write_private(path, secrets.token_hex(SECRET_BYTES).encode())
    return read_private(path, 2 * SECRET_BYTES).decode("ascii", "replace")


def read_private(path: Path, size: int = 0) -> bytes:
    """What a private file holds; raises `ConfigError` where it is missing, open to others or not of `size` bytes (0: any).

    An empty secret would let everybody in.
    """
    try:
        if os.name == "posix" and path.stat().st_mode & OTHERS:
            raise ConfigError(f"{str(path)!r} is open to other users: chmod 600 {path}")
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    if size and len(data) != size:
        raise ConfigError(f"{str(path)!r} is damaged: move it away and make it anew with gym federate keys")
    return data


def write_private(path: Path, data: bytes) -> None:
    """A new file that only its owner can read; raises `ConfigError` where there is one, and `StorageError`."""
    if not create_private(path, data):
        raise ConfigError(f"{str(path)!r} is there already: a key is never written over")
