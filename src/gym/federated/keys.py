"""Keys and certificates of a small team: a TLS authority of its own, and for each node one key to sign, one to connect.

Private files are for their owner alone, never printed, and never made anew over old ones. The curves are those that
Flower takes: P-384 for connections, in OpenSSH's form.
"""

import ipaddress
import os
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from gym.errors import ConfigError
from gym.files import write_atomic

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

AUTHORITY, AUTHORITY_KEY = "ca.pem", "ca.key"
CERTIFICATE, CERTIFICATE_KEY = "server.pem", "server.key"
OPERATOR = "operator.token"
"""Who has it may register nodes and start rounds at the server."""
RUNTIME = "runtime.secret"
"""Between our process and Flower's on one machine."""
SIGNING, LINK = "signing.pem", "link.key"
VALID = timedelta(days=825)
SECRET_BYTES = 32


def certify(folder: Path, hosts: Sequence[str], *, now: datetime | None = None) -> None:
    """An authority and the server's certificate for these host names and addresses, where there are none yet.

    Raises `ConfigError` for a certificate of other hosts.
    """
    if (folder / CERTIFICATE).exists():
        if missing := {*hosts} - {*_hosts(folder / CERTIFICATE)}:
            raise ConfigError(
                f"{str(folder / CERTIFICATE)!r} is not for {', '.join(sorted(missing))}: move it and {CERTIFICATE_KEY} away first"
            )
        return
    from cryptography.hazmat.primitives.asymmetric import ec

    now = now or datetime.now(UTC)
    authority, server = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    write_private(folder / AUTHORITY_KEY, _pem(authority))
    write_private(folder / CERTIFICATE_KEY, _pem(server))
    write_atomic(folder / AUTHORITY, _encoded(_authority(authority, now)))
    write_atomic(folder / CERTIFICATE, _encoded(_certificate(server, authority, hosts, now)))


def link_key(path: Path) -> str:
    """The public key that the server knows a node by, as OpenSSH writes it; its private key is made where there is none."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    if not path.exists():
        made = ec.generate_private_key(ec.SECP384R1())
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption())
        write_private(path, made.private_bytes(*form))
    try:
        key = serialization.load_ssh_private_key(path.read_bytes(), password=None)
    except ValueError as error:
        raise ConfigError(f"{str(path)!r} holds no private key of OpenSSH") from error
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return public.decode()


def secret(path: Path) -> bytes:
    """Random bytes in a private file, drawn where there is none."""
    if not path.exists():
        write_private(path, secrets.token_bytes(SECRET_BYTES))
    return path.read_bytes()


def write_private(path: Path, data: bytes) -> None:
    """A new file that only its owner can read; raises `ConfigError` where there is one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise ConfigError(f"{str(path)!r} is there already: a key is never written over") from error
    with os.fdopen(handle, "wb") as file:
        file.write(data)


def _authority(key: "EllipticCurvePrivateKey", now: datetime) -> "x509.Certificate":
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    use = dict.fromkeys(
        (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    return (
        _builder("Zoo Gym federation", "Zoo Gym federation", key, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, **use), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _certificate(
    key: "EllipticCurvePrivateKey", authority: "EllipticCurvePrivateKey", hosts: Sequence[str], now: datetime
) -> "x509.Certificate":
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    return (
        _builder("server", "Zoo Gym federation", key, now)
        .add_extension(x509.SubjectAlternativeName([_name(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False)
        .sign(authority, hashes.SHA256())
    )


def _builder(subject: str, issuer: str, key: "EllipticCurvePrivateKey", now: datetime) -> "x509.CertificateBuilder":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    subject_name, issuer_name = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in (subject, issuer)
    )
    return (
        x509.CertificateBuilder()
        .subject_name(subject_name)
        .issuer_name(issuer_name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))  # clocks differ
        .not_valid_after(now + VALID)
    )


def _name(host: str) -> "x509.GeneralName":
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _hosts(certificate: Path) -> list[str]:
    from cryptography import x509

    read = x509.load_pem_x509_certificate(certificate.read_bytes())
    names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(name.value) for name in names]


def _pem(key: "EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _encoded(certificate: "x509.Certificate") -> bytes:
    from cryptography.hazmat.primitives import serialization

    return certificate.public_bytes(serialization.Encoding.PEM)
