"""A TLS authority of the team's own, and the server's certificate: who reaches the server knows that it is the server."""

import ipaddress
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from gym.errors import ConfigError
from gym.federated.keys import write_private
from gym.files import write_atomic

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

AUTHORITY, AUTHORITY_KEY = "ca.pem", "ca.key"
CERTIFICATE, CERTIFICATE_KEY = "server.pem", "server.key"
VALID = timedelta(days=825)
_HOST = re.compile(r"(?:\*\.)?[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*")
_ANEW = f"move {AUTHORITY_KEY}, {CERTIFICATE} and {CERTIFICATE_KEY} away, make them anew, and give the nodes the new {AUTHORITY}"


def certify(folder: Path, hosts: Sequence[str], *, now: datetime | None = None) -> None:
    """An authority and the server's certificate for these host names and addresses, where there are none yet.

    Raises `ConfigError` for what is no host, and for a certificate of other hosts.
    """
    names = [_name(host) for host in hosts]
    if (folder / CERTIFICATE).exists():
        if missing := {*hosts} - {*_hosts(folder / CERTIFICATE)}:
            raise ConfigError(f"{str(folder / CERTIFICATE)!r} is not for {', '.join(sorted(missing))}: {_ANEW}")
        return
    if left := [name for name in (AUTHORITY_KEY, CERTIFICATE_KEY) if (folder / name).exists()]:
        raise ConfigError(f"{str(folder)!r} has {' and '.join(left)} without {CERTIFICATE}: {_ANEW}")
    from cryptography.hazmat.primitives.asymmetric import ec

    now = now or datetime.now(UTC)
    authority, server = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    write_private(folder / AUTHORITY_KEY, _pem(authority))
    write_private(folder / CERTIFICATE_KEY, _pem(server))
    write_atomic(folder / AUTHORITY, _encoded(_authority(authority, now)))
    write_atomic(folder / CERTIFICATE, _encoded(_certificate(server, authority, names, now)))


def read_authority(folder: Path, *, now: datetime | None = None) -> bytes:
    """The authority's certificate; raises `ConfigError` where it is missing, none, or expired."""
    from cryptography import x509

    file, now = folder / AUTHORITY, now or datetime.now(UTC)
    try:
        data = file.read_bytes()
        until = x509.load_pem_x509_certificate(data).not_valid_after_utc
    except (OSError, ValueError) as error:
        raise ConfigError(f"{str(file)!r} is no certificate: copy the server's {AUTHORITY} here") from error
    if until < now:
        raise ConfigError(f"{str(file)!r} expired on {until:%Y-%m-%d}: in the server's folder {_ANEW}")
    return data


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
    key: "EllipticCurvePrivateKey",
    authority: "EllipticCurvePrivateKey",
    names: Sequence["x509.GeneralName"],
    now: datetime,
) -> "x509.Certificate":
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    return (
        _builder("server", "Zoo Gym federation", key, now)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
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
        if not _HOST.fullmatch(host):
            raise ConfigError(f"{host!r} is no address and no host name in ASCII") from None
        return x509.DNSName(host)


def _hosts(certificate: Path) -> list[str]:
    from cryptography import x509

    try:
        read = x509.load_pem_x509_certificate(certificate.read_bytes())
        names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound) as error:
        raise ConfigError(f"{str(certificate)!r} is no certificate of ours: {_ANEW}") from error
    return [str(name.value) for name in names]


def _pem(key: "EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _encoded(certificate: "x509.Certificate") -> bytes:
    from cryptography.hazmat.primitives import serialization

    return certificate.public_bytes(serialization.Encoding.PEM)
