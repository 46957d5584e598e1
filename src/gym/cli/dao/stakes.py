"""`gym dao deploy`, `gym dao send` and `gym dao stake`: contracts made, tokens handed out, and what votes."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gym.cli.common import console
from gym.cli.dao.options import Chain, Signing, chain_options, json_option, require_of_use, signing_options
from gym.errors import ConfigError, StorageError
from gym.files import write_atomic

if TYPE_CHECKING:
    from gym.dao.deployment import Deployment


class AmountCommand(click.Command):
    """A command that takes amounts, so that -5 is one that cannot be instead of an option that is not there."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for arg in args:
            if re.fullmatch(r"-[\d.][\d.,_]*", arg):
                raise click.UsageError(f"{arg!r} is no possible amount: more than 0", ctx)
        return super().parse_args(ctx, args)


@click.command()
@click.option("--token", metavar="ADDRESS", help="The token to stake.  [default: a new one, all of it yours]")
@click.option("--supply", default="1000000", show_default=True, metavar="N", help="Of a new token.")
@click.option("--threshold", default="1000", show_default=True, metavar="N", help="Stake that a proposer needs.")
@click.option(
    "--bond",
    default="100",
    show_default=True,
    metavar="N",
    help="What a proposal costs if two thirds refuse it; 0: nothing.",
)
@click.option(
    "--quorum", type=click.IntRange(1, 100), default=10, show_default=True, metavar="PERCENT", help="Of the stake."
)
@click.option("--treasury", metavar="ADDRESS", help="Where refused bonds go.  [default: nobody's, for ever]")
@click.option("--guardian", metavar="ADDRESS", help="Who may disable an entry at once, for 14 days.  [default: nobody]")
@click.option(
    "--guardian-days", type=click.IntRange(1, 365), default=180, show_default=True, metavar="N", help="For how long."
)
@chain_options
@signing_options
@json_option
def deploy(
    token: str | None, supply: str, threshold: str, bond: str, quorum: int, treasury: str | None, guardian: str | None,
    guardian_days: int, chain: Chain, signing: Signing, as_json: bool,
) -> None:  # fmt: skip
    """Make the contracts of a new community, and write where they are into the deployment file.

    What is chosen here can never be changed; it is said before anything is sent.

    \b
      gym dao deploy --rpc http://127.0.0.1:8545 --dry-run --account 0x…
      gym dao deploy --rpc URL --keystore me.json --token 0x… --treasury 0x… --guardian 0x…
    """
    from gym.cli.dao.desk import Outcome, node_of, sender_of
    from gym.dao.founding import Founding, found, founding_quotes, planned
    from gym.dao.rpc import translated
    from gym.dao.rules import in_words, rules_object

    require_of_use("supply", token is None, "is of a new token: leave out --token, or this")
    require_of_use("guardian_days", guardian is not None, "takes --guardian ADDRESS")
    web3 = node_of(chain)
    told = Founding(token, supply, threshold, bond, quorum, treasury, guardian, guardian_days)
    _require_new(chain.deployment)
    with translated():
        sender = sender_of(web3, signing, web3.eth.chain_id)
        outcome = Outcome(sender, signing, as_json=as_json)
        plan = planned(web3, told)
        if not signing.dry_run:
            _require_room(chain.deployment)
        console.print("chosen for ever, but for the guardian, whom votes can change:")
        for line in in_words(plan.settings, plan.units):
            console.print(f"  {line}", markup=False)
        if signing.dry_run:
            outcome.would(founding_quotes(sender, plan), rules=rules_object(plan.settings))
            return
        made = found(web3, sender, plan)
    _write(made, chain.deployment)
    outcome.done(
        {
            "deployment": made.model_dump(mode="json"), "file": str(chain.deployment),
            "rules": rules_object(plan.settings),
        },
        f"governor {made.governor}, registry {made.registry}, staking {made.staking}, token {made.token}",
        f"written to {chain.deployment}: give it to the others",
    )  # fmt: skip


@click.command(cls=AmountCommand)
@click.argument("to", metavar="ADDRESS")
@click.argument("amount")
@chain_options
@signing_options
@json_option
def send(to: str, amount: str, chain: Chain, signing: Signing, as_json: bool) -> None:
    """Send AMOUNT of the community's token to ADDRESS, so that somebody else can stake and pay a bond.

    \b
      gym dao send 0x… 2000 --keystore me.json
    """
    from gym.cli.dao.desk import Outcome, opened, sender_of
    from gym.dao.deployment import checked_address
    from gym.dao.motions import sent

    receiver = checked_address(to, "who gets the tokens")
    with opened(chain) as there:
        sender = sender_of(there.web3, signing, there.deployment.chain_id)
        outcome = Outcome(sender, signing, as_json=as_json)
        if outcome.carry_out([sent(there, sender.address, receiver, there.units.parsed(amount))]) is None:
            return
        balance = there.contracts.token.functions.balanceOf
        left, there_now = (balance(one).call() for one in (sender.address, receiver))
    outcome.done(
        {"to": receiver, "balance": str(left), "balance_there": str(there_now)},
        f"{receiver} has {there.units.told(there_now)} now, {sender.address} {there.units.told(left)}",
    )


@click.command(cls=AmountCommand)
@click.argument("amount", required=False)
@click.option("--exit", "leaving", metavar="N", help="Ask so much back: it stops voting now, and is free in 14 days.")
@click.option("--withdraw", is_flag=True, help="Take back what was asked for 14 days ago.")
@chain_options
@signing_options
@json_option
def stake(
    amount: str | None, leaving: str | None, withdraw: bool, chain: Chain, signing: Signing, as_json: bool
) -> None:
    """Stake AMOUNT of the token, which votes from then on; or leave.

    \b
      gym dao stake 1000 --keystore me.json
      gym dao stake --exit 500
      gym dao stake --withdraw
    """
    from gym.cli.dao.desk import Outcome, opened, sender_of
    from gym.dao.motions import staked
    from gym.dao.sending import Step

    if sum((amount is not None, leaving is not None, withdraw)) != 1:
        raise click.UsageError("give one of AMOUNT, --exit N and --withdraw, not several or none")
    with opened(chain) as there:
        sender, staking = sender_of(there.web3, signing, there.deployment.chain_id), there.contracts.staking.functions
        if amount is not None:
            steps = [*staked(there, sender.address, there.units.parsed(amount))]
        elif leaving is not None:
            asked = there.units.parsed(leaving)
            steps = [Step(f"ask {there.units.told(asked)} back", staking.requestExit(asked))]
        else:
            steps = [Step("withdraw what has cooled down", staking.withdraw())]
        outcome = Outcome(sender, signing, as_json=as_json)
        if outcome.carry_out(steps) is None:
            return
        held = staking.stakeOf(sender.address).call()
    outcome.done({"stake": str(held)}, f"{sender.address} has {there.units.told(held)} staked")


def _require_room(file: Path) -> None:
    """Before anything is paid; raises `StorageError`."""
    probe = file.with_name(f".{file.name}.probe")
    write_atomic(probe, "")
    probe.unlink()


def _write(made: "Deployment", file: Path) -> None:
    """What was paid for is not lost with a full disk."""
    try:
        made.write(file)
    except StorageError as error:
        raise StorageError(f"{error}; the contracts are made, so keep this: {made.model_dump_json()}") from error


def _require_new(file: Path) -> None:
    if file.exists():
        raise ConfigError(f"{str(file)!r} exists: give --deployment another file for another community")
