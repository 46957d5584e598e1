"""Ed25519 signatures (RFC 8032) of what a node of ours says: one key a user, statements that cannot stand for one another.

A statement is canonical JSON, or bytes of a form of their own, behind the purpose it was signed for, so that a signed
library never passes as anything else that is signed with the same key. The arithmetic is the package cryptography's,
imported when it is first needed.
"""

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from platformdirs import user_config_dir

from gym.core.value import canonical_json
from gym.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_VARIABLE = "ZOO_GYM_KEY"
PREFIX = "ed25519:"
KEY_BYTES = 32
SIGNATURE_BYTES = 64
OTHERS = 0o077
"""What the owner alone may do with a key file leaves these permissions clear."""


class NodeKey:
    """A private key; only `public` is ever shown."""

    def __init__(self, private: "Ed25519PrivateKey") -> None:
        self._private = private

    def __repr__(self) -> str:
        return f"NodeKey({self.public})"

    @property
    def public(self) -> str:
        """The public key, `ed25519:` and 64 hex digits."""
        return PREFIX + self._private.public_key().public_bytes_raw().hex()

    @classmethod
    def drawn(cls, seed: bytes | None = None) -> "NodeKey":
        """A new key, drawn by the system, or the one that belongs to 32 bytes."""
        ed25519 = _ed25519()
        made = (
            ed25519.Ed25519PrivateKey.generate() if seed is None else ed25519.Ed25519PrivateKey.from_private_bytes(seed)
        )
        return cls(made)

    def sign(self, purpose: str, statement: Mapping[str, Any]) -> str:
        """The signature of a statement of plain JSON, 128 hex digits; the same each time."""
        return self.sign_bytes(purpose, _canonical(statement)).hex()

    def sign_bytes(self, purpose: str, body: bytes) -> bytes:
        """The signature of bytes, 64 of them; a purpose is for statements or for bytes, never for both."""
        return self._private.sign(_message(purpose, body))


class Opened(NamedTuple):
    """A key, where it lies, and whether it was made just now."""

    key: NodeKey
    path: Path
    created: bool


def key_path(path: str | Path = "", environ: Mapping[str, str] = os.environ) -> Path:
    """Where the user's key is: `path`, else `$ZOO_GYM_KEY`, else `node.pem` in the user's configuration folder.

    Raises `ConfigError` for a user without a home.
    """
    try:
        return Path(path or environ.get(KEY_VARIABLE) or Path(user_config_dir("zoo-gym")) / "node.pem").expanduser()
    except RuntimeError as error:
        raise ConfigError(f"this user has no home for a key: set {KEY_VARIABLE} to a file") from error


def open_key(path: Path) -> Opened:
    """The key in a file that only its owner can read, made where there is none.

    Raises `ConfigError` when the file cannot be made or read, others may read it, or it holds something else, and when
    cryptography does not load.
    """
    try:
        created = not path.exists() and _create(path)
        if os.name == "posix" and path.stat().st_mode & OTHERS:
            raise ConfigError(f"key file {str(path)!r} is open to other users: chmod 600 {path}")
        return Opened(NodeKey(_loaded(path.read_bytes(), path)), path, created)
    except OSError as error:
        raise ConfigError(f"key file {str(path)!r} cannot be used: {error.strerror or error}") from error


def is_signed(public: str, purpose: str, statement: Mapping[str, Any], signature: str) -> bool:
    """Whether the owner of a public key signed just this statement for just this purpose.

    Raises `ConfigError` when `public` is no public key.
    """
    try:
        raw = bytes.fromhex(signature)
    except ValueError:
        raw = b""
    return is_signed_bytes(public, purpose, _canonical(statement), raw)


def is_signed_bytes(public: str, purpose: str, body: bytes, signature: bytes) -> bool:
    """Whether the owner of a public key signed just these bytes for just this purpose; raises like `is_signed`."""
    ed25519 = _ed25519()
    from cryptography.exceptions import InvalidSignature

    key = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key(public).removeprefix(PREFIX)))
    try:
        key.verify(signature, _message(purpose, body))
    except InvalidSignature:
        return False
    return True


def public_key(text: str) -> str:
    """A public key in its one form, given with or without its prefix; raises `ConfigError` when it is none.

    >>> public_key("AB" * 32) == public_key("ed25519:" + "ab" * 32) == "ed25519:" + "ab" * 32
    True
    """
    digits = text.strip().lower().removeprefix(PREFIX)
    try:
        raw = bytes.fromhex(digits)
    except ValueError:
        raw = b""
    if len(raw) != KEY_BYTES or len(digits) != 2 * KEY_BYTES:
        raise ConfigError(f"{text!r} is no public key: expected {PREFIX} and {2 * KEY_BYTES} hex digits")
    return PREFIX + digits


def _message(purpose: str, body: bytes) -> bytes:
    """What is signed: the purpose, which has no line break, cannot run over into what is said."""
    return f"zoo-gym {purpose}\n".encode() + body


def _canonical(statement: Mapping[str, Any]) -> bytes:
    return canonical_json(statement).encode("utf-8", "backslashreplace")


def _create(path: Path) -> bool:
    """Write a new key, whole or not at all; false when another process was quicker."""
    text = _pem(_ed25519().Ed25519PrivateKey.generate())
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".node-")  # for the owner alone
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return True


def _pem(key: "Ed25519PrivateKey") -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _loaded(text: bytes, path: Path) -> "Ed25519PrivateKey":
    ed25519 = _ed25519()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(text, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # damaged, with a password, exotic
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise ConfigError(f"key file {str(path)!r} holds no Ed25519 key in PEM without a password")
    private: Ed25519PrivateKey = key
    return private


def _ed25519() -> ModuleType:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise ConfigError(f"signatures need the package cryptography ({error}): pip install cryptography") from error
    return ed25519
