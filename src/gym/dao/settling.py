"""What finalizing a proposal did, read from the events of its transaction: the library's change, and the bond's way."""

from typing import NamedTuple

from gym.core.cid import cid_of_digest
from gym.dao.deployment import Community
from gym.errors import MissingExtra

try:
    from web3.logs import DISCARD
    from web3.types import TxReceipt
except ImportError as error:
    raise MissingExtra("governance", "dao") from error


class Settled(NamedTuple):
    """A proposal's end."""

    added: tuple[str, ...]
    """Addresses of what came into the library."""
    removed: tuple[str, ...]
    guardian: str | None
    """The one that was appointed."""
    bond: int
    bond_returned: bool
    """To the proposer; else it went to the treasury."""


def settled(community: Community, receipt: TxReceipt) -> Settled:
    """Of a transaction that finalized a proposal."""
    governor, registry = community.contracts.governor, community.contracts.registry
    changes = registry.events.LibraryChanged().process_receipt(receipt, errors=DISCARD)
    appointed = registry.events.GuardianAppointed().process_receipt(receipt, errors=DISCARD)
    ended = governor.events.ProposalFinalized().process_receipt(receipt, errors=DISCARD)
    return Settled(
        added=tuple(cid_of_digest(bytes(digest)) for log in changes for digest in log["args"]["added"]),
        removed=tuple(cid_of_digest(bytes(digest)) for log in changes for digest in log["args"]["removed"]),
        guardian=appointed[0]["args"]["guardian"] if appointed else None,
        bond=governor.functions.bond().call(),
        bond_returned=bool(ended[0]["args"]["bondReturned"]),
    )
