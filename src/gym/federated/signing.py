"""Ed25519 signatures over bytes of a stated kind: what is signed as one thing can never be shown as another.

`gym.signing` signs statements of JSON and keeps a user's key; this signs packets, whose bodies are bytes.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SIGNATURE_BYTES = 64
_PREFIX = b"zoo-gym/federated/v1/"


def new_key(seed: bytes | None = None) -> "Ed25519PrivateKey":
    """A private key, drawn by the system or made from 32 bytes."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate() if seed is None else Ed25519PrivateKey.from_private_bytes(seed)


def public_key(key: "Ed25519PrivateKey") -> str:
    """What others check signatures with, 64 hex digits."""
    return key.public_key().public_bytes_raw().hex()


def sign(key: "Ed25519PrivateKey", body: bytes, *, kind: str) -> bytes:
    """The 64 bytes that prove that the key's owner said `body` as a `kind`."""
    return key.sign(_signed(body, kind))


def is_signed(public: str, body: bytes, *, kind: str, signature: bytes) -> bool:
    """Whether the owner of the public key (64 hex digits) said `body` as a `kind`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(signature, _signed(body, kind))
    except InvalidSignature:
        return False
    return True


def _signed(body: bytes, kind: str) -> bytes:
    return _PREFIX + kind.encode() + b"\0" + body
