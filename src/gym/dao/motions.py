"""Proposals as steps to send: the bond approved where it is not, then the proposal itself, tried before anything is paid."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gym.core.cid import cid_of_digest
from gym.core.text import count
from gym.dao.content import digest_of_cid
from gym.dao.contracts import NOBODY
from gym.dao.deployment import Community
from gym.dao.sending import Step, lacks_only_allowance
from gym.dao.units import moment, short
from gym.errors import ConfigError, MissingExtra

try:
    from eth_typing import ChecksumAddress
    from web3.contract.contract import ContractFunction
    from web3.logs import DISCARD
    from web3.types import TxReceipt
except ImportError as error:
    raise MissingExtra("governance", "dao") from error

MAX_BATCH = 100
"""Experiences in a proposal."""
MAX_REASON = 4096
"""Bytes of a proposal's reason."""
SUPPORT = ("against", "for", "abstain")
"""OpenZeppelin's kinds of votes, by number."""


def addition(community: Community, sender: ChecksumAddress, cids: Sequence[str], reason: str = "") -> Iterator[Step]:
    """Propose that these come, together."""
    governor, digests = community.contracts.governor.functions, sorted(map(digest_of_cid, set(cids)))
    if len(digests) == 1 and not reason:
        call = governor.proposeExperience(cid_of_digest(digests[0]), digests[0])
    else:
        call = governor.proposeBatch(digests, [], _checked(reason))
    return _proposed(community, sender, call, f"propose {count(len(digests), 'experience')}")


def removal(community: Community, sender: ChecksumAddress, cids: Sequence[str], reason: str) -> Iterator[Step]:
    """Propose that these leave, together."""
    governor, digests = community.contracts.governor.functions, sorted(map(digest_of_cid, set(cids)))
    if len(digests) == 1:
        call = governor.proposeRemoval(digests[0], _checked(reason))
    else:
        call = governor.proposeBatch([], digests, _checked(reason))
    return _proposed(community, sender, call, f"propose to remove {count(len(digests), 'experience')}")


def replacement(community: Community, sender: ChecksumAddress, old: str, new: str, reason: str) -> Iterator[Step]:
    """Propose that one takes another's place."""
    digests = digest_of_cid(old), digest_of_cid(new)
    call = community.contracts.governor.functions.proposeReplacement(*digests, _checked(reason))
    return _proposed(community, sender, call, "propose that one experience replaces another")


def guardianship(
    community: Community, sender: ChecksumAddress, guardian: str, until: int, reason: str
) -> Iterator[Step]:
    """Propose a guardian, or with `NOBODY` none."""
    call = community.contracts.governor.functions.proposeGuardian(guardian, until, _checked(reason))
    what = "no guardian" if guardian == NOBODY else f"{guardian} as guardian until {moment(until)}"
    return _proposed(community, sender, call, f"propose {what}")


def staked(community: Community, sender: ChecksumAddress, amount: int) -> Iterator[Step]:
    """Stake an amount."""
    contracts, told = community.contracts, community.units.told(amount)
    balance = contracts.token.functions.balanceOf(sender).call()
    if balance < amount:
        raise ConfigError(f"account {sender} has {community.units.told(balance)}, and {told} were to be staked")
    step = Step(f"stake {told}", contracts.staking.functions.stake(amount))
    return _paid(community, sender, Taker("the staking contract", contracts.staking.address), amount, step)


def sent(community: Community, sender: ChecksumAddress, to: str, amount: int) -> Step:
    """Give somebody tokens; raises `ConfigError` for who could never use them, or when there are not so many."""
    named: dict[str, str] = {one.address: name for name, one in community.contracts._asdict().items()}
    if to in named:
        raise ConfigError(f"{to} is the {named[to]} contract, which could never give them back: who was meant?")
    told = community.units.told
    balance = community.contracts.token.functions.balanceOf(sender).call()
    if balance < amount:
        raise ConfigError(f"account {sender} has {told(balance)}, and {told(amount)} were to be sent")
    return Step(f"send {told(amount)} to {to}", community.contracts.token.functions.transfer(to, amount))


def ballot(community: Community, proposal: int, support: str) -> Step:
    """Vote on a proposal."""
    call = community.contracts.governor.functions.castVote(proposal, SUPPORT.index(support))
    return Step(f"vote {support} on proposal {short(proposal)}", call)


def proposal_of(community: Community, receipt: TxReceipt) -> int:
    """The number of the proposal that a transaction made."""
    made = community.contracts.governor.events.ProposalCreated().process_receipt(receipt, errors=DISCARD)
    return int(made[0]["args"]["proposalId"])


def _proposed(community: Community, sender: ChecksumAddress, call: ContractFunction, what: str) -> Iterator[Step]:
    governor = community.contracts.governor
    taker = Taker("the governor", governor.address)
    return _paid(community, sender, taker, governor.functions.bond().call(), Step(what, call))


class Taker(NamedTuple):
    """The contract that takes tokens."""

    name: str
    address: ChecksumAddress


def _paid(community: Community, sender: ChecksumAddress, taker: Taker, amount: int, step: Step) -> Iterator[Step]:
    """The step, after the approval that it lacks. No more is approved than it takes."""
    token = community.contracts.token.functions
    assert isinstance(step.call, ContractFunction)
    short_of = amount > 0 and token.allowance(sender, taker.address).call() < amount
    if short_of and lacks_only_allowance(step.call, sender):
        what = f"let {taker.name} ({taker.address}) take {community.units.told(amount)}"
        yield Step(what, token.approve(taker.address, amount))
        yield step._replace(after=True)
    else:
        yield step


def _checked(reason: str) -> str:
    if (size := len(reason.encode())) > MAX_REASON:
        raise ConfigError(f"the reason has {size:,} bytes, at most {MAX_REASON:,} are possible")
    return reason
