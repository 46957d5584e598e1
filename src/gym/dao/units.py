"""Amounts, times and names as people write them; a chain has whole numbers of the smallest unit and seconds since 1970."""

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from gym.errors import ConfigError

if TYPE_CHECKING:
    from web3.contract import Contract

LONGEST_SYMBOL = 12
MOST_DIGITS = 400
"""More than any possible amount has."""
_AMOUNT = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+(?:_\d+)*|0?(?=\.))(?:\.\d+)?", re.ASCII)
"""Commas part thousands alone: in half of the world they are the decimal point, and 0,5 must not become 5."""


class Units(NamedTuple):
    """How a token is counted."""

    symbol: str = "GYM"
    decimals: int = 18

    @classmethod
    def of(cls, token: "Contract") -> "Units":
        """As the token says; a name that could steer a terminal is left out."""
        symbol, decimals = token.functions.symbol().call(), token.functions.decimals().call()
        return cls(symbol if symbol.isprintable() and len(symbol) <= LONGEST_SYMBOL else "tokens", decimals)

    def told(self, amount: int) -> str:
        """
        >>> Units().told(1_234_500_000_000_000_000_000), Units().told(1)
        ('1,234.5 GYM', '0.000000000000000001 GYM')
        """
        return f"{decimal(amount, self.decimals)} {self.symbol}"

    def parsed(self, text: str) -> int:
        """The amount in the smallest unit; raises `ConfigError` unless it is more than 0 and fits.

        >>> Units().parsed("1_000.5")
        1000500000000000000000
        """
        if not _AMOUNT.fullmatch(text.strip()):
            raise ConfigError(f"{text!r} is no amount: write it in {self.symbol}, like 1000 or 0.5")
        whole, _, part = text.strip().replace(",", "").replace("_", "").partition(".")
        digits = whole + part.rstrip("0").ljust(self.decimals, "0")
        if len(digits) > len(whole) + self.decimals or not 0 < int(digits[:MOST_DIGITS]) < 2**208:
            raise ConfigError(
                f"{text!r} {self.symbol} is no possible amount: more than 0, at most {self.decimals} decimals"
            )
        return int(digits)


def decimal(amount: int, decimals: int) -> str:
    """A number of smallest units with a point and separators, without empty decimals."""
    whole, part = divmod(amount, 10**decimals)
    return f"{whole:,}" + (f".{part:0{decimals}d}".rstrip("0") if part else "")


def ether(wei: int) -> str:
    """
    >>> ether(21_000 * 10**9)
    '0.000021 ETH'
    """
    return f"{decimal(wei, 18)} ETH"


def moment(seconds: int) -> str:
    """
    >>> moment(1_800_000_000)
    '2027-01-15 08:00 UTC'
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return f"second {seconds}"


def short(id: int) -> str:
    """A proposal's number as people write it.

    >>> short(12345678901234567890)
    '1234567890'
    """
    return str(id)[:10]


def is_http(url: str) -> bool:
    """Whether this is a URL of a server."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def host(url: str) -> str:
    """Where a URL leads, as a message may say it: user, path and query may hold a key.

    >>> host("https://me:secret@node.example:8545/v3/key?token=1"), host("node.example/key"), host("http:key")
    ('https://node.example:8545', 'node.example', 'http')
    """
    parts = urlsplit(url) if is_http(url) else None
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts else re.split(r"[/?#:]", url)[0]
