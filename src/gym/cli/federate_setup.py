"""`gym federate keys|join|remove`: who takes part, and what leaves again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from gym.cli.common import console, json_option, print_json
from gym.core.text import count
from gym.embedding.encoders import encoder_name, resolved
from gym.errors import ConfigError
from gym.federated.certificates import AUTHORITY
from gym.federated.history import History
from gym.federated.homes import NodeHome, ServerHome, kind_of
from gym.federated.messages import text_digest
from gym.federated.round import NODE_CHARACTERS
from gym.federated.team import CARD, TEAM, Card, Team, read_value

MOST_TRIED_OUT = 100
"""Nodes of a team on one machine."""
LOOPBACK = ("127.0.0.1", "localhost")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--server", is_flag=True, help="FOLDER is the server's: a certificate, and the team's file.")
@click.option(
    "--host", "hosts", multiple=True, metavar="HOST", help="Of --server: a name or address that nodes reach it by."
)
@click.option("--model", default=None, metavar="MODEL", help="Of --server: the one model that every node must have.")
@click.option(
    "--encoder",
    type=click.Choice(["auto", "minilm", "hashing"]),
    default="auto",
    show_default=True,
    help="Of --server: what all code their texts with.",
)
@click.option(
    "--node", default="", metavar="NAME", help="FOLDER is that of the node NAME: keys to sign and to connect with."
)
@click.option(
    "--domain", "domains", multiple=True, help="Of --node: its problems are of this domain (default: of every)."
)
@click.option(
    "--team",
    type=click.IntRange(1, MOST_TRIED_OUT),
    metavar="N",
    help="FOLDER gets a server and N nodes of one team, to try it on one machine.",
)
@json_option
def keys(
    folder: Path,
    server: bool,
    hosts: tuple[str, ...],
    model: str | None,
    encoder: str,
    node: str,
    domains: tuple[str, ...],
    team: int | None,
    as_json: bool,
) -> None:
    """Make the keys of a server, of a node, or of a whole team on one machine, in FOLDER.

    Private keys are for their owner alone and are never printed. A node gives its member.json to the server's operator,
    who gives back team.json and ca.pem. What is there already stays.

    \b
      gym federate keys server --server --host gym.example.org
      gym federate keys mine --node berlin --domain support
      gym federate keys try --team 3
    """
    if sum(map(bool, (server, node, team))) != 1:
        raise click.UsageError("give one of --server, --node NAME and --team N")
    if model is not None and len(model) > NODE_CHARACTERS:
        raise ConfigError(f"--model: the name of a model has at most {NODE_CHARACTERS} characters")
    rules = Team(encoder=encoder_name(resolved(encoder)), model=model)  # type: ignore[arg-type]
    folders = [folder / name for name in ("server", *_names(team))] if team else [folder]
    _check_place(folder)
    kept = [path for path in folders if kind_of(path)]
    if node:
        NodeHome.create(folder, node, domains)
        then = f"give {folder / CARD} to the server's operator: gym federate join SERVER {CARD}"
    elif server:
        ServerHome.create(folder, (*hosts, *LOOPBACK), rules)
        then = f"now each node gives you its {CARD}: gym federate join {folder} {CARD}"
    else:
        then = _team(folder, _names(team), rules)
    if as_json:
        print_json({"folders": [str(path) for path in folders], "kept": [str(path) for path in kept]})
        return
    for path in folders:
        console.print(f"{'kept the keys' if path in kept else 'keys'} in {path}", markup=False)
    console.print(then, markup=False)


def _check_place(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{str(folder)!r} is no place for a folder: {error.strerror or error}") from error


def _names(nodes: int | None) -> tuple[str, ...]:
    return tuple(f"n{place}" for place in range(1, (nodes or 0) + 1))


def _team(folder: Path, names: Sequence[str], rules: Team) -> str:
    """Makes what is not there yet; what comes next."""
    server = ServerHome.create(folder / "server", LOOPBACK, rules)
    before, first = server.team.addresses, len(server.board.rounds())
    homes = [NodeHome.create(folder / name, name) for name in names]
    for home in homes:
        server.join(home.card)
    for home in homes:
        server.invite(home)
    new = [name for name in names if name not in before]
    joined = (
        f"{', '.join(new)} of {len(server.team.cards)} members is new, from round {first} on; "
        if before and new
        else ""
    )
    return (
        f"{joined}now release what may leave (gym federate preview {folder / names[0]} LIBRARY --domain DOMAIN --release), "
        f"then gym federate server {server.path}"
    )


@click.command()
@click.argument("server", type=click.Path(path_type=Path))
@click.argument("cards", nargs=-1, required=True, metavar="MEMBER.JSON…", type=click.Path(path_type=Path))
@json_option
def join(server: Path, cards: tuple[Path, ...], as_json: bool) -> None:
    """Make nodes members of the team whose server's folder is SERVER, from their MEMBER.JSON files.

    They can connect at once, check the rounds before them, and take part from the next round on. Put the new team.json
    into every node's folder, where running nodes find it, and ca.pem into those of the new ones.
    """
    home, joined = ServerHome.open(server), list[str]()
    for card in dict.fromkeys(cards):
        read = read_value(Card, card / CARD if card.is_dir() else card, "a node makes it with gym federate keys --node")
        team, joined = home.join(read), [*joined, read.member.address]
    if as_json:
        print_json({"members": list(team.addresses)})
        return
    console.print(f"{count(len(team.cards), 'member')}: {', '.join(team.addresses)}", markup=False)
    first = {name: team.since.get(name, 0) for name in joined}
    told = "; ".join(f"{name} takes part from round {number} on" for name, number in first.items())
    console.print(
        f"{told}. Now put {server / TEAM} into every node's folder (running nodes find it), and {server / AUTHORITY} "
        f"into that of {', '.join(joined)}",
        markup=False,
    )


@click.command()
@click.argument("node", type=click.Path(path_type=Path))
@click.argument("id")
@json_option
def remove(node: Path, id: str, as_json: bool) -> None:
    """Ask, from the next round on, that the published experience ID leaves again; two thirds of the members must.

    ID is as `gym federate status NODE` shows it.
    """
    home = NodeHome.open(node)
    library: dict[str, Any] = {entry.id: entry for entry in History(home.board).library()}
    if id not in library:
        raise ConfigError(f"nothing published has the id {id!r}: gym federate status {node} lists what there is")
    home.ask_removal(text_digest(library[id].text))
    if as_json:
        print_json({"asked": [id]})
    else:
        console.print(f"from the next round on, {home.card.member.address} asks that {id} leaves", markup=False)
