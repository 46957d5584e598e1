"""The library of any moment, rebuilt from events alone and proven against what the contract holds (SPEC 7.3).

The registry emits one event a change. Replaying them gives the active set in the registry's own order, its Merkle root and a
hash over the whole history; a node that leaves out, adds or reorders an event cannot give the same hash.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from gym.errors import HistoryMismatch, MissingExtra

try:
    from eth_abi.abi import encode
    from eth_utils.crypto import keccak
except ImportError as error:
    raise MissingExtra("governance", "dao") from error

NO_ROOT = bytes(32)
LABEL = "zoo-gym experience registry"


class Cause(IntEnum):
    """Who changed the library."""

    VOTE = 0
    QUARANTINE = 1
    REINSTATEMENT = 2


class Change(NamedTuple):
    """One `LibraryChanged` event; digests are 32 bytes."""

    version: int
    cause: Cause
    added: tuple[bytes, ...]
    removed: tuple[bytes, ...]
    root: bytes
    history_hash: bytes
    block: int = 0

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> "Change":
        """The change that web3 read from a log."""
        told = event["args"]
        return cls(
            version=told["version"],
            cause=Cause(told["cause"]),
            added=tuple(map(bytes, told["added"])),
            removed=tuple(map(bytes, told["removed"])),
            root=bytes(told["root"]),
            history_hash=bytes(told["historyHash"]),
            block=event["blockNumber"],
        )


class Past(NamedTuple):
    """The registry after some change: what a checkpoint keeps, and what the next change is replayed on."""

    version: int
    active: tuple[bytes, ...]
    """Digests in the order of the Merkle tree."""
    history_hash: bytes

    @property
    def root(self) -> bytes:
        """As the contract emits it."""
        return merkle_root(self.active)


def beginning(chain_id: int, registry: str) -> Past:
    """Before the first change. The hash holds chain and address, so no other registry's history can pass for this one's."""
    return Past(0, (), keccak(encode(["string", "uint256", "address"], [LABEL, chain_id, registry])))


def replay(past: Past, changes: Iterable[Change]) -> Past:
    """The registry after `changes`, each proven by its hash and its root; raises `HistoryMismatch` naming the version."""
    for change in changes:
        past = _after(past, change)
    return past


def merkle_root(digests: Sequence[bytes]) -> bytes:
    """The root over digests in order; zero for none. OpenZeppelin's hashing: double leaves, sorted pairs."""
    level = [keccak(keccak(digest)) for digest in digests] or [NO_ROOT]
    while len(level) > 1:
        padded = [*level, NO_ROOT] if len(level) % 2 else level
        level = [keccak(b"".join(sorted(pair))) for pair in zip(padded[::2], padded[1::2], strict=True)]
    return level[0]


def _after(past: Past, change: Change) -> Past:
    if change.version != past.version + 1:
        raise HistoryMismatch(f"change {change.version} follows change {past.version}: an event is missing or repeated")
    active = list(past.active)
    for digest in change.removed:
        _remove(active, digest)
    active.extend(change.added)
    after = Past(change.version, tuple(active), _hashed(past.history_hash, change))
    if after.root != change.root or after.history_hash != change.history_hash:
        raise HistoryMismatch(f"change {change.version} does not lead to what the registry says it holds then")
    return after


def _remove(active: list[bytes], digest: bytes) -> None:
    """The last takes the gap. An entry that the guardian disabled has left already when a vote removes it."""
    if digest in active:
        active[active.index(digest)] = active[-1]
        active.pop()


def _hashed(before: bytes, change: Change) -> bytes:
    kinds = ["bytes32", "uint256", "uint8", "bytes32[]", "bytes32[]", "bytes32"]
    return keccak(encode(kinds, [before, *change[:5]]))
