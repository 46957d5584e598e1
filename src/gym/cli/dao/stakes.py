"""`gym dao deploy` and `gym dao stake`: contracts made, and what votes."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gym.cli.dao.options import Chain, Signing, chain_options, json_option, signing_options
from gym.errors import ConfigError, StorageError
from gym.files import write_atomic

if TYPE_CHECKING:
    from gym.dao.deployment import Deployment


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

    \b
      gym dao deploy --rpc http://127.0.0.1:8545 --dry-run
      gym dao deploy --rpc URL --keystore me.json --token 0x… --treasury 0x… --guardian 0x…
    """
    from gym.cli.dao.desk import Outcome, node_of, sender_of
    from gym.dao.founding import Founding, found, founding_quotes
    from gym.dao.rpc import translated

    web3 = node_of(chain)
    told = Founding(token, supply, threshold, bond, quorum, treasury, guardian, guardian_days)
    _require_new(chain.deployment)
    with translated():
        sender = sender_of(web3, signing, web3.eth.chain_id)
        outcome = Outcome(sender, signing, as_json=as_json)
        if signing.dry_run:
            outcome.would(founding_quotes(web3, sender, told))
            return
        _require_room(chain.deployment)
        made = found(web3, sender, told)
    _write(made, chain.deployment)
    outcome.done(
        {"deployment": made.model_dump(mode="json"), "file": str(chain.deployment)},
        f"governor {made.governor}, registry {made.registry}, staking {made.staking}, token {made.token}",
        f"written to {chain.deployment}: give it to the others",
    )


@click.command()
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
        raise click.UsageError("give an AMOUNT, or --exit N, or --withdraw")
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
