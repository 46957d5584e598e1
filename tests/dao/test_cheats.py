"""Attacks that succeed on the paper's listing, mended only to compile, and fail on our contracts.

The first seven are what the listing itself invites; the others are what votes by stake are cheated with elsewhere.
"""

from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data

from gym.core.cid import cid_of_digest
from gym.dao.rehearsal import AGAINST, DAY, FOR, GYM, REVIEW, VOTE, digest_of, enter

ONE, TWO, THREE = sorted(map(digest_of, ("one", "two", "three")))
EVERYONE = dict.fromkeys(range(5), FOR)
MNEMONIC = "test test test test test test test test test test test junk"
"""That of every anvil."""
CLOSED = "GovernorUnexpectedProposalState"


def tally(community: Any, proposal: int) -> list[int]:
    found: list[int] = community.contracts.governor.functions.proposalVotes(proposal).call()
    return found


# what the listing invites


def test_one_staker_votes_three_times(community: Any, paper: Any, refusal: Any) -> None:
    cheat = community.voters[0]
    paper.propose(ONE, community.stranger)
    for _ in range(3):
        paper.vote(ONE, True, cheat)
    assert paper.accepted(ONE)

    proposal = community.propose(ONE)
    community.node.travel(REVIEW)
    vote = community.contracts.governor.functions.vote(ONE, True)
    community.send(vote, cheat)
    assert refusal(vote, cheat) == "GovernorAlreadyCastVote"
    assert tally(community, proposal) == [0, 3_000 * GYM, 0]


def test_a_stranger_overwrites_an_accepted_record(community: Any, paper: Any, refusal: Any) -> None:
    paper.propose(ONE, community.proposers[0])
    for _ in range(3):
        paper.vote(ONE, True, community.voters[0])
    paper.propose(ONE, community.stranger)
    assert not paper.accepted(ONE)
    assert paper.registry.functions.experiences(ONE).call()[2] == community.stranger

    community.accept(ONE)
    governor = community.contracts.governor
    again = governor.functions.proposeExperience(cid_of_digest(ONE), ONE)
    assert refusal(again, community.stranger) == "GovernorInsufficientProposerVotes"
    assert refusal(again, community.proposers[1]) == "AlreadyAccepted"
    assert community.active() == (ONE,)


def test_a_hash_that_nobody_proposed_is_accepted(community: Any, paper: Any, refusal: Any) -> None:
    for _ in range(3):
        paper.vote(ONE, True, community.voters[0])
    assert paper.accepted(ONE)

    governor = community.contracts.governor
    assert refusal(governor.functions.vote(ONE, True), community.voters[0]) == "NeverProposed"
    assert refusal(governor.functions.finalize(ONE), community.voters[0]) == "NeverProposed"
    assert refusal(governor.functions.castVote(1, FOR), community.voters[0]) == "GovernorNonexistentProposal"


def test_less_than_two_thirds_pass_for_two_thirds(community: Any, paper: Any) -> None:
    paper.propose(ONE, community.stranger)
    for place in range(50):
        paper.vote(ONE, place >= 17, community.voters[0])  # 33 of 50; anything below 67 % passes for 66 %
    assert paper.accepted(ONE)

    proposal = community.propose(ONE)
    for account, stake in ((community.accounts[11], 6_649 * GYM), (community.accounts[12], 3_351 * GYM)):
        enter(community, account, stake)
    community.node.travel(REVIEW)
    for account, support in ((community.accounts[11], FOR), (community.accounts[12], AGAINST)):
        community.send(community.contracts.governor.functions.castVote(proposal, support), account)
    community.node.travel(VOTE)
    community.finalize(proposal)
    assert community.active() == ()


def test_acceptance_stands_against_every_later_vote(community: Any, paper: Any) -> None:
    paper.propose(ONE, community.stranger)
    for approves in (True, True, True, *9 * [False]):
        paper.vote(ONE, approves, community.voters[0])
    assert paper.accepted(ONE)

    proposal = community.propose(ONE)
    community.decide(proposal, {0: FOR, 1: AGAINST, 2: AGAINST, 3: AGAINST})
    community.finalize(proposal)
    assert community.active() == ()


def test_an_experience_is_accepted_before_anyone_can_read_it(community: Any, paper: Any, refusal: Any) -> None:
    cheat, governor = community.voters[0], community.contracts.governor
    paper.propose(ONE, cheat)
    began = community.node.now()
    for _ in range(3):
        paper.vote(ONE, True, cheat)
    assert paper.accepted(ONE)
    assert community.node.now() - began <= 3

    proposal = community.propose(ONE)
    assert refusal(governor.functions.vote(ONE, True), cheat) == CLOSED
    community.node.travel(REVIEW)
    for voter in community.voters:
        community.send(governor.functions.vote(ONE, True), voter)
    assert (
        refusal(governor.functions.finalizeProposal(proposal), cheat) == CLOSED
    )  # decided or not, five days are five days
    community.node.travel(VOTE - DAY)
    assert refusal(governor.functions.finalizeProposal(proposal), cheat) == CLOSED


def test_a_stake_of_nothing_weighs_as_much_as_any(community: Any, paper: Any) -> None:
    paper.propose(ONE, community.stranger)
    for sybil in community.accounts[11:17]:
        community.send(community.contracts.token.functions.transfer(sybil, 1), community.accounts[0])
        paper.stake(sybil, 1)
        paper.vote(ONE, True, sybil)
    for honest in community.voters[:2]:
        paper.vote(ONE, False, honest)
    assert paper.accepted(ONE)

    for sybil in community.accounts[11:17]:
        enter(community, sybil, 1)
    proposal = community.propose(ONE)
    community.node.travel(REVIEW)
    cast = community.contracts.governor.functions.castVote
    for sybil in community.accounts[11:17]:
        community.send(cast(proposal, FOR), sybil)
    for honest in community.voters[:2]:
        community.send(cast(proposal, AGAINST), honest)
    assert tally(community, proposal)[:2] == [5_500 * GYM, 6]


# what votes are cheated with elsewhere


def test_a_vote_before_the_review_is_over(community: Any, paper: Any, refusal: Any) -> None:
    paper.propose(ONE, community.stranger)
    paper.vote(ONE, True, community.voters[0])
    assert paper.registry.functions.experiences(ONE).call()[3] == 1

    proposal = community.propose(ONE)
    community.node.travel(REVIEW - 10)
    assert refusal(community.contracts.governor.functions.castVote(proposal, FOR), community.voters[0]) == CLOSED


def test_a_vote_after_the_end(community: Any, paper: Any, refusal: Any) -> None:
    paper.propose(ONE, community.stranger)
    for approves in (True, True, False, False):
        paper.vote(ONE, approves, community.voters[0])
    community.node.travel(365 * DAY)
    for _ in range(5):
        paper.vote(ONE, True, community.voters[0])
    assert paper.accepted(ONE)

    proposal = community.propose(ONE)
    community.decide(proposal, {4: FOR, 3: AGAINST})
    assert refusal(community.contracts.governor.functions.castVote(proposal, FOR), community.voters[0]) == CLOSED
    community.finalize(proposal)
    assert community.active() == ()


def test_one_stake_is_moved_and_votes_again(community: Any, paper: Any, refusal: Any) -> None:
    chain, mover = [community.voters[0], *community.accounts[11:13]], community.contracts.token.functions.transfer
    paper.propose(ONE, community.stranger)
    for account, follower in zip(chain, [*chain[1:], None], strict=True):
        paper.vote(ONE, True, account)
        paper.unstake(account, 1)
        if follower:
            community.send(mover(follower, 1), account)
            paper.stake(follower, 1)
    assert paper.accepted(ONE)

    proposal, staking = community.propose(ONE), community.contracts.staking
    community.node.travel(REVIEW)
    cast = community.contracts.governor.functions.castVote(proposal, FOR)
    community.send(cast, chain[0])
    community.send(staking.functions.requestExit(3_000 * GYM), chain[0])
    assert refusal(staking.functions.withdraw(), chain[0]) == "CoolingDown"
    enter(community, chain[1], 3_000 * GYM)  # even with tokens from elsewhere it is too late
    assert refusal(cast, chain[1]) == "NoStake"
    community.send(staking.functions.delegate(chain[2]), community.voters[1])
    assert refusal(cast, chain[2]) == "NoStake"


def test_a_borrowed_stake_votes_and_is_given_back(community: Any, paper: Any, refusal: Any) -> None:
    borrower, token = community.accounts[11], community.contracts.token
    community.send(token.functions.transfer(borrower, 300_000 * GYM), community.accounts[0])
    paper.propose(ONE, community.stranger)
    for _ in range(3):
        paper.stake(borrower, 300_000 * GYM)
        paper.vote(ONE, True, borrower)
        paper.unstake(borrower, 300_000 * GYM)
    assert paper.accepted(ONE)

    community.propose(ONE)
    community.node.travel(REVIEW)
    enter(community, borrower, 300_000 * GYM)
    assert refusal(community.contracts.governor.functions.vote(ONE, True), borrower) == "NoStake"
    community.send(community.contracts.staking.functions.requestExit(300_000 * GYM), borrower)
    assert refusal(community.contracts.staking.functions.withdraw(), borrower) == "CoolingDown"


def test_a_proposer_proposes_again_to_wipe_the_votes_against(community: Any, paper: Any, refusal: Any) -> None:
    proposer = community.proposers[0]
    paper.propose(ONE, proposer)
    paper.vote(ONE, False, community.voters[1])
    paper.propose(ONE, proposer)
    assert paper.registry.functions.experiences(ONE).call()[4] == 0

    proposal = community.propose(ONE, proposer)
    community.node.travel(REVIEW)
    community.send(community.contracts.governor.functions.vote(ONE, False), community.voters[1])
    again = community.contracts.governor.functions.proposeExperience(cid_of_digest(ONE), ONE)
    assert refusal(again, proposer) == refusal(again, community.proposers[1]) == "AlreadyProposed"
    assert tally(community, proposal)[0] == 2_500 * GYM


def test_a_decision_is_finalized_twice(community: Any, paper: Any, refusal: Any) -> None:
    paper.propose(ONE, community.stranger)
    for _ in range(5):
        paper.vote(ONE, True, community.voters[0])
    assert paper.acceptances() == 3

    governor = community.contracts.governor
    accepted, rejected = community.propose(ONE), community.propose(TWO, community.proposers[1])
    community.decide(accepted, EVERYONE)
    for proposal in (accepted, rejected):
        community.finalize(proposal)
        assert refusal(governor.functions.finalizeProposal(proposal), community.stranger) == "AlreadyFinalized"
    assert len(governor.events.ExperienceAccepted().get_logs(from_block=0)) == 1
    assert community.contracts.token.functions.balanceOf(governor.address).call() == 0


def test_an_old_success_brings_back_what_was_removed_since(community: Any, paper: Any, refusal: Any) -> None:
    paper.propose(ONE, community.stranger)
    for _ in range(3):
        paper.vote(ONE, True, community.voters[0])
    paper.propose(ONE, community.stranger)  # the only way that the listing knows to remove
    for _ in range(3):
        paper.vote(ONE, True, community.voters[0])
    assert paper.accepted(ONE)

    governor, propose = community.contracts.governor, community.opened
    old, batch = community.propose(ONE), propose(governor.functions.proposeBatch([ONE, TWO], [], ""))
    approve(community, old, batch)
    community.finalize(batch)
    removal = propose(governor.functions.proposeRemoval(ONE, "does harm"))
    approve(community, removal)
    community.finalize(removal)
    assert governor.functions.state(old).call() == 4  # decided, and its time is not over
    assert refusal(governor.functions.finalize(ONE), community.stranger) == "Superseded"
    community.node.travel(2 * DAY)
    community.send(governor.functions.finalize(ONE), community.stranger)  # settles what has expired by now
    assert community.active() == (TWO,)


def approve(community: Any, *proposals: int) -> None:
    """Let everyone vote for all of them, and let the votes end."""
    community.node.travel(REVIEW)
    for voter in community.voters:
        for proposal in proposals:
            community.send(community.contracts.governor.functions.castVote(proposal, FOR), voter)
    community.node.travel(VOTE)


def ballot(community: Any, proposal: int, **changed: Any) -> bytes:
    """Voter 0's signature for a proposal: over chain, contract, proposal, support and a number that is used once."""
    message = {"proposalId": proposal, "support": FOR, "voter": community.voters[0], "nonce": 0}
    domain = {
        "name": "GymGovernor",
        "version": "1",
        "chainId": 31_337,
        "verifyingContract": community.contracts.governor.address,
    }
    kinds = {"proposalId": "uint256", "support": "uint8", "voter": "address", "nonce": "uint256"}
    typed = encode_typed_data(
        {**domain, **{key: value for key, value in changed.items() if key in domain}},
        {"Ballot": [{"name": name, "type": kind} for name, kind in kinds.items()]},
        {**message, **{key: value for key, value in changed.items() if key in message}},
    )
    Account.enable_unaudited_hdwallet_features()
    place = community.accounts.index(changed.get("signer", community.voters[0]))
    signer = Account.from_mnemonic(MNEMONIC, account_path=f"m/44'/60'/0'/0/{place}")
    return bytes(signer.sign_message(typed).signature)


@pytest.fixture
def open_vote(community: Any, paper: Any) -> int:
    """A proposal whose vote is open. The listing takes no signed votes at all: who has no gas has no vote."""
    assert not [name for name in dir(paper.registry.functions) if "Sig" in name]
    proposal: int = community.propose(ONE)
    community.node.travel(REVIEW + 1)
    return proposal


def test_a_vote_counts_when_its_voter_signed_it_whoever_sends_it(community: Any, open_vote: int) -> None:
    signed = ballot(community, open_vote)
    cast = community.contracts.governor.functions.castVoteBySig(open_vote, FOR, community.voters[0], signed)
    community.send(cast, community.stranger)
    assert tally(community, open_vote) == [0, 3_000 * GYM, 0]


@pytest.mark.parametrize(
    "changed",
    [
        {"signer": 10}, {"chainId": 1}, {"verifyingContract": 0}, {"support": AGAINST}, {"nonce": 1}, {"proposalId": 7},
    ],
    ids=["forged", "of another chain", "for another contract", "for the opposite", "out of turn", "for another proposal"],
)  # fmt: skip
def test_a_signature_that_its_voter_did_not_give_for_this_vote_here(
    community: Any, open_vote: int, refusal: Any, changed: dict[str, Any]
) -> None:
    if "signer" in changed:
        changed = {"signer": community.accounts[changed["signer"]]}
    if "verifyingContract" in changed:
        changed = {"verifyingContract": community.contracts.staking.address}
    signed = ballot(community, open_vote, **changed)
    cast = community.contracts.governor.functions.castVoteBySig(open_vote, FOR, community.voters[0], signed)
    assert refusal(cast, community.stranger) == "GovernorInvalidSignature"


def test_a_signature_is_used_again(community: Any, open_vote: int, refusal: Any) -> None:
    signed = ballot(community, open_vote)
    cast = community.contracts.governor.functions.castVoteBySig(open_vote, FOR, community.voters[0], signed)
    community.send(cast, community.stranger)
    assert refusal(cast, community.stranger) == "GovernorInvalidSignature"
    direct = community.contracts.governor.functions.castVote(open_vote, FOR)
    assert refusal(direct, community.voters[0]) == "GovernorAlreadyCastVote"


def test_an_address_that_leads_to_other_content(community: Any, paper: Any, refusal: Any) -> None:
    other = cid_of_digest(TWO)
    paper.propose(ONE, community.stranger, other)
    assert paper.registry.functions.experiences(ONE).call()[:2] == [ONE, other]

    governor = community.contracts.governor
    for cid in (other, cid_of_digest(ONE).upper(), cid_of_digest(ONE)[:-1], "", f"ipfs://{cid_of_digest(ONE)}"):
        assert refusal(governor.functions.proposeExperience(cid, ONE), community.proposers[0]) == "CidMismatch"


def test_an_experience_is_locked_out_for_good(community: Any, paper: Any, refusal: Any) -> None:
    for voter in community.voters[:2]:
        paper.propose(ONE, community.proposers[0])
        paper.vote(ONE, True, voter)
        paper.propose(ONE, community.stranger)  # whenever it comes near, for the price of a transaction
    assert paper.registry.functions.experiences(ONE).call()[3:] == [0, 0, False]

    governor, token = community.contracts.governor, community.contracts.token
    squatter, honest = community.proposers
    poisoned = community.opened(governor.functions.proposeBatch([ONE, TWO], [], "good beside bad"), squatter)
    squatted = community.propose(ONE, squatter)
    every = governor.functions.cancel([community.contracts.registry.address], [0], [b""], bytes(32))
    assert refusal(every, squatter) == "ClosedByDesign"  # what is proposed is voted on
    community.node.travel(REVIEW)
    for voter in community.voters:
        community.send(governor.functions.castVote(poisoned, AGAINST), voter)
        community.send(governor.functions.vote(ONE, True), voter)
    community.node.travel(VOTE)
    community.send(governor.functions.finalize(ONE), honest)  # nobody needs the squatter for it
    community.finalize(poisoned)
    assert community.active() == (ONE,)
    assert governor.functions.state(squatted).call() == 7
    assert token.functions.balanceOf(governor.address).call() == 0  # nor is a bond left behind


@pytest.mark.parametrize("name", ["add", "remove", "replace", "applyBatch", "appointGuardian"])
def test_somebody_else_writes_into_the_registry(community: Any, paper: Any, refusal: Any, name: str) -> None:
    paper.vote(ONE, True, community.voters[0])
    assert paper.registry.functions.experiences(ONE).call()[3] == 1  # one staker alone writes a record

    terms = (community.stranger, community.node.now(), community.node.now() + DAY)
    given = {
        "add": (ONE,), "remove": (ONE,), "replace": (ONE, TWO), "applyBatch": ([ONE], []),
        "appointGuardian": (community.stranger, 0),
    }  # fmt: skip
    call = community.contracts.registry.functions[name](*given[name], terms)
    for caller in (community.stranger, community.guardian, community.voters[0], community.contracts.staking.address):
        assert refusal(call, caller) == "NotGovernor"


def test_the_governor_is_made_to_call_something_else(community: Any, refusal: Any) -> None:
    governor, registry, token = community.contracts.governor, community.contracts.registry, community.contracts.token
    drain = token.encode_abi("transfer", [community.stranger, 1])
    proposer = community.proposers[0]
    assert refusal(governor.functions.propose([token.address], [0], [drain], "x"), proposer) == "ClosedByDesign"
    assert refusal(governor.functions.relay(token.address, 0, drain), governor.address) == "ClosedByDesign"
    proposal = community.propose(ONE)
    community.decide(proposal, EVERYONE)
    other = registry.encode_abi("add", [TWO, (proposer, 0, 2**40)])
    swapped = governor.functions.execute([registry.address], [0], [other], bytes(32))
    assert refusal(swapped, community.stranger) == "GovernorNonexistentProposal"


def test_the_guardian_puts_something_in(community: Any, refusal: Any) -> None:
    registry = community.contracts.registry
    for call in (registry.functions.disable(ONE), registry.functions.reinstate(ONE)):
        assert refusal(call, community.guardian) in ("NotActive", "NotDisabled")
    community.accept(ONE)
    assert refusal(registry.functions.disable(ONE), community.stranger) == "NotGuardian"
    until = community.node.now() + 366 * DAY
    forever = community.contracts.governor.functions.proposeGuardian(community.guardian, until, "")
    assert refusal(forever, community.proposers[0]) == "GuardianshipTooLong"


def test_a_batch_hides_the_same_entry_twice_or_too_many(community: Any, refusal: Any) -> None:
    batch, proposer = community.contracts.governor.functions.proposeBatch, community.proposers[0]
    many = sorted(digest_of(str(number)) for number in range(101))
    assert refusal(batch([ONE, ONE], [], ""), proposer) == "NotAscending"
    assert refusal(batch([bytes(32)], [], ""), proposer) == "InvalidDigest"
    assert refusal(batch([], [ONE], ""), proposer) == "NotAccepted"
    assert refusal(batch(many, [], ""), proposer) == refusal(batch([], [], ""), proposer) == "InvalidBatchSize"
    assert refusal(batch([ONE], [], "x" * 4_097), proposer) == "DescriptionTooLong"


def test_a_proposer_has_no_stake_of_its_own_or_no_bond(community: Any, refusal: Any) -> None:
    governor, token = community.contracts.governor, community.contracts.token
    call = governor.functions.proposeExperience(cid_of_digest(ONE), ONE)
    assert refusal(call, community.stranger) == "GovernorInsufficientProposerVotes"
    community.send(token.functions.approve(governor.address, 0), community.proposers[0])
    assert refusal(call, community.proposers[0]) == "ERC20InsufficientAllowance"
