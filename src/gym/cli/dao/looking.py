"""`gym dao status` and `gym dao history`: how things stand, and how they came to."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym.cli.common import print_json
from gym.cli.dao.options import (
    Chain,
    Final,
    chain_options,
    content_option,
    final_options,
    json_option,
)
from gym.core.text import count

if TYPE_CHECKING:
    from gym.dao.checkpoint import Checkpoint, Entry
    from gym.dao.deployment import Community
    from gym.dao.proposals import Proposal


@click.command()
@click.argument("proposal", required=False)
@click.option("--account", metavar="ADDRESS", help="Say what this account has, too.")
@click.option("--all", "everything", is_flag=True, help="Every proposal ever made, not only what is unfinished.")
@chain_options
@json_option
def status(proposal: str | None, account: str | None, everything: bool, chain: Chain, as_json: bool) -> None:
    """How the library and its proposals stand now, or one PROPOSAL (its number, first digits, or what it is about)."""
    from gym.cli.dao.desk import opened
    from gym.dao.proposals import UNFINISHED, find, proposals

    with opened(chain) as there:
        if proposal is not None:
            found = find(there, proposal)
            _print([found], there) if not as_json else print_json(_object(found))
            return
        told = _standing(there) | ({"account": _account(there, account)} if account else {})
        found_all = proposals(there, (lambda _: True) if everything else UNFINISHED.__contains__)
    if as_json:
        print_json(told | {"proposals": [_object(one) for one in found_all]})
        return
    click.echo(
        f"chain {told['chain_id']}, block {told['block']}: {count(told['active'], 'experience')} active after "
        f"{count(told['version'], 'change')}; {there.units.told(int(told['total_stake']))} staked"
    )
    for key, value in told.get("account", {}).items():
        click.echo(f"  {key.replace('_', ' ')}: {value}")
    _print(found_all, there)


@click.command()
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N changes.")
@chain_options
@content_option
@final_options
@json_option
def history(last: int | None, chain: Chain, content: Path, final: Final, as_json: bool) -> None:
    """Every change of the library up to the last final block, proven to lead to what the registry holds."""
    from gym.cli.dao.desk import opened, read_of

    with opened(chain) as there:
        read = read_of(there, chain, final)
    named = _names(read.checkpoint, content)
    rows = [_row(entry, named) for entry in read.checkpoint.entries[-last if last else None :]]
    if as_json:
        print_json({
            "block": read.head.number, "version": read.past.version, "root": read.past.root.hex(),
            "history_hash": read.past.history_hash.hex(), "changes": rows,
        })  # fmt: skip
        return
    for row in rows:
        click.echo(f"{row['version']:>4}  block {row['block']}  {row['cause']}{_by(row['proposal'])}")
        for sign, key in (("+", "added"), ("-", "removed")):
            for one in row[key]:
                click.echo(f"      {sign} {one['id']} {one['cid']}  {one['text'] or '(content not here)'}")
    click.echo(
        f"{count(read.past.version, 'change')} up to block {read.head.number}; history {read.past.history_hash.hex()}"
    )


def _standing(there: "Community") -> dict[str, Any]:
    registry = there.contracts.registry.functions
    return {
        "chain_id": there.deployment.chain_id,
        "block": there.web3.eth.block_number,
        "version": registry.version().call(),
        "active": registry.count().call(),
        "root": bytes(registry.root().call()).hex(),
        "history_hash": bytes(registry.historyHash().call()).hex(),
        "guardian": registry.guardian().call(),
        "guardian_until": registry.guardianUntil().call(),
        "total_stake": str(there.contracts.staking.functions.totalStake().call()),
    }


def _account(there: "Community", address: str) -> dict[str, str]:
    from gym.dao.deployment import checked_address
    from gym.dao.units import ether, moment

    known, staking = checked_address(there.web3, address, "an account"), there.contracts.staking.functions
    leaving, free = staking.exits(known).call()
    told = there.units.told
    return {
        "address": known,
        "ether": ether(there.web3.eth.get_balance(there.web3.to_checksum_address(known))),
        "tokens": told(there.contracts.token.functions.balanceOf(known).call()),
        "stake": told(staking.stakeOf(known).call()),
        "votes": told(staking.getVotes(known).call()),
        **({"leaving": f"{told(leaving)}, free from {moment(free)}"} if leaving else {}),
    }


def _print(found: "Sequence[Proposal]", there: "Community") -> None:
    from gym.dao.units import moment, short

    told = there.units.told
    for one in found:
        click.echo(
            f"proposal {short(one.id)}: {one.kind}, {one.state}{'' if one.open or one.settled else ', not finalized'}"
        )
        when = f"votes from {moment(one.opens)} to {moment(one.ends)}"
        need = "" if one.quorum is None else f"; a quorum is {told(one.quorum)}"
        click.echo(
            f"  {when}: {told(one.votes_for)} for, {told(one.votes_against)} against, {told(one.abstained)} abstained{need}"
        )
        for sign, cids in (("+", one.added), ("-", one.removed)):
            for cid in cids:
                click.echo(f"  {sign} {cid}")
        if one.kind == "guardian":
            click.echo(f"  guardian {one.guardian} until {moment(one.guardian_until)}")
        if one.reason:
            click.echo(f"  reason: {one.reason if one.reason.isprintable() else repr(one.reason)}")


def _object(one: "Proposal") -> dict[str, Any]:
    """Stakes and the number as text: they are larger than what JSON readers keep exactly."""
    large = ("id", "votes_for", "votes_against", "abstained", "quorum")
    told = one._asdict()
    return told | {key: None if told[key] is None else str(told[key]) for key in large}


def _row(entry: "Entry", named: Mapping[str, Mapping[str, str | None]]) -> dict[str, Any]:
    return {
        "version": entry.version,
        "block": entry.block,
        "cause": entry.cause.name.lower(),
        "proposal": entry.proposal,
        "transaction": f"0x{entry.transaction}",
        "added": [named[digest] for digest in entry.added],
        "removed": [named[digest] for digest in entry.removed],
        "root": entry.root,
        "history_hash": entry.history_hash,
    }


def _names(checkpoint: "Checkpoint", folder: Path) -> Mapping[str, Mapping[str, str | None]]:
    """Every experience that was ever accepted by id, address, and text where the folder has it."""
    from gym.dao.accepted import numbers
    from gym.dao.content import cid_of_digest, fetch
    from gym.dao.stores import Folder

    cids = {digest: cid_of_digest(bytes.fromhex(digest)) for digest in numbers(checkpoint.entries)}
    texts = {cid: content.text for cid, content in fetch(cids.values(), [Folder(folder)]).contents.items()}
    return {
        digest: {"id": f"G{place}", "cid": cid, "text": texts.get(cid)}
        for place, (digest, cid) in enumerate(cids.items())
    }


def _by(proposal: str) -> str:
    from gym.dao.units import short

    return f", proposal {short(int(proposal))}" if proposal else ""
