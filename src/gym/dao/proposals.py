"""What is proposed: read from the governor, and found again by the beginning of its number or by the experience it is about."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, cast, get_args

from gym.core.cid import cid_of_digest
from gym.dao.content import digest_of_cid
from gym.dao.deployment import Community
from gym.dao.logs import events
from gym.dao.reverts import STATES
from gym.dao.units import moment, short
from gym.errors import ConfigError

Kind = Literal["addition", "removal", "replacement", "batch", "guardian"]
UNFINISHED = frozenset((*STATES[:2], STATES[4]))
"""What somebody can still do something about."""
SHORTEST = 4
"""Digits that name a proposal."""


class Proposal(NamedTuple):
    """One proposal as it stands; stakes in the token's smallest unit, times in seconds since 1970."""

    id: int
    kind: Kind
    state: str
    """One of `gym.dao.reverts.STATES`."""
    settled: bool
    """Whether somebody finalized it: its bond went back, or to the treasury."""
    proposer: str
    added: tuple[str, ...]
    """Addresses of content."""
    removed: tuple[str, ...]
    guardian: str
    guardian_until: int
    reason: str
    votes_for: int
    votes_against: int
    abstained: int
    quorum: int | None
    """Stake that must take part; None before the vote opens."""
    opens: int
    ends: int
    valid_until: int
    bond: int

    @property
    def refused(self) -> bool:
        """Whether enough voted and two thirds of them against, which loses the bond."""
        votes = self.votes_for + self.votes_against
        enough = self.quorum is not None and votes + self.abstained >= self.quorum
        return self.state == "rejected" and enough and 3 * self.votes_against >= 2 * votes

    @property
    def standing(self) -> str:
        """Its state in words, with when that changes."""
        return _standing(self)

    @property
    def concerns(self) -> tuple[str, ...]:
        """Addresses of every content that it is about."""
        return self.added + self.removed


class Made(NamedTuple):
    """That a proposal was made."""

    id: int
    reason: str


def made(community: Community) -> tuple[Made, ...]:
    """Every proposal ever made, the oldest first."""
    event = community.contracts.governor.events.ProposalCreated()
    found = events(event, community.deployment.block, community.web3.eth.block_number)
    return tuple(Made(log["args"]["proposalId"], log["args"]["description"]) for log in found)


def read(community: Community, id: int, reason: str = "") -> Proposal:
    """How a proposal stands now; raises what the governor says to a number that it does not know."""
    ask = community.contracts.governor.functions
    state, motion = STATES[ask.state(id).call()], ask.motionOf(id).call()
    against, for_, abstained = ask.proposalVotes(id).call()
    opens = ask.proposalSnapshot(id).call()
    kind, finalized, guardian_until, guardian, _, added, removed = motion
    return Proposal(
        id=id,
        kind=cast(Kind, get_args(Kind)[kind]),
        state=state,
        settled=finalized,
        proposer=ask.proposalProposer(id).call(),
        added=_addresses(added),
        removed=_addresses(removed),
        guardian=guardian,
        guardian_until=guardian_until,
        reason=reason if kind else "",
        votes_for=for_,
        votes_against=against,
        abstained=abstained,
        quorum=ask.quorum(opens).call() if opens < community.now() else None,
        opens=opens,
        ends=ask.proposalDeadline(id).call(),
        valid_until=ask.validUntil(id).call(),
        bond=ask.bond().call(),
    )


def proposals(community: Community, wanted: Callable[[str], bool] = lambda _: True) -> tuple[Proposal, ...]:
    """Those whose state is wanted, the oldest first."""
    state = community.contracts.governor.functions.state
    return tuple(read(community, one.id, one.reason) for one in made(community) if wanted(STATES[state(one.id).call()]))


def unsettled(community: Community) -> tuple[Proposal, ...]:
    """Those that nobody finalized, the oldest first: each is open, or waits for somebody to finalize it."""
    event = community.contracts.governor.events.ProposalFinalized()
    logs = events(event, community.deployment.block, community.web3.eth.block_number)
    done = {log["args"]["proposalId"] for log in logs}
    return tuple(read(community, one.id, one.reason) for one in made(community) if one.id not in done)


def find(community: Community, name: str) -> Proposal:
    """The proposal called so: its number, the first digits of it, or the address of content that it is about.

    By content, those that can still change the library come first, then those that nobody finalized. Raises
    `ConfigError` when there is none, or more than one.
    """
    if name.isdecimal():
        return _one([read(community, one.id, one.reason) for one in _beginning(made(community), name)], name)
    try:
        address = experience_address(name)
    except ConfigError as error:
        raise ConfigError(
            f"{name!r} names no proposal: give its number, the first digits of it ({SHORTEST} or more), or the address (CID) "
            f"of what it is about, as `gym dao status` shows them{f' ({error})' if name.startswith('b') else ''}"
        ) from error
    about = [one for one in unsettled(community) if address in one.concerns]
    return _one([one for one in about if one.state in UNFINISHED] or about, name)


def experience_address(name: str) -> str:
    """The address of an experience that is named by it, or by its digest in hex; raises `ConfigError`."""
    digits = name.removeprefix("0x")
    if len(digits) == 64:
        try:
            return cid_of_digest(bytes.fromhex(digits))
        except ValueError:
            pass
    digest_of_cid(name)
    return name


def _beginning(all: Sequence[Made], name: str) -> list[Made]:
    if len(name) < SHORTEST:
        raise ConfigError(f"{name!r} is too short for a proposal: give at least {SHORTEST} of its digits")
    return [one for one in all if str(one.id).startswith(name)]


def _one(found: Sequence[Proposal], name: str) -> Proposal:
    if len(found) == 1:
        return found[0]
    if not found:
        raise ConfigError(f"no proposal {name!r}: `gym dao status` lists those that are open, with --all every one")
    each = ", ".join(f"{short(one.id)} ({one.kind}, {one.state})" for one in found)
    raise ConfigError(f"{name!r} can be any of {each}: give the proposal's number")


def _standing(one: Proposal) -> str:
    back = "finalize it to get the bond back" if one.bond else "finalizing it settles that"
    match one.state:
        case "in review":
            return f"in review until {moment(one.opens)}, then open for votes until {moment(one.ends)}"
        case "open for votes":
            return f"open for votes until {moment(one.ends)}, then anyone may finalize it"
        case "accepted, to be finalized":
            return f"accepted: anyone may finalize it until {moment(one.valid_until)}"
        case "rejected" if not one.settled and one.refused and one.bond:
            return "rejected by two thirds, not finalized: its bond will go to the treasury"
        case "rejected" if not one.settled:
            return f"rejected, not finalized: {back}"
        case "expired" if not one.settled:
            return f"expired, as nobody finalized it until {moment(one.valid_until)}: {back}"
        case "executed":
            return "carried out"
        case _:
            return one.state


def _addresses(digests: Sequence[Any]) -> tuple[str, ...]:
    return tuple(cid_of_digest(bytes(digest)) for digest in digests)
