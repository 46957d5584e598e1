"""`ChainNetwork`: a community's vote as a `gym.core.network.Network` (SPEC 3.9; the paper's listing).

Submitting proposes, fetching syncs. Both can be repeated: nothing is proposed that was proposed before, by whomever.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gym.core.cid import cid_of_digest
from gym.core.network import Compressed
from gym.core.operation import Admit
from gym.core.text import count
from gym.core.value import Value
from gym.dao.content import Content, ContentStore
from gym.dao.deployment import Community, Deployment, community
from gym.dao.logs import events
from gym.dao.motions import MAX_BATCH, addition
from gym.dao.sending import Quote, Sender
from gym.dao.sync import Synced, gate, read_on, require_admitted, sync
from gym.errors import ConfigError, MissingExtra, RunFailed

try:
    from eth_account.signers.local import LocalAccount
except ImportError as error:
    raise MissingExtra("governance", "dao") from error


class AcceptedExperience(Value):
    """One experience that was voted in and not out again."""

    id: str
    """`G0`, `G1` … in the order of first acceptance; never another text's."""
    text: str
    cid: str
    domain: str = ""


class ChainNetwork:
    """A node's side of a community's contracts. Without an `account` it only reads."""

    def __init__(
        self,
        deployment: Deployment,
        rpc: str,
        stores: Sequence[ContentStore],
        *,
        checkpoint: str | Path,
        account: LocalAccount | None = None,
        agree: Callable[[Quote], bool] = lambda _: True,
        domain: str = "",
        confirmations: int | None = None,
        admit: Admit | None = None,
    ) -> None:
        """`agree` is asked before each transaction; `stores` are asked in turn, and all of them are given what is proposed.

        `confirmations` as in `gym.dao.reading.advance`; `admit` is the node's own gate (None: that of learned texts).
        """
        self._deployment, self._rpc, self._stores = deployment, rpc, tuple(stores)
        self._checkpoint, self._account, self._agree = Path(checkpoint), account, agree
        self._domain, self._confirmations, self._admit = domain, confirmations, admit

    def submit_experiences(self, batch: Mapping[str, Compressed]) -> Sequence[str]:
        """The addresses of the experiences; those that nobody ever proposed are proposed now, up to 100 at a time.

        Raises `ConfigError` without an account or for a text that the gate refuses, a `ProviderError` when the chain or a
        store does.
        """
        if self._account is None:
            raise ConfigError("this network only reads: give it an account to propose with")
        offered = [Content.of(entry["text"], domain=self._domain) for entry in batch.values()]
        contents = {content.cid: content for content in offered}
        with community(self._rpc, self._deployment) as there:
            known = proposed(there)
            new = [content for content in contents.values() if content.cid not in known]
            require_admitted(new, self._admit or gate())
            for store in self._stores:
                for content in new:
                    store.put(content.data)
            sender = Sender(there.web3, self._account, chain_id=self._deployment.chain_id, agree=self._agree)
            for start in range(0, len(new), MAX_BATCH):
                cids = [content.cid for content in new[start : start + MAX_BATCH]]
                sender.carry_out([*addition(there, sender.address, cids)])
        return tuple(contents)

    def fetch_accepted_experiences(self) -> Sequence[AcceptedExperience]:
        """What is accepted at the last final block, without what left and what the node's own gate refuses.

        Raises `RunFailed` when a content is missing: `sync` tells which are there.
        """
        accepted = self.sync().accepted
        if accepted.missing:
            first = accepted.missing[0]
            raise RunFailed(
                f"{count(len(accepted.missing), 'accepted experience')} cannot be had, {first.cid} first: {first.reason}"
            )
        cids = {source.id: source.cid for source in accepted.sources}
        return tuple(
            AcceptedExperience(id=entry.id, text=entry.text, cid=cids[entry.id], domain=entry.domain)
            for entry in accepted.library
        )

    def sync(self) -> Synced:
        """The library at the last final block, with what is missing and what was refused."""
        with community(self._rpc, self._deployment) as there:
            read = read_on(there, self._checkpoint, confirmations=self._confirmations)
            return sync(there, read, self._stores, admit=self._admit)


def proposed(community: Community) -> frozenset[str]:
    """The addresses of everything that anybody ever proposed to add, whatever became of it."""
    event = community.contracts.governor.events.ExperienceProposed()
    logs = events(event, community.deployment.block, community.web3.eth.block_number)
    return frozenset(cid_of_digest(bytes(log["args"]["contentHash"])) for log in logs)
