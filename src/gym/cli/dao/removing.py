"""`gym dao remove`: an experience's way out, by a vote, or for a while by the guardian."""

from pathlib import Path

import click

from gym.cli.dao.options import Chain, Signing, chain_options, json_option, library_option, signing_options
from gym.cli.dao.proposing import reason_option, send_proposal


@click.command()
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
@click.option("--draft", type=click.Path(path_type=Path), metavar="FILE", help="Send what `gym dao watch` drafted.")
@click.option("--disable", is_flag=True, help="As guardian: take one entry out now, for 14 days.")
@reason_option
@library_option
@chain_options
@signing_options
@json_option
def remove(
    entries: tuple[str, ...], draft: Path | None, disable: bool, reason: str, library: Path, chain: Chain,
    signing: Signing, as_json: bool,
) -> None:  # fmt: skip
    """Propose that entries leave. An ENTRY is an address (CID), a digest, or an id of the synced library.

    \b
      gym dao remove G3 --reason "mean reward 0.81 -> 0.74 on 60 of my problems" --keystore me.json
      gym dao remove --draft drafts/removal-G3.json
    """
    from gym.cli.dao.desk import Outcome, entry_of, opened, sender_of
    from gym.dao import motions
    from gym.dao.content import digest_of_cid
    from gym.dao.drafts import Draft
    from gym.dao.sending import Step

    if bool(entries) == (draft is not None):
        raise click.UsageError("give an ENTRY, or --draft FILE")
    if disable and (len(entries) != 1 or reason):
        raise click.UsageError("--disable takes one ENTRY, and no --reason: a vote on its removal takes that")
    with opened(chain) as there:
        sender = sender_of(there.web3, signing, there.deployment.chain_id)
        outcome = Outcome(sender, signing, as_json=as_json)
        if draft is not None:
            drafted = Draft.read(draft, there.deployment)
            cids, reason = [entry.cid for entry in drafted.entries], reason or drafted.reason
        else:
            cids = [entry_of(name, library) for name in entries]
        if disable:
            call = there.contracts.registry.functions.disable(digest_of_cid(cids[0]))
            if outcome.carry_out([Step(f"disable {cids[0]}", call)]) is not None:
                outcome.done({"disabled": cids[0]}, f"{cids[0]} is out for 14 days, or for good if a vote removes it")
            return
        send_proposal(there, outcome, [*motions.removal(there, sender.address, cids, reason)], ())
