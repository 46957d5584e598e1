"""`gym federate keys|join|preview|remove`: who takes part, and what leaves a node."""

from pathlib import Path
from typing import Any

import click

from gym.cli.common import console, json_option, print_json
from gym.core.text import count
from gym.embedding.encoders import encoder_name, resolved
from gym.errors import ConfigError
from gym.federated.certificates import AUTHORITY
from gym.federated.history import History
from gym.federated.homes import NodeHome, ServerHome
from gym.federated.messages import text_digest
from gym.federated.redaction import Consent, Preview
from gym.federated.redaction import preview as previewed
from gym.federated.round import NODE_CHARACTERS
from gym.federated.team import CARD, TEAM, Card, Team, read_value

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
    type=click.IntRange(min=1),
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
    if node:
        made: list[Path] = [NodeHome.create(folder, node, domains).path]
    elif server:
        made = [ServerHome.create(folder, (*hosts, *LOOPBACK), rules).path]
    else:
        made = _team(folder, team or 0, rules)
    if as_json:
        print_json({"folders": [str(path) for path in made]})
        return
    for path in made:
        console.print(f"keys in {path}", markup=False)
    if node:
        console.print(f"give {folder / CARD} to the server's operator: gym federate join SERVER {CARD}", markup=False)


def _team(folder: Path, nodes: int, rules: Team) -> list[Path]:
    server = ServerHome.create(folder / "server", LOOPBACK, rules)
    homes = [NodeHome.create(folder / f"n{place}", f"n{place}") for place in range(1, nodes + 1)]
    for home in homes:
        server.join(home.card)
    for home in homes:
        server.invite(home)
    return [server.path, *(home.path for home in homes)]


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
    for card in cards:
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
@click.argument("library", type=click.Path(path_type=Path))
@click.option("--domain", "domains", multiple=True, help="Opted in. Experiences without a domain: --domain ''.")
@click.option(
    "--name", "names", multiple=True, help="A word to take out wherever it stands: a person, a customer, a project."
)
@click.option(
    "--min-confidence", type=click.FloatRange(0, 1), default=0.7, show_default=True, help="Of what may leave."
)
@click.option("--release", is_flag=True, help="Let go just what is shown, in every round from now on.")
@json_option
def preview(
    node: Path,
    library: Path,
    domains: tuple[str, ...],
    names: tuple[str, ...],
    min_confidence: float,
    release: bool,
    as_json: bool,
) -> None:
    """Show what of LIBRARY would leave the node in folder NODE: redacted, of the domains that are opted in.

    Nothing leaves that was not shown here and released. A new release takes the place of the last one.

    \b
      gym federate preview mine experiences.json --domain support --name Acme
      gym federate preview mine experiences.json --domain support --name Acme --release
    """
    from gym.train.grpo.experience_manager import read_library

    home, consent = NodeHome.open(node), Consent(domains=frozenset(domains), names=names, min_confidence=min_confidence)
    address, entries = home.card.member.address, read_library(library)
    seen = home.release(entries, consent) if release else previewed(entries, consent)
    if as_json:
        print_json({"node": address, "released": release, **seen.model_dump(mode="json")})
    else:
        _show(seen, address, release)


def _show(seen: Preview, node: str, release: bool) -> None:
    from gym.cli.tables import literal, out

    for row in seen.rows:
        if row.sent is None:
            out.print(f"stays    {row.id}: {row.reason}", markup=False)
        else:
            found = f"  (taken out: {', '.join(row.found)})" if row.found else ""
            out.print(f"leaves   {row.id}: {literal(row.sent)}{found}", markup=False)
    told = f"{count(len(seen.sent), 'experience')} of {len(seen.rows)}"
    console.print(
        f"{told} {'leave' if release else 'would leave'} {node}" + ("" if release else ": --release"), markup=False
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
