"""A small community on a local node: contracts deployed, two proposers and five voters with stakes, time at hand.

What the tests, the gas bench and the demo act out, each step as one line.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from gym.core.cid import cid_of_digest
from gym.dao.contracts import Contracts, Settings, deploy, deploy_token
from gym.dao.history import Change
from gym.dao.local_node import LocalNode
from gym.errors import MissingExtra

try:
    from eth_typing import ChecksumAddress
    from web3.contract.contract import ContractConstructor, ContractFunction
    from web3.logs import DISCARD
    from web3.types import TxReceipt
except ImportError as error:
    raise MissingExtra("governance", "dao") from error

GYM = 10**18
DAY = 86_400
REVIEW, VOTE, EXTENSION, COOLDOWN, QUARANTINE = 3 * DAY, 5 * DAY, 2 * DAY, 14 * DAY, 14 * DAY
AGAINST, FOR, ABSTAIN = 0, 1, 2
STAKES = (2_000, 1_000, 3_000, 2_500, 2_000, 1_500, 1_000)
"""GYM of the two proposers, then of the five voters: 13,000 in all."""


class Rehearsal(NamedTuple):
    """Who and what there is. Account 0 has the rest of the tokens; guardian, treasury and stranger have none."""

    node: LocalNode
    contracts: Contracts
    accounts: tuple[ChecksumAddress, ...]

    @property
    def proposers(self) -> tuple[ChecksumAddress, ...]:
        """Two, with 2,000 and 1,000 GYM staked."""
        return self.accounts[1:3]

    @property
    def voters(self) -> tuple[ChecksumAddress, ...]:
        """Five, with 3,000, 2,500, 2,000, 1,500 and 1,000 GYM staked."""
        return self.accounts[3:8]

    @property
    def guardian(self) -> ChecksumAddress:
        """May disable, for half a year."""
        return self.accounts[8]

    @property
    def treasury(self) -> ChecksumAddress:
        """Gets the bonds of what two thirds refuse."""
        return self.accounts[9]

    @property
    def stranger(self) -> ChecksumAddress:
        """Staked nothing."""
        return self.accounts[10]

    def send(self, call: ContractFunction, sender: ChecksumAddress) -> TxReceipt:
        """Carry out a call; it must succeed."""
        return self.node.send(call, sender)

    def propose(self, digest: bytes, sender: ChecksumAddress | None = None) -> int:
        """Propose an experience by the paper's name; the proposal's id."""
        call = self.contracts.governor.functions.proposeExperience(cid_of_digest(digest), digest)
        return self.opened(call, sender)

    def opened(self, call: ContractFunction, sender: ChecksumAddress | None = None) -> int:
        """Make a proposal of any kind, by the first proposer unless told otherwise; its id."""
        receipt = self.send(call, sender or self.proposers[0])
        made = self.contracts.governor.events.ProposalCreated().process_receipt(receipt, errors=DISCARD)
        return int(made[0]["args"]["proposalId"])

    def decide(self, proposal: int, votes: Mapping[int, int]) -> None:
        """Let the review pass, let voters vote (their place: support), let the vote pass."""
        self.node.travel(REVIEW)
        for voter, support in votes.items():
            self.send(self.contracts.governor.functions.castVote(proposal, support), self.voters[voter])
        self.node.travel(VOTE + EXTENSION)

    def finalize(self, proposal: int) -> TxReceipt:
        """Have a stranger carry out what was decided."""
        return self.send(self.contracts.governor.functions.finalizeProposal(proposal), self.stranger)

    def accept(self, *digests: bytes) -> int:
        """Propose, approve by everyone and carry out, as one batch; the block in which it happened."""
        batch = self.contracts.governor.functions.proposeBatch(sorted(digests), [], "")
        proposal = self.opened(batch)
        self.decide(proposal, dict.fromkeys(range(5), FOR))
        return self.finalize(proposal)["blockNumber"]

    def changes(self, last: int | None = None) -> list[Change]:
        """Every change of the library up to a block, from events."""
        logs = self.contracts.registry.events.LibraryChanged().get_logs(from_block=0, to_block=last or "latest")
        return [Change.of(dict(log)) for log in logs]

    def active(self, block: int | None = None) -> tuple[bytes, ...]:
        """What the registry itself says it holds, now or at a block."""
        held = self.contracts.registry.functions.active(0, 2**32)
        return tuple(map(bytes, held.call(block_identifier=block or "latest")))


def rehearse(node: LocalNode) -> Rehearsal:
    """Deploy everything, hand out tokens and stake them."""
    accounts = tuple(node.web3.eth.accounts)
    told = Settings(treasury=accounts[9], guardian=accounts[8], guardian_until=node.now() + 180 * DAY)

    def send(call: ContractConstructor, what: str) -> TxReceipt:
        return node.send(call, accounts[0])

    token = deploy_token(node.web3, send, 1_000_000 * GYM)
    community = Rehearsal(node, deploy(node.web3, send, told, token=token), accounts)
    for account, stake in zip(accounts[1:8], STAKES, strict=True):
        enter(community, account, stake * GYM)
    node.travel(1)
    return community


def enter(community: Rehearsal, account: ChecksumAddress, stake: int) -> None:
    """Give an account tokens for its stake and 20 bonds, approve them, and stake."""
    token, staking, governor, _ = community.contracts
    community.send(token.functions.transfer(account, stake + 2_000 * GYM), community.accounts[0])
    community.send(token.functions.approve(staking.address, 2**256 - 1), account)
    community.send(token.functions.approve(governor.address, 2**256 - 1), account)
    community.send(staking.functions.stake(stake), account)


def digest_of(text: str) -> bytes:
    """Some digest that the text alone decides.

    >>> digest_of("a").hex()[:8]
    'ca978112'
    """
    return sha256(text.encode()).digest()
