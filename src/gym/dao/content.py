"""What a digest on the chain stands for: canonical JSON, addressed as IPFS does (SPEC 7.4).

A vote is on a digest; the text is fetched from anywhere and believed only because it hashes to that digest. The content holds
nothing that differs between two finders of one sentence, so the same sentence has one address everywhere.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from pydantic import ValidationError, field_validator

from gym.core.cid import RAW_SHA256, cid
from gym.core.text import normalise_text
from gym.core.value import Value, canonical_json
from gym.errors import ConfigError

_CID = re.compile(r"bafkrei[a-z2-7]{51}[aeimquy4]", re.ASCII)


def digest_of_cid(address: str) -> bytes:
    """The SHA-256 an address stands for; raises `ConfigError` for any other kind of address.

    >>> digest_of_cid(cid(b"hello")).hex()[:8]
    '2cf24dba'
    """
    if not _CID.fullmatch(address):
        raise ConfigError(
            f"{address!r} is no address of a raw block (CIDv1, base32, sha2-256: 'bafkrei' and 52 characters)"
        )
    return base64.b32decode(address[1:].upper() + "======")[len(RAW_SHA256) :]


class Content(Value):
    """One experience as it is voted on."""

    text: str
    domain: str = ""
    format: Literal["zoo-gym/experience/1"] = "zoo-gym/experience/1"

    @field_validator("text", "domain")
    @classmethod
    def _is_one_line(cls, text: str) -> str:
        if text != normalise_text(text):
            raise ValueError(
                "is not in its normal form: one line in NFC without control characters, quotes or list marks"
            )
        return text

    @classmethod
    def of(cls, text: str, *, domain: str = "") -> "Content":
        """The content of a sentence, which is brought into its normal form."""
        return cls(text=normalise_text(text), domain=normalise_text(domain))

    @classmethod
    def parse(cls, data: bytes) -> "Content":
        """The content these bytes are the canonical form of; raises `ValueError` for anything else."""
        content = cls.model_validate_json(data)
        if content.data != data:
            raise ValueError("not in canonical form")
        return content

    @property
    def data(self) -> bytes:
        """Canonical JSON in UTF-8: the bytes that are hashed, kept and sent."""
        return canonical_json(self.model_dump()).encode()

    @property
    def digest(self) -> bytes:
        """SHA-256 of `data`, 32 bytes: the experience's name on the chain."""
        return hashlib.sha256(self.data).digest()

    @property
    def cid(self) -> str:
        """Its address."""
        return cid(self.data)


class Missing(NamedTuple):
    """Content that could not be had, and why, by store."""

    cid: str
    reason: str


class ContentStore(Protocol):
    """Where content is kept. Nothing it gives out is taken on trust."""

    @property
    def name(self) -> str:
        """As a message calls it."""
        ...

    def put(self, data: bytes) -> str:
        """Keep at most `gym.core.cid.MAX_BLOCK` bytes until they are unpinned; their address.

        Raises `StorageError` or a `ProviderError`.
        """
        ...

    def get(self, cid: str) -> bytes | Missing:
        """The content, re-hashed; never what hashes to something else."""
        ...

    def unpin(self, cids: Iterable[str]) -> None:
        """These need not be kept any longer."""
        ...


class Fetched(NamedTuple):
    """What became of every address asked for: each is in exactly one of the two."""

    contents: Mapping[str, Content]
    """By address, in the order asked for."""
    missing: tuple[Missing, ...]


def fetch(cids: Iterable[str], stores: Sequence[ContentStore]) -> Fetched:
    """Ask each store in turn; what a later one had is put into the first."""
    contents, missing = dict[str, Content](), list[Missing]()
    for address in dict.fromkeys(cids):
        found = _fetched(address, stores)
        if isinstance(found, Missing):
            missing.append(found)
        else:
            contents[address] = found
    return Fetched(contents, tuple(missing))


def _fetched(address: str, stores: Sequence[ContentStore]) -> Content | Missing:
    reasons = list[str]()
    for place, store in enumerate(stores):
        data = store.get(address)
        if isinstance(data, Missing):
            reasons.append(f"{store.name}: {data.reason}")
            continue
        if place:
            stores[0].put(data)
        try:
            return Content.parse(data)
        except (ValidationError, ValueError) as error:
            return Missing(address, f"hashes right, but is no experience: {_first_line(error)}")
    return Missing(address, "; ".join(reasons) or "no store was given")


def _first_line(error: ValueError) -> str:
    return error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
