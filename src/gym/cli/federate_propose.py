"""`gym federate propose`: what found no support among the nodes is put to a vote elsewhere."""

from collections.abc import Sequence
from pathlib import Path

import click

from gym.cli.common import console, json_option, print_json
from gym.core.network import Network
from gym.core.text import count
from gym.errors import ConfigError
from gym.federated.alone import Alone, batch, unsupported
from gym.federated.history import History
from gym.federated.homes import NodeHome
from gym.federated.messages import text_digest
from gym.plugins import import_attribute


@click.command()
@click.argument("node", type=click.Path(path_type=Path))
@click.option(
    "--network",
    default="",
    metavar="PKG.MOD:NETWORK",
    help="Put them to a vote there: a Network, or what makes one.",
)
@click.option("--only", multiple=True, metavar="ID", help="Of these alone, by the ids that are listed.")
@json_option
def propose(node: Path, network: str, only: tuple[str, ...], as_json: bool) -> None:
    """List what the node in folder NODE shared and too few others said; with --network, put it to the vote there.

    Such a text does not vanish: it stays in `gym federate explain`, and can be proposed to any network that decides by
    something else than support, as a registry with votes does. Its words left the node when it was shared.

    \b
      gym federate propose mine
      gym federate propose mine --network my_dao:NETWORK --only 3fa1c0de
    """
    home = NodeHome.open(node)
    found = unsupported(home.board, History(home.board).decisions(), home.card.member.address)
    chosen = [one for one in found if not only or _id(one) in only]
    if missing := {*only} - {_id(one) for one in found}:
        raise ConfigError(f"not among what found no support: {', '.join(sorted(missing))}")
    there = _network(network) if network else None
    addresses = there.submit_experiences(batch(chosen)) if there and chosen else ()
    if as_json:
        print_json({"texts": [_row(one) for one in chosen], "proposed": list(addresses)})
        return
    _show(chosen)
    told = f"proposed: {', '.join(addresses) or 'nothing'}" if network else count(len(chosen), "text")
    console.print(told, markup=False)


def _network(path: str) -> Network:
    found = import_attribute(path, "network")
    made: Network = found() if callable(found) and not hasattr(found, "submit_experiences") else found
    if not hasattr(made, "submit_experiences"):
        raise ConfigError(f"network {path!r}: it has no submit_experiences")
    return made


def _show(texts: Sequence[Alone]) -> None:
    from gym.cli.tables import literal, out

    for one in texts:
        domain = f" · {one.domain}" if one.domain else ""
        out.print(f"{_id(one)}  {literal(one.text)}  (round {one.round}{literal(domain)}: {one.reason})", markup=False)


def _row(one: Alone) -> dict[str, object]:
    return {"id": _id(one), "text": one.text, "domain": one.domain, "round": one.round, "reason": one.reason}


def _id(one: Alone) -> str:
    return text_digest(one.text)[:8]
