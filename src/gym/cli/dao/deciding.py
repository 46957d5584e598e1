"""`gym dao vote` and `gym dao finalize`: what becomes of a proposal."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gym.cli.dao.options import (
    Chain,
    Keeping,
    Signing,
    chain_options,
    json_option,
    keeping_options,
    library_option,
    signing_options,
)

if TYPE_CHECKING:
    from gym.cli.dao.desk import Outcome
    from gym.dao.deployment import Community
    from gym.dao.proposals import Proposal
    from gym.dao.settling import Settled


@click.command()
@click.argument("proposal")
@click.argument("support", type=click.Choice(["for", "against", "abstain"]))
@chain_options
@keeping_options
@signing_options
@json_option
def vote(proposal: str, support: str, chain: Chain, keeping: Keeping, signing: Signing, as_json: bool) -> None:
    """Vote on a PROPOSAL: its number, its first digits, or the address of what it is about.

    \b
      gym dao vote 8123 for --keystore me.json
    """
    from gym.cli.dao.desk import Outcome, opened, sender_of
    from gym.cli.dao.texts import about, texts_of
    from gym.dao.motions import ballot
    from gym.dao.proposals import find, read

    with opened(chain) as there:
        sender = sender_of(there.web3, signing, there.deployment.chain_id)
        found = find(there, proposal)
        outcome = Outcome(sender, signing, as_json=as_json)
        detail = tuple(about(found, texts_of(keeping, found.concerns)))
        with _told_when(found):
            if outcome.carry_out([ballot(there, found.id, support)._replace(detail=detail)]) is None:
                return
        now, told = read(there, found.id), there.units.told
    outcome.done(
        {"proposal": str(now.id), "vote": support, "for": str(now.votes_for), "against": str(now.votes_against)},
        f"voted {support}: {told(now.votes_for)} for, {told(now.votes_against)} against, {told(now.abstained)} abstained",
    )


@click.command()
@click.argument("name", metavar="PROPOSAL")
@click.option("--reinstate", is_flag=True, help="Put an ENTRY back instead, whose quarantine ended without a vote.")
@library_option
@chain_options
@keeping_options
@signing_options
@json_option
def finalize(
    name: str, reinstate: bool, library: Path, chain: Chain, keeping: Keeping, signing: Signing, as_json: bool
) -> None:
    """Carry out what was decided on a PROPOSAL, or settle what failed; anyone may, when its vote is over.

    With --reinstate it takes an ENTRY: an address (CID), a digest, or an id such as G3, which one that is out keeps.
    """
    from gym.cli.dao.desk import Outcome, entry_of, opened, sender_of
    from gym.cli.dao.texts import about, texts_of
    from gym.dao.proposals import find, read
    from gym.dao.sending import Step
    from gym.dao.settling import settled
    from gym.dao.units import short

    with opened(chain) as there:
        sender = sender_of(there.web3, signing, there.deployment.chain_id)
        outcome = Outcome(sender, signing, as_json=as_json)
        if reinstate:
            _reinstate(there, entry_of(there, name, chain, library), outcome)
            return
        found = find(there, name)
        texts = texts_of(keeping, found.concerns)
        call = there.contracts.governor.functions.finalizeProposal(found.id)
        with _told_when(found):
            receipt = outcome.carry_out([
                Step(f"finalize proposal {short(found.id)}", call, detail=tuple(about(found, texts)))
            ])  # fmt: skip
        if receipt is None:
            return
        now, end = read(there, found.id), settled(there, receipt)
        lines = [*_told(there, now, end, texts)]
    outcome.done({"proposal": str(now.id), "state": now.state, **end._asdict(), "bond": str(end.bond)}, *lines)


def _reinstate(there: "Community", cid: str, outcome: "Outcome") -> None:
    from gym.dao.content import digest_of_cid
    from gym.dao.sending import Step

    call = there.contracts.registry.functions.reinstate(digest_of_cid(cid))
    if outcome.carry_out([Step(f"reinstate {cid}", call)]) is not None:
        outcome.done({"reinstated": cid}, f"{cid} is active again", NEXT)


NEXT = "next, when that is final: gym dao sync"


def _told(there: "Community", now: "Proposal", end: "Settled", texts: Mapping[str, str]) -> Iterator[str]:
    from gym.cli.dao.texts import change
    from gym.dao.contracts import NOBODY
    from gym.dao.units import short

    yield f"proposal {short(now.id)} is {now.standing}"
    yield from (f"  {line}" for line in change(end.added, end.removed, texts))
    if end.guardian is not None:
        yield f"  guardian: {'nobody' if end.guardian == NOBODY else end.guardian}"
    elif now.state == "executed" and not end.added + end.removed:
        yield "  nothing changes: all of it had become so before"
    if end.bond:
        bond, treasury = there.units.told(end.bond), there.contracts.governor.functions.treasury().call()
        lost = f"the bond of {bond} is lost to the treasury ({treasury}): two thirds said no"
        yield f"the bond of {bond} is back at {now.proposer}" if end.bond_returned else lost
    if end.added + end.removed:
        yield NEXT


@contextmanager
def _told_when(found: "Proposal") -> Iterator[None]:
    """What the governor refuses because of the time is told with the time from which it will not."""
    from web3.exceptions import ContractLogicError

    from gym.dao.reverts import decoded
    from gym.dao.units import short
    from gym.errors import RequestRejected

    try:
        yield
    except ContractLogicError as error:
        revert = decoded(error)
        if revert is None or revert.name != "GovernorUnexpectedProposalState":
            raise
        raise RequestRejected(f"refused: proposal {short(found.id)} is {found.standing}") from error
