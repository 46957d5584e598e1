"""What governance costs in gas, beside the paper's listing, on a local node. `--write` puts the table into docs/governance.md.

Gas is counted by the chain and does not depend on the machine. The listing counts heads on one slot and checks nothing; what
ours pays for is weights of the past, a vote that ends, the bond, the history hash and the Merkle root.
"""

import json
import sys
from typing import Any

from bench.report import KEPT, ROOT, Table, filled, markdown
from gym.core.cid import cid_of_digest
from gym.dao.local_node import local_node
from gym.dao.rehearsal import FOR, REVIEW, VOTE, Rehearsal, digest_of, rehearse
from gym.errors import ConfigError

NAME, BATCH, LARGEST = "bench_gas", 20, 100
LISTING = ROOT / "tests" / "dao" / "paper_listing.json"
PAGE = ROOT / "docs" / "governance.md"
BEGIN, END = "<!-- gas: written by `python -m bench.bench_gas --write` -->", "<!-- end of gas -->"
Gas = dict[str, int]


def ours(community: Rehearsal) -> Gas:
    """Every step of our contracts, on a library that holds forty entries, as a lived-in one does."""
    governor = community.contracts.governor.functions
    community.accept(*(digest_of(f"old {number}") for number in range(40)))
    one, proposer = digest_of("one"), community.proposers[0]
    many = sorted(digest_of(f"new {number}") for number in range(BATCH))
    most = sorted(digest_of(f"more {number}") for number in range(LARGEST))
    gas = {
        "propose": used(community, governor.proposeExperience(cid_of_digest(one), one), proposer),
        "propose 20": used(community, governor.proposeBatch(many, [], "a round's harvest"), proposer),
        "propose 100": used(community, governor.proposeBatch(most, [], "the largest batch"), proposer),
        "propose removal": used(community, governor.proposeRemoval(digest_of("old 7"), "worse by 4 points"), proposer),
    }
    single, batch, largest, removal = proposals(community)[-4:]
    community.node.travel(REVIEW)
    gas["first vote"] = used(community, governor.castVote(single, FOR), community.voters[0])
    gas["vote"] = used(community, governor.castVote(single, FOR), community.voters[1])
    for proposal in (batch, largest, removal):
        used(community, governor.castVote(proposal, FOR), community.voters[0])
    community.node.travel(VOTE)
    ends = {"finalize": single, "finalize 20": batch, "finalize removal": removal, "finalize 100": largest}
    return gas | {name: community.finalize(proposal)["gasUsed"] for name, proposal in ends.items()}


def papers(community: Rehearsal) -> Gas:
    """The same of the listing; its last vote is what accepts."""
    built = json.loads(LISTING.read_text(encoding="utf-8"))["contracts"]
    staking = deployed(community, built["PaperStaking"], community.contracts.token.address)
    registry = deployed(community, built["PaperRegistry"], staking.address, 3)
    one, voters = digest_of("one"), community.voters[:3]
    for voter in voters:
        community.send(community.contracts.token.functions.approve(staking.address, 1), voter)
        community.send(staking.functions.stake(1), voter)
    proposed = used(community, registry.functions.proposeExperience(cid_of_digest(one), one), community.proposers[0])
    votes = [used(community, registry.functions.vote(one, True), voter) for voter in voters]
    return {"propose": proposed, "first vote": votes[0], "vote": votes[1], "finalize": votes[2]}


def used(community: Rehearsal, call: Any, sender: Any) -> int:
    """Gas of a call that succeeds."""
    return int(community.send(call, sender)["gasUsed"])


def proposals(community: Rehearsal) -> list[int]:
    """Every proposal's id, in order."""
    logs = community.contracts.governor.events.ProposalCreated().get_logs(from_block=0)
    return [int(log["args"]["proposalId"]) for log in logs]


def deployed(community: Rehearsal, built: Any, *arguments: Any) -> Any:
    """A contract of the listing's artefact."""
    eth = community.node.web3.eth
    made = eth.contract(abi=built["abi"], bytecode=built["bytecode"]).constructor(*arguments)
    receipt = eth.wait_for_transaction_receipt(made.transact({"from": community.accounts[0]}))
    return eth.contract(address=receipt["contractAddress"], abi=built["abi"])


def main() -> int:
    """The table; 1 when a step does not fit into a block of its time."""
    try:
        with local_node() as node:
            community = rehearse(node)
            our, paper = ours(community), papers(community)
    except ConfigError as error:
        sys.exit(str(error))
    table = Table(NAME, "Gas, beside the paper's listing mended to compile")
    listed = {
        "propose an experience": ("propose", paper["propose"], ""),
        "the first vote on it": ("first vote", paper["first vote"], ""),
        "each further vote": ("vote", paper["vote"], ""),
        "carry it out": ("finalize", paper["finalize"], " (the vote that accepts)"),
        f"propose a batch of {BATCH}": ("propose 20", BATCH * paper["propose"], f" ({BATCH} proposals)"),
        f"carry the batch of {BATCH} out": ("finalize 20", BATCH * paper["finalize"], f" ({BATCH} accepting votes)"),
        f"propose the largest batch, {LARGEST}": ("propose 100", LARGEST * paper["propose"], f" ({LARGEST} proposals)"),
        "carry that out": ("finalize 100", LARGEST * paper["finalize"], f" ({LARGEST} accepting votes)"),
        "propose a removal": ("propose removal", None, "no removal"),
        "carry the removal out": ("finalize removal", None, "no removal"),
    }
    for what, (name, reference, note) in listed.items():
        beside = note if reference is None else f"{reference:,}{note}"
        table.add(what, f"{our[name]:,}", beside, "< 16,777,216", our[name] < 2**24)
    missed = table.close()
    if "--write" in sys.argv:
        figures = markdown(json.loads((KEPT / f"{NAME}.json").read_text(encoding="utf-8")))
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), figures, BEGIN, END), encoding="utf-8")
    return missed


if __name__ == "__main__":
    sys.exit(main())
