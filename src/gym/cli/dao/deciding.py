"""`gym dao vote` and `gym dao finalize`: what becomes of a proposal."""

from pathlib import Path

import click

from gym.cli.dao.options import Chain, Signing, chain_options, json_option, library_option, signing_options


@click.command()
@click.argument("proposal")
@click.argument("support", type=click.Choice(["for", "against", "abstain"]))
@chain_options
@signing_options
@json_option
def vote(proposal: str, support: str, chain: Chain, signing: Signing, as_json: bool) -> None:
    """Vote on a PROPOSAL: its number, its first digits, or the address of what it is about.

    \b
      gym dao vote 8123 for --keystore me.json
    """
    from gym.cli.dao.desk import Outcome, opened, sender_of
    from gym.dao.motions import ballot
    from gym.dao.proposals import find, read

    with opened(chain) as there:
        sender = sender_of(there.web3, signing, there.deployment.chain_id)
        found = find(there, proposal)
        outcome = Outcome(sender, signing, as_json=as_json)
        if outcome.carry_out([ballot(there, found.id, support)]) is None:
            return
        now, told = read(there, found.id), there.units.told
    outcome.done(
        {"proposal": str(now.id), "vote": support, "for": str(now.votes_for), "against": str(now.votes_against)},
        f"voted {support}: {told(now.votes_for)} for, {told(now.votes_against)} against, {told(now.abstained)} abstained",
    )


@click.command()
@click.argument("name", metavar="PROPOSAL")
@click.option("--reinstate", is_flag=True, help="Put an entry back instead, whose quarantine ended without a vote.")
@library_option
@chain_options
@signing_options
@json_option
def finalize(name: str, reinstate: bool, library: Path, chain: Chain, signing: Signing, as_json: bool) -> None:
    """Carry out what was decided on a PROPOSAL, or settle what failed; anyone may, when its vote is over."""
    from gym.cli.dao.desk import Outcome, entry_of, opened, sender_of
    from gym.dao.content import digest_of_cid
    from gym.dao.proposals import find, read
    from gym.dao.sending import Step
    from gym.dao.units import short

    with opened(chain) as there:
        sender = sender_of(there.web3, signing, there.deployment.chain_id)
        outcome = Outcome(sender, signing, as_json=as_json)
        if reinstate:
            cid = entry_of(name, library)
            call = there.contracts.registry.functions.reinstate(digest_of_cid(cid))
            if outcome.carry_out([Step(f"reinstate {cid}", call)]) is not None:
                outcome.done({"reinstated": cid}, f"{cid} is active again")
            return
        found = find(there, name)
        call = there.contracts.governor.functions.finalizeProposal(found.id)
        if outcome.carry_out([Step(f"finalize proposal {short(found.id)}", call)]) is None:
            return
        now = read(there, found.id)
    outcome.done({"proposal": str(now.id), "state": now.state}, f"proposal {short(now.id)} is {now.state}")
