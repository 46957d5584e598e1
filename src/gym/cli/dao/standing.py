"""`gym dao status`: how a community stands now: its library, its rules, what is in quarantine, and its proposals."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from gym.cli.common import print_json
from gym.cli.dao.options import Chain, Keeping, chain_options, json_option, keeping_options
from gym.core.text import count

if TYPE_CHECKING:
    from gym.dao.contracts import Settings
    from gym.dao.deployment import Community
    from gym.dao.proposals import Proposal
    from gym.dao.quarantine import Quarantined


@click.command()
@click.argument("proposal", required=False)
@click.option("--account", metavar="ADDRESS", help="Say what this account has, too.")
@click.option("--all", "everything", is_flag=True, help="Every proposal ever made, not only what is unfinished.")
@chain_options
@keeping_options
@json_option
def status(
    proposal: str | None, account: str | None, everything: bool, chain: Chain, keeping: Keeping, as_json: bool
) -> None:
    """How the library and its proposals stand now, or one PROPOSAL (its number, first digits, or what it is about).

    Texts are shown as far as --content or --ipfs has them. Listed are all proposals that somebody can still do something
    about: read, vote on, or finalize, which gives a bond back.
    """
    from gym.cli.dao.desk import opened
    from gym.cli.dao.texts import texts_of
    from gym.dao.proposals import find, proposals, unsettled
    from gym.dao.quarantine import quarantined
    from gym.dao.rules import rules

    with opened(chain) as there:
        if proposal is not None:
            one = find(there, proposal)
            texts = texts_of(keeping, one.concerns)
            print_json(_object(one, texts)) if as_json else _print([one], there, texts)
            return
        chosen = rules(there.contracts)
        told = _standing(there, chosen) | ({"account": _account(there, account)} if account else {})
        out, found = quarantined(there), proposals(there) if everything else unsettled(there)
        texts = texts_of(keeping, [cid for one in found for cid in one.concerns] + [one.cid for one in out])
        if as_json:
            waiting = [one._asdict() | {"text": texts.get(one.cid)} for one in out]
            print_json(told | {"quarantine": waiting, "proposals": [_object(one, texts) for one in found]})
            return
        for line in (*_head(told, there, chosen), *_quarantine(out, there.now(), texts)):
            click.echo(line)
        _print(found, there, texts)


def _standing(there: "Community", chosen: "Settings") -> dict[str, Any]:
    from gym.dao.rules import rules_object

    registry = there.contracts.registry.functions
    return {
        "chain_id": there.deployment.chain_id,
        "block": there.web3.eth.block_number,
        "version": registry.version().call(),
        "active": registry.count().call(),
        "root": bytes(registry.root().call()).hex(),
        "history_hash": bytes(registry.historyHash().call()).hex(),
        "guardian": chosen.guardian,
        "guardian_until": chosen.guardian_until,
        "total_stake": str(there.contracts.staking.functions.totalStake().call()),
        "rules": rules_object(chosen),
    }


def _account(there: "Community", address: str) -> dict[str, str]:
    from gym.dao.deployment import checked_address
    from gym.dao.units import ether, moment

    known, staking = checked_address(address, "an account"), there.contracts.staking.functions
    leaving, free = staking.exits(known).call()
    told = there.units.told
    return {
        "address": known,
        "ether": ether(there.web3.eth.get_balance(known)),
        "tokens": told(there.contracts.token.functions.balanceOf(known).call()),
        "stake": told(staking.stakeOf(known).call()),
        "votes": told(staking.getVotes(known).call()),
        **({"leaving": f"{told(leaving)}, free from {moment(free)}"} if leaving else {}),
    }


def _head(told: Mapping[str, Any], there: "Community", chosen: "Settings") -> Iterator[str]:
    from gym.dao.rules import in_words

    yield (
        f"chain {told['chain_id']}, block {told['block']}: {count(told['active'], 'experience')} active after "
        f"{count(told['version'], 'change')}; {there.units.told(int(told['total_stake']))} staked"
    )
    yield from (f"  {line}" for line in in_words(chosen, there.units))
    yield from (f"  {key.replace('_', ' ')}: {value}" for key, value in told.get("account", {}).items())


def _quarantine(out: "Sequence[Quarantined]", now: int, texts: Mapping[str, str]) -> Iterator[str]:
    from gym.cli.dao.texts import change
    from gym.dao.units import moment

    for one in out:
        over = now > one.until
        yield (
            f"{one.id} is in quarantine, which ended {moment(one.until)}: gym dao finalize {one.id} --reinstate"
            if over
            else f"{one.id} is in quarantine until {moment(one.until)}; later anyone may put it back"
        )
        yield from (f"  {line}" for line in change((), (one.cid,), texts))


def _print(found: "Sequence[Proposal]", there: "Community", texts: Mapping[str, str]) -> None:
    from gym.cli.dao.texts import about
    from gym.dao.units import moment, short

    told = there.units.told
    for one in found:
        click.echo(f"proposal {short(one.id)}: {one.kind}, {one.standing}")
        click.echo(f"  by {one.proposer}")
        need = "" if one.quorum is None else f"; a quorum is {told(one.quorum)}"
        click.echo(
            f"  votes from {moment(one.opens)} to {moment(one.ends)}: {told(one.votes_for)} for, "
            f"{told(one.votes_against)} against, {told(one.abstained)} abstained{need}"
        )
        for line in about(one, texts):
            click.echo(f"  {line}")


def _object(one: "Proposal", texts: Mapping[str, str]) -> dict[str, Any]:
    """Stakes and the number as text: they are larger than what JSON readers keep exactly."""
    large = ("id", "votes_for", "votes_against", "abstained", "quorum", "bond")
    told = one._asdict()
    shown = {cid: texts.get(cid) for cid in one.concerns}
    return told | {key: None if told[key] is None else str(told[key]) for key in large} | {"texts": shown}
