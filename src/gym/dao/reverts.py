"""What a contract refused, in words: custom errors are four bytes and arguments on the wire, with a name in our artefacts."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, get_args

from gym.core.cid import cid_of_digest
from gym.core.text import visible_line
from gym.dao.artifacts import Name, artifact
from gym.dao.units import Units, moment, short
from gym.errors import MissingExtra

try:
    from eth_abi.abi import decode
    from eth_abi.exceptions import DecodingError
    from eth_utils.abi import abi_to_signature, function_signature_to_4byte_selector
    from eth_utils.address import is_address, to_checksum_address
    from web3.exceptions import ContractLogicError
except ImportError as error:
    raise MissingExtra("governance", "dao") from error

STATES = (
    "in review",
    "open for votes",
    "cancelled",
    "rejected",
    "accepted, to be finalized",
    "queued",
    "expired",
    "executed",
)
"""OpenZeppelin's states of a proposal, by number."""

_WORDS = {
    "AlreadyAccepted": "{contentHash} is in the library already",
    "AlreadyDisabledOnce": "the guardian disabled {digest} before: only a vote can take it out now",
    "AlreadyFinalized": "proposal {proposalId} was finalized before",
    "AlreadyProposed": "{contentHash} is proposed already, by proposal {proposalId}, which is still open",
    "CidMismatch": "{given} is not the address of that content, which is {expected}",
    "ClosedByDesign": "this way is closed: there are five kinds of proposals, and none can be cancelled",
    "CoolingDown": "the stake is cooling down and can be withdrawn from {availableAt} on",
    "DecisionExpired": "the decision could be carried out until {validUntil} only: propose again",
    "DescriptionTooLong": "the reason has {length} bytes, at most 4096 are possible",
    "ERC20InsufficientAllowance": "{spender} may take {allowance} from this account, and needs {needed}",
    "ERC20InsufficientBalance": "{sender} has {balance}, and needs {needed}",
    "GovernorAlreadyCastVote": "{voter} has voted on this already",
    "GovernorInsufficientProposerVotes": "{proposer} has a voting stake of {votes}, and a proposal needs {threshold}",
    "GovernorInvalidQuorumFraction": "a quorum is 1 to 100 percent, not {quorumNumerator}",
    "GovernorInvalidSignature": "this is no signature of {voter} for this vote",
    "GovernorInvalidVoteType": "a vote is against, for or abstain",
    "GovernorNonexistentProposal": "there is no proposal {proposalId}",
    "GovernorUnexpectedProposalState": "proposal {proposalId} is {current}",
    "GuardianSuperseded": "a later vote has appointed a guardian since this was proposed",
    "GuardianshipTooLong": "a guardian is appointed for a year at most, not until {until}",
    "InvalidBatchSize": "a batch has 1 to 100 experiences, not {size}",
    "InvalidDigest": "zero is no experience",
    "InvalidSettings": "the settings make no sound governance: threshold and quorum above 0, and a treasury",
    "NeverProposed": "{contentHash} was never proposed by itself",
    "NoEther": "the contracts take no ether",
    "NoStake": "{account} had no stake when the vote opened, so it has no vote here",
    "NotAccepted": "{contentHash} is not in the library",
    "NotActive": "{digest} is not active in the library",
    "NotAscending": "{contentHash} stands twice, or out of order",
    "NotDisabled": "{digest} is not in quarantine",
    "NotGovernor": "{caller} is not the governor, which alone writes the library",
    "NotGuardian": "{caller} is not the guardian, or no longer",
    "NothingToMove": "there is nothing to stake or to withdraw",
    "StakeTooSmall": "{asked} is more than the stake of {staked}",
    "StillDisabled": "{digest} stays in quarantine until {until}",
    "Superseded": "a later vote on {digest} has been carried out since this was proposed",
}  # fmt: skip
_AMOUNTS = frozenset({"allowance", "needed", "balance", "votes", "threshold", "asked", "staked"})
_TIMES = frozenset({"availableAt", "validUntil", "until"})


class Revert(NamedTuple):
    """A refusal of one of our contracts, or of OpenZeppelin's below them."""

    name: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        told = {key: _shown(key, value) for key, value in self.arguments.items()}
        if words := _WORDS.get(self.name):
            return words.format_map(told)
        return f"{self.name}({', '.join(f'{key}={value}' for key, value in told.items())})"


def said(refusal: ContractLogicError) -> str:
    """Why a call was refused, in one line."""
    revert = decoded(refusal)
    return str(revert) if revert else visible_line(refusal.message or str(refusal))


def decoded(refusal: ContractLogicError) -> Revert | None:
    """The error that a call ended with; None for one that no contract of ours knows."""
    data = refusal.data
    if not isinstance(data, str) or not data.startswith("0x"):
        return None
    try:
        raw = bytes.fromhex(data[2:])
    except ValueError:
        return None
    found = _errors().get(raw[:4])
    if found is None:
        return None
    inputs = found["inputs"]
    try:
        values = decode([entry["type"] for entry in inputs], raw[4:])
    except DecodingError:
        return None
    return Revert(found["name"], dict(zip([entry["name"] for entry in inputs], values, strict=True)))


@cache
def _errors() -> dict[bytes, Any]:
    every: list[Any] = [entry for name in get_args(Name) for entry in artifact(name).abi if entry["type"] == "error"]
    return {function_signature_to_4byte_selector(abi_to_signature(entry)): entry for entry in every}


def _shown(key: str, value: Any) -> str:
    """As people write it. Tokens are taken to have 18 decimals, like nearly all."""
    if key in _AMOUNTS:
        return Units().told(value)
    if key in _TIMES:
        return moment(value)
    if key == "proposalId":
        return short(value)
    if key == "current":
        return STATES[value] if value < len(STATES) else str(value)
    if key in ("contentHash", "digest"):
        return cid_of_digest(value)
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return str(to_checksum_address(value)) if is_address(value) else str(value)
