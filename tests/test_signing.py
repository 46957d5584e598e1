"""Keys and signatures: who said just this, for just this purpose."""

import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from gym.errors import ConfigError
from gym.signing import NodeKey, is_signed, key_path, open_key, public_key

RFC_8032 = (
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
)
"""A secret and its public key, of §7.1."""


def key() -> NodeKey:
    return NodeKey(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(RFC_8032[0])))


def test_a_public_key_is_that_of_the_standard() -> None:
    assert key().public == f"ed25519:{RFC_8032[1]}"


def test_a_statement_is_signed_by_its_key_for_its_purpose_alone() -> None:
    said = {"b": 1, "a": "é\ud800"}
    signature = key().sign("library v1", said)
    other = NodeKey(Ed25519PrivateKey.generate())
    assert is_signed(key().public, "library v1", {"a": "é\ud800", "b": 1}, signature)
    assert not is_signed(key().public, "library v1", {"a": "é", "b": 1}, signature)
    assert not is_signed(key().public, "packet v1", said, signature)
    assert not is_signed(other.public, "library v1", said, signature)
    assert not is_signed(key().public, "library v1", said, "00" + signature[2:])
    assert not is_signed(key().public, "library v1", said, "no hex")


def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "node.pem"
    first = open_key(path)
    assert first.created
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = open_key(path)
    assert (again.key.public, again.created) == (first.key.public, False)
    assert list(path.parent.iterdir()) == [path]


def test_a_key_is_never_shown(tmp_path: Path) -> None:
    opened = open_key(tmp_path / "node.pem")
    secret = opened.key._private.private_bytes_raw().hex()
    assert secret not in f"{opened!r}{opened.key!r}{opened.key}{vars(opened.key)}"
    assert opened.key.public in repr(opened)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    open_key(tmp_path / "node.pem")
    (tmp_path / "node.pem").chmod(0o640)
    with pytest.raises(ConfigError, match=r"open to other users: chmod 600"):
        open_key(tmp_path / "node.pem")


def test_what_is_no_key_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "node.pem"
    locked = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word")
    )
    other = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for content in (b"", b"nonsense", locked, other):
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(ConfigError, match="holds no Ed25519 key"):
            open_key(path)
    with pytest.raises(ConfigError, match="cannot be used"):
        open_key(tmp_path)
    with pytest.raises(ConfigError, match="cannot be used"):
        open_key(path / "below a file")


def test_the_key_is_where_one_says_else_where_the_environment_says(tmp_path: Path) -> None:
    environ = {"ZOO_GYM_KEY": str(tmp_path / "env.pem")}
    assert key_path(tmp_path / "own.pem", environ) == tmp_path / "own.pem"
    assert key_path("", environ) == tmp_path / "env.pem"
    assert key_path("", {}).name == "node.pem"


@pytest.mark.parametrize("text", ["", "ed25519:", "ed25519:abc", "ed25519:" + "g" * 64, "ab" * 33, "ab " * 32])
def test_what_is_no_public_key_is_a_clear_error(text: str) -> None:
    with pytest.raises(ConfigError, match="is no public key"):
        public_key(text)
