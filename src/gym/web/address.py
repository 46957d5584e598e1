"""URLs in one spelling, and which network addresses belong to the public internet."""

import ipaddress
import socket

from yarl import URL

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_NEITHER = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "168.63.129.16/32", "fec0::/10")))
"""Called global by some versions of Python: metadata services of two clouds, and the former site-local addresses."""


def canonical(url: str) -> URL:
    """A URL as pages are told apart by: escapes and case settled, default port and fragment dropped; raises `ValueError`.

    >>> str(canonical("HTTP://A.example:80/x y#part")), str(canonical("https://a.example?q"))
    ('http://a.example/x%20y', 'https://a.example/?q')
    """
    found = URL(url.strip()).with_fragment(None)
    if found.is_absolute() and found.raw_host and found.explicit_port == found.with_port(None).port:
        found = found.with_port(None)
    if found.raw_host and found.raw_path == "/":
        query = f"?{found.raw_query_string}" if found.raw_query_string else ""
        found = URL(f"{found.scheme}://{found.raw_authority}/{query}", encoded=True)
    return found


def literal(host: str) -> Address | None:
    """The address that a host is when it is no name: also in the short, hexadecimal and octal forms that systems take.

    >>> literal("0x7f.1"), literal("2130706433"), literal("a.example")
    (IPv4Address('127.0.0.1'), IPv4Address('127.0.0.1'), None)
    """
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    last = host.rpartition(".")[2].lower()
    if not last.isascii() or not (last.isdigit() or last.startswith("0x")):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def is_public(address: Address) -> bool:
    """Whether anybody may be asked there: not this machine, its network, a link, a metadata service or a group.

    Addresses that carry an IPv4 one in them (mapped, 6to4, NAT64) are judged by that; Teredo's are never public.
    """
    if isinstance(address, ipaddress.IPv6Address) and (inner := _carried(address)) is not None:
        return is_public(inner)
    if any(address in network for network in _NEITHER):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour
