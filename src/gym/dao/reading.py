"""Events read from a chain as far as it is final, proven by replaying them, and read again where the chain was reorganised.

Final is what the chain calls `finalized`. A chain without that tag, or a user who says so, counts blocks on top instead.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gym.core.text import count
from gym.dao.checkpoint import Checkpoint, Entry
from gym.dao.deployment import Community
from gym.dao.history import Cause, Past
from gym.dao.logs import events
from gym.dao.rpc import rpc_code
from gym.errors import HistoryMismatch, MissingExtra, ServerFailed

try:
    from web3.exceptions import BlockNotFound, Web3RPCError
    from web3.types import BlockData, EventData
except ImportError as error:
    raise MissingExtra("governance", "dao") from error

DEPTH = 64
"""Blocks on top that make one final where the chain does not say: two epochs of Ethereum."""
TOO_MANY = -32_005
"""A node's code for more requests than it takes (EIP-1474)."""


class Header(NamedTuple):
    """A block."""

    number: int
    hash: str
    """In hex."""
    time: int
    """Seconds since 1970."""

    @classmethod
    def of(cls, block: BlockData) -> "Header":
        """Of what web3 read."""
        return cls(block["number"], bytes(block["hash"]).hex(), block["timestamp"])


class Read(NamedTuple):
    """What a read found."""

    checkpoint: Checkpoint
    head: Header
    """The last block that counts as final."""
    past: Past
    """What the registry held then."""
    new: int
    """Changes that were not known."""
    taken_back: int
    """Changes that were known, and are no longer on the chain."""
    final: int
    """The last block that is final by what is asked now; before `head` where more was read when less was asked."""
    waiting: int
    """Changes in later blocks than `head`, which wait to become final."""
    last: int
    """The chain's last block."""

    @property
    def wait(self) -> str | None:
        """Said of what waits, if anything does."""
        if not self.waiting:
            return None
        waits = "waits" if self.waiting == 1 else "wait"
        return f"{count(self.waiting, 'change')} {waits} to become final (block {self.last}, final so far {self.final})"


def advance(community: Community, known: Checkpoint, *, confirmations: int | None = None) -> Read:
    """Read on to the last final block, from where the chain still agrees with what is known.

    `confirmations` counts blocks on top instead of asking the chain what is final. What is known beyond that, and is still
    on the chain, is kept: who once asked for fewer blocks on top has not seen a reorganisation. Raises `HistoryMismatch` when
    events do not lead to what the registry holds, `ServerFailed` when the chain changed while it was read.
    """
    _require_not_behind(community, known)
    settled = final(community, confirmations)
    base = _agreed(community, known)
    head = settled if base.block <= settled.number else Header.of(community.web3.eth.get_block(base.block))
    entries = (*base.entries, *_entries(community, base.block + 1, head.number))
    told = {"block": head.number, "block_hash": head.hash, "entries": entries}
    found = base.model_copy(update=told)
    past = found.past()
    _require_same(community, past, head)
    new, gone = len(entries) - len(base.entries), len(known.entries) - len(base.entries)
    waiting = community.contracts.registry.functions.version().call() - past.version
    return Read(found, head, past, new, gone, settled.number, max(0, waiting), community.web3.eth.block_number)


def final(community: Community, confirmations: int | None = None) -> Header:
    """The last block that counts as final; never one before the contracts were made."""
    block = _finalized(community) if confirmations is None else None
    if block is None:
        depth = DEPTH if confirmations is None else confirmations
        last = community.web3.eth.block_number
        block = community.web3.eth.get_block(max(0, last - depth))
    if block["number"] < community.deployment.block:
        block = community.web3.eth.get_block(max(0, community.deployment.block - 1))
    return Header.of(block)


def _finalized(community: Community) -> BlockData | None:
    try:
        return community.web3.eth.get_block("finalized")
    except Web3RPCError as error:  # also when there is none yet
        if rpc_code(error) == TOO_MANY:
            raise  # a chain that has the tag must not be counted for being asked too often
        return None


def _require_not_behind(community: Community, known: Checkpoint) -> None:
    """A node that has not come as far as was read before would look as if the chain had taken changes back."""
    last = community.web3.eth.block_number
    if last < known.block and known.block_hash is not None:
        raise ServerFailed(
            f"this node is at block {last}, and block {known.block} was read before: it is behind, so wait, or ask another "
            "(where the chain itself began anew, delete the checkpoint)"
        )


def _agreed(community: Community, known: Checkpoint) -> Checkpoint:
    """What is known up to the last block that this chain has too; each change's block is a place to go back to."""
    places = [(known.block, known.block_hash), *((entry.block, entry.block_hash) for entry in reversed(known.entries))]
    for number, hash in places:
        if hash is not None and _hash(community, number) == hash:
            return known.back_to(number, hash)
    return Checkpoint.before(community.deployment)


def _hash(community: Community, number: int) -> str | None:
    try:
        return Header.of(community.web3.eth.get_block(number)).hash
    except BlockNotFound:
        return None


def _entries(community: Community, first: int, last: int) -> Iterator[Entry]:
    carried = _carried_out(community, first, last)
    for log in events(community.contracts.registry.events.LibraryChanged(), first, last):
        yield _entry(log, carried)


def _carried_out(community: Community, first: int, last: int) -> dict[bytes, list[tuple[int, int]]]:
    """By transaction, place and proposal of every execution: it is told right after the change that it made."""
    found: dict[bytes, list[tuple[int, int]]] = {}
    for log in events(community.contracts.governor.events.ProposalExecuted(), first, last):
        found.setdefault(bytes(log["transactionHash"]), []).append((log["logIndex"], log["args"]["proposalId"]))
    return found


def _entry(log: EventData, carried: dict[bytes, list[tuple[int, int]]]) -> Entry:
    told, transaction = log["args"], bytes(log["transactionHash"])
    after = [(place, proposal) for place, proposal in carried.get(transaction, ()) if place > log["logIndex"]]
    cause = Cause(told["cause"])
    return Entry(
        version=told["version"],
        cause=cause,
        added=tuple(bytes(digest).hex() for digest in told["added"]),
        removed=tuple(bytes(digest).hex() for digest in told["removed"]),
        root=bytes(told["root"]).hex(),
        history_hash=bytes(told["historyHash"]).hex(),
        block=log["blockNumber"],
        block_hash=bytes(log["blockHash"]).hex(),
        transaction=transaction.hex(),
        proposal=str(min(after)[1]) if after and cause is Cause.VOTE else "",
    )


def _require_same(community: Community, past: Past, head: Header) -> None:
    """That the registry held then what the events lead to, and that the chain is still the one that was read."""
    ask = community.contracts.registry.functions
    if head.number >= community.deployment.block:
        held = (
            ask.version().call(block_identifier=head.number),
            bytes(ask.historyHash().call(block_identifier=head.number)),
        )
        if held != (past.version, past.history_hash):
            raise HistoryMismatch(
                f"the events up to block {head.number} lead to change {past.version}, and the registry holds "
                f"change {held[0]} with another history: this node hides or invents events"
            )
    if _hash(community, head.number) != head.hash:
        raise ServerFailed(f"the chain was reorganised at block {head.number} while it was read: try again")
