"""`gym dao remove`: an experience's way out, by a vote, or for a while by the guardian."""

from collections.abc import Sequence
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
from gym.cli.dao.proposing import reason_option, send_proposal

if TYPE_CHECKING:
    from gym.dao.deployment import Community


@click.command()
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
@click.option("--draft", type=click.Path(path_type=Path), metavar="FILE", help="Send what `gym dao watch` drafted.")
@click.option("--disable", is_flag=True, help="As guardian: take one entry out now, for 14 days.")
@click.option("--again", is_flag=True, help="Though a removal of it is proposed already.")
@reason_option
@library_option
@chain_options
@keeping_options
@signing_options
@json_option
def remove(
    entries: tuple[str, ...], draft: Path | None, disable: bool, again: bool, reason: str, library: Path, chain: Chain,
    keeping: Keeping, signing: Signing, as_json: bool,
) -> None:  # fmt: skip
    """Propose that entries leave. An ENTRY is an address (CID), a digest, or an id of the synced library.

    \b
      gym dao remove G3 --reason "mean reward 0.81 -> 0.74 on 60 of my problems" --keystore me.json
      gym dao remove --draft drafts/removal-G3.json
    """
    from gym.cli.dao.desk import Outcome, entry_of, opened, sender_of
    from gym.cli.dao.texts import change, texts_of
    from gym.dao import motions
    from gym.dao.content import digest_of_cid
    from gym.dao.drafts import Draft
    from gym.dao.sending import Step

    if bool(entries) == (draft is not None):
        raise click.UsageError(
            "give an ENTRY or --draft FILE, not both" if entries else "give an ENTRY, or --draft FILE"
        )
    if disable and (len(entries) != 1 or reason):
        raise click.UsageError("--disable takes one ENTRY, and no --reason: a vote on its removal takes that")
    with opened(chain) as there:
        sender = sender_of(there.web3, signing, there.deployment.chain_id)
        outcome = Outcome(sender, signing, as_json=as_json)
        if draft is not None:
            drafted = Draft.read(draft, there.deployment)
            cids, reason = [entry.cid for entry in drafted.entries], reason or drafted.reason
        else:
            cids = [entry_of(there, name, chain, library) for name in entries]
        lines = tuple(change((), cids, texts_of(keeping, cids)))
        if disable:
            call = there.contracts.registry.functions.disable(digest_of_cid(cids[0]))
            if outcome.carry_out([Step(f"disable {cids[0]}", call, detail=lines)]) is not None:
                outcome.done({"disabled": cids[0]}, f"{cids[0]} is out for 14 days, or for good if a vote removes it")
            return
        if not again:
            _require_new(there, cids)
        steps = [*motions.removal(there, sender.address, cids, reason)]
        send_proposal(there, outcome, steps, (), lines=lines, reason=reason)


def _require_new(there: "Community", cids: Sequence[str]) -> None:
    """Raise `ConfigError` where a removal of one of them can still be voted on or carried out: one bond is enough."""
    from gym.dao.proposals import UNFINISHED, proposals
    from gym.dao.units import short
    from gym.errors import ConfigError

    for one in proposals(there, UNFINISHED.__contains__):
        for cid in set(one.removed) & set(cids):
            raise ConfigError(
                f"a removal of {cid} is proposed already: proposal {short(one.id)} ({one.kind}) is {one.standing}; "
                "--again proposes another"
            )
