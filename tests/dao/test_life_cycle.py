"""An experience's whole life on a real node: two proposers, five voters (SPEC 7.1, 7.2)."""

from typing import Any

from gym.core.cid import cid_of_digest
from gym.dao.rehearsal import (
    ABSTAIN,
    AGAINST,
    COOLDOWN,
    DAY,
    FOR,
    GYM,
    QUARANTINE,
    REVIEW,
    STAKES,
    VOTE,
    digest_of,
    enter,
)  # fmt: skip

ONE, TWO, THREE = sorted(map(digest_of, ("one", "two", "three")))
BOND = 100 * GYM
EVERYONE = dict.fromkeys(range(5), FOR)
PENDING, ACTIVE, DEFEATED, SUCCEEDED, EXPIRED, EXECUTED = 0, 1, 3, 4, 6, 7


def state(community: Any, proposal: int) -> int:
    found: int = community.contracts.governor.functions.state(proposal).call()
    return found


def tokens(community: Any, account: str) -> int:
    found: int = community.contracts.token.functions.balanceOf(account).call()
    return found


def test_the_papers_names_lead_through_a_whole_life(community: Any) -> None:
    governor, node, voters = community.contracts.governor, community.node, community.voters
    proposed = community.send(governor.functions.proposeExperience(cid_of_digest(ONE), ONE), community.proposers[0])
    assert governor.events.ExperienceProposed().process_log(proposed["logs"][1])["args"] == {
        "contentHash": ONE, "proposer": community.proposers[0],
    }  # fmt: skip
    node.travel(REVIEW)
    for voter, approves in zip(voters, (True, True, True, True, False), strict=True):
        community.send(governor.functions.vote(ONE, approves), voter)
    assert not community.active()
    node.travel(VOTE)
    finalized = community.send(governor.functions.finalize(ONE), community.stranger)
    accepted = governor.events.ExperienceAccepted().get_logs(from_block=finalized["blockNumber"])
    assert [event["args"]["contentHash"] for event in accepted] == [ONE]
    assert governor.functions.experiences(ONE).call() == (
        ONE, cid_of_digest(ONE), community.proposers[0], 9_000 * GYM, 1_000 * GYM, True,
    )  # fmt: skip
    assert governor.functions.experiences(TWO).call() == (bytes(32), "", "0x" + "0" * 40, 0, 0, False)


def test_two_proposers_are_accepted_and_rejected_by_five_voters(community: Any, refusal: Any) -> None:
    first = community.propose(ONE, community.proposers[0])
    second = community.propose(TWO, community.proposers[1])
    assert [state(community, each) for each in (first, second)] == [PENDING, PENDING]
    community.node.travel(REVIEW)
    cast = community.contracts.governor.functions.castVote
    for place, voter in enumerate(community.voters):
        community.send(cast(first, FOR if place < 4 else AGAINST), voter)
        community.send(cast(second, FOR if place == 4 else AGAINST), voter)
    assert state(community, first) == ACTIVE
    community.node.travel(VOTE)
    assert [state(community, each) for each in (first, second)] == [SUCCEEDED, DEFEATED]
    community.finalize(first)
    community.finalize(second)
    assert community.active() == (ONE,)
    assert state(community, first) == EXECUTED


def test_two_thirds_are_exact_to_the_last_unit(community: Any) -> None:
    exact = community.propose(ONE)
    enter(community, community.accounts[11], 1)
    short = community.propose(TWO)
    community.node.travel(REVIEW)
    cast = community.contracts.governor.functions.castVote
    for proposal in (exact, short):
        community.send(cast(proposal, FOR), community.voters[2])  # 2,000
        community.send(cast(proposal, AGAINST), community.voters[4])  # 1,000
    community.send(cast(short, AGAINST), community.accounts[11])  # one part in 10^18
    community.node.travel(VOTE)
    assert [state(community, each) for each in (exact, short)] == [SUCCEEDED, DEFEATED]


def test_the_quorum_is_a_tenth_of_the_stake_when_the_vote_opens(community: Any) -> None:
    low, high = community.propose(ONE), community.propose(TWO)
    community.node.travel(REVIEW)
    cast = community.contracts.governor.functions.castVote
    community.send(cast(low, FOR), community.voters[4])  # 1,000 of 13,000
    community.send(cast(high, FOR), community.voters[3])  # 1,500 of 13,000
    enter(community, community.accounts[11], 100_000 * GYM)  # too late to raise it
    community.node.travel(VOTE)
    assert [state(community, each) for each in (low, high)] == [DEFEATED, SUCCEEDED]


def test_votes_against_and_abstentions_count_for_the_quorum_as_in_the_paper(community: Any) -> None:
    proposal = community.propose(ONE)
    community.decide(proposal, {4: FOR, 3: ABSTAIN})
    assert state(community, proposal) == SUCCEEDED


def test_abstentions_alone_accept_nothing(community: Any) -> None:
    proposal = community.propose(ONE)
    community.decide(proposal, dict.fromkeys(range(5), ABSTAIN))
    assert state(community, proposal) == DEFEATED


def test_a_quorum_reached_late_leaves_two_days_to_answer(community: Any) -> None:
    governor, node = community.contracts.governor, community.node
    proposal = community.propose(ONE)
    ends = governor.functions.proposalDeadline(proposal).call()
    node.travel(REVIEW + VOTE - 60)
    community.send(governor.functions.castVote(proposal, FOR), community.voters[0])
    later = governor.functions.proposalDeadline(proposal).call()
    assert later == node.now() + 2 * DAY > ends
    node.travel(DAY)
    for voter in community.voters[1:]:
        community.send(governor.functions.castVote(proposal, AGAINST), voter)
    node.travel(DAY)
    assert state(community, proposal) == DEFEATED


def test_a_removal_restores_the_library_without_the_entry(community: Any) -> None:
    community.accept(ONE, THREE)
    before, root = community.active(), community.contracts.registry.functions.root().call()
    community.accept(TWO)
    removal = community.opened(community.contracts.governor.functions.proposeRemoval(TWO, "worse by 4 points"))
    community.decide(removal, EVERYONE)
    assert len(community.active()) == 3
    community.finalize(removal)
    assert community.active() == before
    assert community.contracts.registry.functions.root().call() == root
    assert community.contracts.governor.functions.experiences(TWO).call()[5] is False


def test_a_replacement_swaps_both_or_neither(community: Any, refusal: Any) -> None:
    governor = community.contracts.governor
    community.accept(ONE)
    removal = community.opened(governor.functions.proposeRemoval(ONE, ""))
    replacement = community.opened(governor.functions.proposeReplacement(ONE, TWO, "says it better"))
    community.node.travel(REVIEW)
    for voter in community.voters:
        community.send(governor.functions.castVote(removal, FOR), voter)
        community.send(governor.functions.castVote(replacement, FOR), voter)
    community.node.travel(VOTE)
    mark = community.node.ask("evm_snapshot")
    community.finalize(replacement)
    assert community.active() == (TWO,)
    community.node.ask("evm_revert", mark)
    community.finalize(removal)
    assert refusal(governor.functions.finalizeProposal(replacement), community.stranger) == "NotActive"
    assert community.active() == ()


def test_a_batch_is_one_vote_and_passes_over_what_came_in_between(community: Any) -> None:
    community.accept(ONE)
    batch = community.opened(community.contracts.governor.functions.proposeBatch([TWO, THREE], [ONE], "from round 7"))
    single = community.propose(TWO, community.proposers[1])
    community.node.travel(REVIEW)
    cast = community.contracts.governor.functions.castVote
    for voter in community.voters:
        community.send(cast(batch, FOR), voter)
        community.send(cast(single, FOR), voter)
    community.node.travel(VOTE)
    community.finalize(single)
    community.finalize(batch)
    assert set(community.active()) == {TWO, THREE}
    assert community.changes()[-1].added == (THREE,)


def test_the_guardian_disables_at_once_and_time_reinstates(community: Any, refusal: Any) -> None:
    registry = community.contracts.registry
    community.accept(ONE)
    community.send(registry.functions.disable(ONE), community.guardian)
    assert community.active() == ()
    assert refusal(registry.functions.reinstate(ONE), community.guardian) == "StillDisabled"
    community.node.travel(QUARANTINE)
    community.send(registry.functions.reinstate(ONE), community.stranger)
    assert community.active() == (ONE,)
    assert refusal(registry.functions.disable(ONE), community.guardian) == "AlreadyDisabledOnce"


def test_a_quarantine_is_long_enough_for_the_vote_that_makes_it_final(community: Any, refusal: Any) -> None:
    registry = community.contracts.registry
    community.accept(ONE)
    community.send(registry.functions.disable(ONE), community.guardian)
    removal = community.opened(community.contracts.governor.functions.proposeRemoval(ONE, "an injected command"))
    community.decide(removal, EVERYONE)
    community.finalize(removal)
    community.node.travel(QUARANTINE)
    assert refusal(registry.functions.reinstate(ONE), community.stranger) == "NotDisabled"
    again = community.accept(ONE)
    assert community.active(again) == (ONE,)
    community.send(registry.functions.disable(ONE), community.guardian)  # a new acceptance, a new quarantine


def test_the_guardians_powers_end_unless_a_vote_renews_them(community: Any, refusal: Any) -> None:
    governor, registry = community.contracts.governor, community.contracts.registry
    community.accept(ONE, TWO)
    community.node.travel(180 * DAY)
    assert refusal(registry.functions.disable(ONE), community.guardian) == "NotGuardian"
    until = community.node.now() + 300 * DAY
    renewal = community.opened(governor.functions.proposeGuardian(community.guardian, until, "another year"))
    community.decide(renewal, EVERYONE)
    community.finalize(renewal)
    assert registry.functions.guardianUntil().call() == until
    community.send(registry.functions.disable(ONE), community.guardian)


def test_a_stake_stops_voting_at_once_and_leaves_after_every_vote(community: Any, refusal: Any) -> None:
    staking, voter = community.contracts.staking, community.voters[0]
    proposal = community.propose(ONE)
    community.send(staking.functions.requestExit(3_000 * GYM), voter)
    assert staking.functions.getVotes(voter).call() == 0
    community.node.travel(REVIEW)
    cast = community.contracts.governor.functions.castVote(proposal, FOR)
    assert refusal(cast, voter) == "NoStake"
    community.node.travel(VOTE + 2 * DAY)
    assert refusal(staking.functions.withdraw(), voter) == "CoolingDown"
    assert state(community, proposal) == DEFEATED  # every vote that was open is over
    community.node.travel(COOLDOWN - REVIEW - VOTE - 2 * DAY)
    before = tokens(community, voter)
    community.send(staking.functions.withdraw(), voter)
    assert tokens(community, voter) - before == STAKES[2] * GYM
    assert refusal(staking.functions.withdraw(), voter) == "NothingToMove"


def test_a_bond_comes_back_unless_two_thirds_say_no(community: Any) -> None:
    proposer, treasury = community.proposers[0], community.treasury
    ends = {
        "accepted": EVERYONE,
        "no quorum": {4: AGAINST},
        "rejected by some": {0: FOR, 1: AGAINST, 2: AGAINST},
        "refused by two thirds": {2: AGAINST, 4: FOR},
    }
    for name, votes in ends.items():
        before = tokens(community, proposer), tokens(community, treasury)
        proposal = community.propose(digest_of(name), proposer)
        assert tokens(community, proposer) == before[0] - BOND
        community.decide(proposal, votes)
        community.finalize(proposal)
        lost = BOND if name == "refused by two thirds" else 0
        assert (tokens(community, proposer), tokens(community, treasury)) == (before[0] - lost, before[1] + lost), name


def test_a_success_that_nobody_carries_out_expires_and_the_bond_comes_back(community: Any) -> None:
    before = tokens(community, community.proposers[0])
    proposal = community.propose(ONE)
    community.decide(proposal, EVERYONE)
    community.node.travel(7 * DAY)
    assert state(community, proposal) == EXPIRED
    community.finalize(proposal)
    assert community.active() == ()
    assert tokens(community, community.proposers[0]) == before


def test_rejected_content_may_be_proposed_again(community: Any) -> None:
    proposal = community.propose(ONE)
    community.decide(proposal, dict.fromkeys(range(5), AGAINST))
    assert community.propose(ONE, community.proposers[1]) != proposal
