"""What the guardian has taken out for a while, and until when: it is active no more, and may come back."""

from typing import NamedTuple

from gym.core.cid import cid_of_digest
from gym.dao.accepted import ids_of
from gym.dao.deployment import Community
from gym.dao.history import Cause, Change
from gym.dao.logs import events

DISABLED = 2
"""The registry's number for that status."""


class Quarantined(NamedTuple):
    """One entry in quarantine."""

    id: str
    cid: str
    until: int
    """Seconds since 1970; later anyone may put it back, unless a vote removes it."""


def quarantined(community: Community) -> tuple[Quarantined, ...]:
    """Everything that is in quarantine now, by the chain's last block."""
    registry = community.contracts.registry
    logs = events(registry.events.LibraryChanged(), community.deployment.block, community.web3.eth.block_number)
    changes = [Change.of(log) for log in logs]
    ids = ids_of(one.added for one in changes)
    out = dict.fromkeys(d for one in changes if one.cause is Cause.QUARANTINE for d in one.removed)
    found = list[Quarantined]()
    for digest in out:
        _, _, until, status = registry.functions.recordOf(digest).call()
        if status == DISABLED:
            found.append(Quarantined(ids.get(digest, "?"), cid_of_digest(digest), until))
    return tuple(found)
