"""Private files and certificates: whole or not at all, for their owner alone, and told plainly when they are not right."""

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gym.errors import ConfigError
from gym.federated.certificates import certify, read_authority
from gym.federated.keys import check_link, link_key, public_pem, secret, token, write_private

NOW = datetime(2030, 1, 1, tzinfo=UTC)
OTHER_CURVE = (
    generate_private_key(SECP256R1()).public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
)


@pytest.mark.parametrize("made", [secret, token])
def test_a_secret_stays_and_one_that_is_empty_lets_nobody_in(tmp_path: Path, made: Callable[[Path], object]) -> None:
    file = tmp_path / "secret"
    assert made(file) == made(file)
    for data in (b"", b"x", file.read_bytes() + b"\n"):
        file.write_bytes(data)
        with pytest.raises(ConfigError, match="is damaged: move it away"):
            made(file)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("made", [secret, token, link_key])
def test_a_private_file_that_others_can_read_is_not_used(tmp_path: Path, made: Callable[[Path], object]) -> None:
    file = tmp_path / "private"
    made(file)
    file.chmod(0o640)
    with pytest.raises(ConfigError, match=r"is open to other users: chmod 600"):
        made(file)


def test_a_full_disk_leaves_no_empty_key(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="limits of POSIX")
    told = subprocess.run(
        [sys.executable, "-m", "gym", "federate", "keys", str(tmp_path / "mine"), "--server"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 5, told.stderr
    assert "gym: cannot write" in told.stderr
    assert "Traceback" not in told.stderr
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def test_a_key_is_never_written_over(tmp_path: Path) -> None:
    write_private(tmp_path / "key", b"one")
    with pytest.raises(ConfigError, match="is there already: a key is never written over"):
        write_private(tmp_path / "key", b"two")
    assert [file.name for file in tmp_path.iterdir()] == ["key"]


def test_a_connection_key_is_the_one_of_the_card(tmp_path: Path) -> None:
    link = link_key(tmp_path / "link.key")
    check_link(tmp_path, link)
    other = link_key(tmp_path / "other" / "link.key")
    with pytest.raises(ConfigError, match="is not the key in the node's card"):
        check_link(tmp_path, other)
    (tmp_path / "link.key").write_bytes(b"rubbish")
    with pytest.raises(ConfigError, match="holds no private key of OpenSSH"):
        check_link(tmp_path, link)
    (tmp_path / "link.key").unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        check_link(tmp_path, link)


@pytest.mark.parametrize("link", ["ecdsa-sha2-nistp384 AAAA", OTHER_CURVE, "ecdsa-sha2-nistp999 AAAA"], ids=range(3))
def test_what_is_no_key_of_a_connection(link: str) -> None:
    with pytest.raises(ConfigError, match="is no connection key of a node"):
        public_pem(link)


def test_an_expired_authority_is_told_before_anybody_connects(tmp_path: Path) -> None:
    certify(tmp_path, ("127.0.0.1",), now=NOW)
    assert read_authority(tmp_path, now=NOW + timedelta(days=800))
    with pytest.raises(ConfigError, match=r"ca\.pem' expired on 2032-04-05"):
        read_authority(tmp_path, now=NOW + timedelta(days=830))
    (tmp_path / "ca.pem").write_bytes(b"rubbish")
    with pytest.raises(ConfigError, match=r"is no certificate: copy the server's ca\.pem here"):
        read_authority(tmp_path)


@pytest.mark.parametrize("host", ["", "bad host\n", "b\u00fccher.example", "a..b"])
def test_what_is_no_host(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigError, match="is no address and no host name in ASCII"):
        certify(tmp_path, (host,))
    assert [*tmp_path.iterdir()] == []


def test_half_a_certificate_is_told_with_what_to_move(tmp_path: Path) -> None:
    certify(tmp_path, ("127.0.0.1",))
    (tmp_path / "server.pem").write_bytes(b"rubbish")
    with pytest.raises(ConfigError, match=r"is no certificate of ours: move ca\.key, server\.pem and server\.key away"):
        certify(tmp_path, ("127.0.0.1",))
    (tmp_path / "server.pem").unlink()
    with pytest.raises(ConfigError, match=r"has ca.key and server.key without server.pem: move ca.key"):
        certify(tmp_path, ("127.0.0.1",))
