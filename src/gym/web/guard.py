"""What may be visited: the sites of the configuration and the listed hosts, over HTTP, and no address of a private network.

Names are looked up once, here, for the connection that is then made, so that no second answer of a name server can lead
elsewhere (DNS rebinding). A host that is listed by name may not lie in a private network; one that must is a site of
`web_sites`, or listed by its address.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from ipaddress import ip_address
from typing import NamedTuple

from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from gym.errors import ConfigError
from gym.web.address import canonical, is_public, literal
from gym.web.fetching import Refusal, Why

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host; raises `OSError` when it has none."""

LONGEST_URL = 4_096
LONGEST_NAME = 80
"""Of a host that is told to a model: it may be a redirect's, and so anybody's words."""
UNREADABLE = "this is no readable address: http://HOST/PATH is wanted"
WEB_PORTS = (80, 443)


class Place(NamedTuple):
    """Where a site is really served."""

    host: str
    port: int


class PrivateAddress(OSError):
    """A name that may be visited leads into a private network."""


class Guard:
    """Raises `ConfigError` for hosts that cannot be hosts.

    `sites`: host names of our own, and where each is served. `hosts`: `name`, `*.name` for all below it, `name:port`, an
    address, or `*`. `block`: whole URLs with `*` for anything, in any letter case.
    """

    def __init__(
        self, sites: Mapping[str, Place] | None = None, hosts: Sequence[str] = (), block: Sequence[str] = ()
    ) -> None:
        self.sites = dict(sites or {})
        self._hosts = [_listed(host) for host in hosts]
        self._block = tuple(pattern.lower() for pattern in block)

    def checked(self, url: str) -> URL | Refusal:
        """The URL in its canonical spelling when it may be visited. Names are not looked up yet."""
        try:
            found = canonical(url)
        except ValueError:
            return _refusal(url, "address", UNREADABLE)
        if why := _unfit(found, url):
            return why
        host = _host(found)
        if host != found.raw_host:
            found = found.with_host(host)
        if host in self.sites:
            found = found.with_scheme("http").with_port(None)
        elif why := self._unlisted(found, host):
            return why
        return self._blocked(found)

    def listed(self, url: str) -> bool:
        """Whether a URL may be visited."""
        return isinstance(self.checked(url), URL)

    def is_site(self, url: URL) -> bool:
        """Whether it is one of `sites`, which are ours: no robots, no rate."""
        return _host(url) in self.sites

    def admits(self, address: str) -> bool:
        """Whether a host that is listed by its name may be reached at an address."""
        return is_public(ip_address(address.partition("%")[0]))

    def _unlisted(self, url: URL, host: str) -> Refusal | None:
        if any(each.takes(host, url.port or 0) for each in self._hosts):
            return None
        address = literal(host)
        if address is not None and not is_public(address):
            return _refusal(str(url), "private", "the address lies in a private network")
        known = ", ".join([*self.sites, *(each.text for each in self._hosts)]) or "none"
        return _refusal(str(url), "host", f"{host[:LONGEST_NAME]} is not among the hosts that may be visited: {known}")

    def _blocked(self, url: URL) -> URL | Refusal:
        written = str(url).lower()
        if any(fnmatchcase(written, pattern) for pattern in self._block):
            return _refusal(str(url), "blocked", "this page is blocked; reach what you look for by other pages")
        return url


class _Listed(NamedTuple):
    text: str
    name: str
    port: int | None

    def takes(self, host: str, port: int) -> bool:
        """Whether this entry lists a host and port; addresses are listed by themselves alone."""
        if port not in (WEB_PORTS if self.port is None else (self.port,)):
            return False
        below = self.name.startswith("*") and literal(host) is None and host.endswith(self.name[1:])
        return below or host == self.name


class GuardedResolver(AbstractResolver):
    """Looks names up for connections: a site where it is served, any other host only at addresses that may be reached."""

    def __init__(self, guard: Guard, lookup: Lookup | None = None) -> None:
        self._guard, self._lookup = guard, lookup or _looked_up

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Raises `PrivateAddress` when nothing else is left."""
        place = self._guard.sites.get(host.rstrip("."))
        if place is not None:
            return [_result(host, address, place.port) for address in await self._lookup(place.host, place.port)]
        found = await self._lookup(host, port)
        admitted = [address for address in found if self._guard.admits(address)]
        if found and not admitted:
            raise PrivateAddress(f"{host} leads into a private network")
        return [_result(host, address, port) for address in admitted]

    async def close(self) -> None:
        """Nothing is open."""


async def _looked_up(host: str, port: int) -> Sequence[str]:
    if (address := literal(host)) is not None:
        return (str(address),)
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(
        hostname=host, host=address, port=port, family=family, proto=socket.IPPROTO_TCP, flags=socket.AI_NUMERICHOST
    )


def _unfit(url: URL, written: str) -> Refusal | None:
    if url.scheme not in ("http", "https", ""):
        return _refusal(written, "scheme", f"only http and https addresses are opened, not {url.scheme[:20]!r}")
    if not url.scheme or not _host(url) or len(str(url)) > LONGEST_URL or re.search(r"[^\w.:-]", _host(url)):
        return _refusal(written, "address", UNREADABLE)
    if url.raw_user is not None or url.raw_password is not None:
        return _refusal(written, "address", "an address with a user or a password is not opened")
    return None


def _host(url: URL) -> str:
    """Lower case, without the root's dot; an address in its usual form."""
    host = (url.raw_host or "").lower().rstrip(".")
    address = literal(host)
    return host if address is None else str(address)


def _listed(text: str) -> _Listed:
    match = re.fullmatch(r"(\*|(?:\*\.)?[\w-]+(?:\.[\w-]+)*|\[[0-9a-fA-F:.]+\])(?::(\d{1,5}))?", text.strip())
    if match is None:
        raise ConfigError(f"web_hosts: {text!r} is no host; give www.example.org, *.example.org or 192.168.1.5:8080")
    name = match[1].strip("[]").lower()
    if name.rpartition(".")[2] == "localhost":
        raise ConfigError(
            f"web_hosts: {text!r} is this machine: give its address, as in 127.0.0.1:8080, or make it a site"
        )
    address = literal(name)
    return _Listed(text.strip(), name if address is None else str(address), int(match[2]) if match[2] else None)


def _refusal(url: str, label: Why, reason: str) -> Refusal:
    return Refusal(url=url, reason=reason, label=label)
