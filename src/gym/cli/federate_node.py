"""`gym federate node|status|pull`: a member takes part, and uses what the federation accepted."""

import time
from collections.abc import Callable
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym.cli.common import config_options, console, json_option, print_json
from gym.cli.eval import OPTIONS
from gym.cli.federate_serve import stop_signal
from gym.cli.progress import Display
from gym.config import load_config
from gym.core.text import count
from gym.errors import ConfigError, Interrupted
from gym.federated.history import History, library_digest
from gym.federated.homes import NodeHome, ServerHome, alone, kind_of
from gym.federated.messages import text_digest
from gym.federated.team import TEAM
from gym.llm.brake import Brake

if TYPE_CHECKING:
    from gym.federated.flower.told import News
    from gym.federated.node import Node

REGISTERS_S = 20.0
"""For so long a node's key may be unknown to a server that is starting, or whose operator is about to let it join."""
HERE = frozenset({"output_dir", "experiment_name", "experience_lib_path"})


@click.command()
@click.argument("folder", metavar="NODE", type=click.Path(path_type=Path))
@click.argument("config_file", metavar="[CONFIG]", required=False, type=click.Path(path_type=Path))
@click.option("--server", required=True, metavar="HOST:PORT", help="Where the team's server is.")
@click.option("--k", "k", type=click.IntRange(min=1), help="Answers to each problem.  [default: 3]")
@click.option(
    "--clip", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Gains sent are clipped to ± this."
)
@click.option(
    "--noise",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Standard deviation of noise on gains.",
)
@click.option("--quiet", is_flag=True, help="No progress.")
@json_option
@config_options("val", *OPTIONS, skip=HERE)
def node(
    folder: Path,
    config_file: Path | None,
    server: str,
    k: int | None,
    clip: float,
    noise: float,
    quiet: bool,
    as_json: bool,
    overrides: dict[str, Any],
) -> None:
    """Take part in rounds as the member in folder NODE, until it is stopped.

    What `gym federate preview --release` let go is shared. Candidates are measured on the validation problems of the
    task (--val, else --data), with --budget-calls as the most calls of one round. Every decision is computed here again; what
    two thirds signed goes to NODE/experiences.json. Code that a server sends is never run. Stopped at any time, the same
    command continues, and says and pays for nothing twice.

    \b
      gym federate node mine task.yaml --server gym.example.org:9092 --budget-calls 2000
    """
    from gym.federated.flower import require_flower

    require_flower()
    from gym.evaluation.gains import Blur
    from gym.train.grpo.participant import open_node

    _check_address(server)
    config = load_config(config_file, overrides | ({"eval_k": k} if k else {}))
    if isnan(clip) or isnan(noise):
        raise ConfigError("--clip and --noise are numbers from 0 to 1")
    home, brake = NodeHome.open(folder), Brake()
    with alone(folder, "node"), Display(quiet=quiet) as display:
        opened = open_node(home, config, watch=display, brake=brake, blur=Blur(clip, noise))
        opened.history.decisions()  # what is damaged here is told now, not when a round begins
        display.say(f"{opened.address} of {count(len(opened.team.cards), 'member')}, connecting to {server}")
        if not home.released.items:
            display.say(
                f"nothing is released, so nothing will be sent: gym federate preview {folder} LIBRARY --release"
            )
        _take_part(home, opened, server, brake, display.say)
    if as_json:
        print_json(_status_of_node(home))


def _check_address(server: str) -> None:
    host, _, port = server.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ConfigError(f"--server {server!r} is no HOST:PORT, such as gym.example.org:9092")


def patiently(why: str, say: Callable[[str], None]) -> Callable[[float], None]:
    """Waits, and says once why."""
    told = list[str]()

    def wait(seconds: float) -> None:
        if not told:
            told.append(why)
            say(why)
        time.sleep(seconds)

    return wait


def _take_part(home: NodeHome, opened: "Node", server: str, brake: Brake, say: Callable[[str], None]) -> None:
    """Until a signal; calls in flight are finished and kept."""
    from gym.federated.carrier import answered
    from gym.federated.certificates import read_authority
    from gym.federated.flower.executor import serve
    from gym.federated.flower.hanging_up import hang_up
    from gym.federated.flower.processes import free_port, supernode
    from gym.federated.flower.told import UNKNOWN_KEY, News
    from gym.federated.keys import RUNTIME, check_link, secret

    read_authority(home.path)
    check_link(home.path, home.card.link)
    port, mine = free_port(), secret(home.path / RUNTIME)
    hang_up(home.path, server, wait=patiently(f"no answer from {server} yet, trying again", say))
    again = patiently(f"the server does not know this node's key yet: trying again for {REGISTERS_S:.0f} s", say)
    told = Interrupted("stopped: what was measured is kept, and the same command continues")
    end = time.monotonic() + REGISTERS_S
    with stop_signal(lambda: brake.pull(told)) as stopped:
        while not stopped.is_set():
            with supernode(home.path.absolute(), server, port) as child:
                heard = partial(_tell, News(child.log, server), say)
                try:
                    serve(child, port, mine, partial(answered, opened), stopped=stopped.is_set, heard=heard)
                except ConfigError:
                    if time.monotonic() > end or child.last_words() != UNKNOWN_KEY:
                        raise
                    again(1.0)


def _tell(news: "News", say: Callable[[str], None]) -> None:
    for line in news.fresh():
        say(line)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def status(folder: Path, as_json: bool) -> None:
    """What is known in FOLDER, a server's or a node's: members, rounds, what is released and what was accepted."""
    if (kind := kind_of(folder)) is None:
        raise ConfigError(f"{str(folder)!r} is the folder of no server and no node: gym federate keys makes one")
    home = NodeHome(folder) if kind == "node" else ServerHome(folder)
    found = _status_of_node(home) if isinstance(home, NodeHome) else _status_of_server(home)
    if as_json:
        print_json(found)
    else:
        _show(found)


def _status_of_server(home: ServerHome) -> dict[str, Any]:
    return {"server": str(home.path), "members": list(home.team.addresses), **_rounds(home)}


def _status_of_node(home: NodeHome) -> dict[str, Any]:
    return {
        "node": home.card.member.address,
        "public_key": home.card.member.key,
        "domains": list(home.card.member.domains),
        "members": list(home.team.addresses) if (home.path / TEAM).exists() else [],
        "released": len(home.released.items),
        "removals_asked": list(home.removals()),
        **_rounds(home),
    }


def _rounds(home: NodeHome | ServerHome) -> dict[str, Any]:
    board = home.board
    rounds, history = board.rounds(), History(board)
    decisions, library = history.decisions(), history.library()
    return {
        "rounds_closed": len(decisions),
        "round_open": rounds[-1].number if len(rounds) > len(decisions) else None,
        "library": [entry.model_dump(mode="json") for entry in library],
        "library_digest": library_digest(library),
    }


def _show(found: dict[str, Any]) -> None:
    from gym.cli.tables import literal, out

    who = f"node {found['node']}, {count(found['released'], 'experience')} released" if "node" in found else "server"
    members = ", ".join(found["members"]) or "none known"
    out.print(f"{literal(who)}; {count(len(found['members']), 'member')}: {literal(members)}", markup=False)
    opened = "" if found["round_open"] is None else f", round {found['round_open']} open"
    library = count(len(found["library"]), "experience")
    out.print(f"{count(found['rounds_closed'], 'round')} closed{opened}; {library} accepted", markup=False)
    for entry in found["library"]:
        asks = text_digest(entry["text"]) in found.get("removals_asked", ())
        asked = "  (this node asks that it leaves)" if asks else ""
        out.print(f"  {entry['id']}  {literal(entry['text'])}{asked}", markup=False)


@click.command()
@click.argument("folder", metavar="NODE", type=click.Path(path_type=Path))
@click.argument("library", type=click.Path(path_type=Path))
@json_option
def pull(folder: Path, library: Path, as_json: bool) -> None:
    """Take what the federation accepted into your own LIBRARY, and let go what it removed again.

    Each text passes the library's own gate; what you had already stays yours, and what you removed does not come back.
    One library can take from several federations.
    """
    from gym.train.grpo.continuous_learning import Fetched, Pulled
    from gym.train.grpo.continuous_learning import pull as pulled
    from gym.train.grpo.experience_manager import ExperienceManager

    home = NodeHome.open(folder)  # another folder would look like one in which everything was removed
    decisions, new = (history := History(home.board)).decisions(), not library.exists()
    manager = ExperienceManager(library)
    source, federation = Fetched(history.library()), next((round.digest for round in home.board.rounds()), "")
    done = pulled(source, manager, name=federation) if decisions else Pulled((), (), ())
    if manager.journal or not new:
        manager.save()
    if as_json:
        refused = [one.reason for one in done.refused]
        print_json({"added": list(done.added), "removed": list(done.removed), "refused": refused})
        return
    for one in done.refused:
        console.print(f"not taken: {one.reason}", markup=False)
    if not decisions:
        console.print(f"no round is closed yet on {home.card.member.address}: there is nothing to take", markup=False)
        return
    told = f"{count(len(done.added), 'experience')} added, {len(done.removed)} removed: {library}"
    made = ", a new file" if library.exists() else ", which is not made for nothing"
    console.print(told + (made if new else ""), markup=False)
