"""`gym federate server|run`: the carrier, and the rounds that are played over it."""

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

import click

from gym.cli.common import console, json_option, print_json
from gym.cli.federate_told import outcome, said, show
from gym.cli.progress import steps
from gym.core.text import count
from gym.errors import ConfigError
from gym.federated.coordinator import Coordinator
from gym.federated.homes import ADDRESS, ServerHome, alone
from gym.federated.team import Team
from gym.files import write_atomic

if TYPE_CHECKING:
    from gym.federated.flower.operator import Operator
    from gym.federated.flower.processes import Child

PORT = 9092
STARTS_S = 60.0
LOOK_S = 1.0
GRACE_S = 10.0
"""How long rounds wait for a server that was started beside them."""
LONGEST_S = 7 * 86_400


@click.command()
@click.argument("folder", metavar="SERVER", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="Port to listen on.")
@json_option
def server(folder: Path, host: str, port: int, as_json: bool) -> None:
    """Carry the messages of the team in folder SERVER, with TLS, for registered keys alone, until it is stopped.

    It decides nothing: `gym federate run` plays rounds over it, and every node computes each decision again. Members that
    join while it runs can connect at once. It can be stopped at any time and started again.
    """
    from gym.federated.flower import require_flower

    require_flower()
    home = ServerHome.open(folder)
    from gym.federated.flower.operator import Operator
    from gym.federated.flower.processes import superlink

    _check_free(host, port)
    team, address = home.team, f"{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}"
    with (
        alone(folder, "server"),
        closing(Operator(home, address)) as operator,
        stop_signal() as stopped,
        superlink(folder.absolute(), host, port) as child,
    ):
        (home.path / ADDRESS).unlink(missing_ok=True)
        _until_answers(operator, child, stopped)
        operator.register(team)
        write_atomic(home.path / ADDRESS, address)
        if as_json:
            print_json({"address": address, "members": list(team.addresses)})
        console.print(
            f"{count(len(team.cards), 'member')} may connect to {address}; rounds: gym federate run {folder}",
            markup=False,
        )
        _serve(home, operator, child, stopped)


def _check_free(host: str, port: int) -> None:
    """Raises `ConfigError` where nobody can listen: another program there might answer nothing for ever."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise ConfigError(f"{host} port {port} cannot be listened on: {error.strerror or error}") from error


def _until_answers(operator: "Operator", child: "Child", stopped: threading.Event) -> None:
    for _ in range(int(STARTS_S / LOOK_S)):
        if operator.answers() or stopped.is_set():
            return
        if child.ended:
            break
        stopped.wait(LOOK_S)
    raise ConfigError(f"the server does not start: {child.last_words()} (its log: {child.log})")


def _serve(home: ServerHome, operator: "Operator", child: "Child", stopped: threading.Event) -> None:
    """Until it is stopped; who joins meanwhile is registered."""
    team, seen = home.team, Seen(rounds=len(home.board.rounds()))
    while not stopped.wait(LOOK_S):
        if child.ended:
            raise ConfigError(f"the server ended: {child.last_words()} (its log: {child.log})")
        if home.team != team:
            operator.register(team := home.team)
            console.print(f"{count(len(team.cards), 'member')} may connect", markup=False)
        now = Seen(operator.online(), len(home.board.rounds()))
        for line in now.since(seen):
            said(line)
        seen = now
    console.print("stopped: nodes wait for it to be back", markup=False)


class Seen(NamedTuple):
    """Who is connected to a server and how many rounds have begun, at one moment."""

    online: frozenset[str] = frozenset()
    rounds: int = 0

    def since(self, before: "Seen") -> Iterator[str]:
        """What has changed."""
        yield from (f"{name} is connected" for name in sorted(self.online - before.online))
        yield from (f"{name} is gone" for name in sorted(before.online - self.online))
        yield from (f"round {number} begins" for number in range(before.rounds, self.rounds))


@click.command()
@click.argument("folder", metavar="SERVER", type=click.Path(path_type=Path))
@click.option("--rounds", type=click.IntRange(min=1), default=1, show_default=True, help="How many to play.")
@click.option(
    "--patience", type=click.FloatRange(1, LONGEST_S), default=600.0, show_default=True,
    help="Seconds that the slowest node may take for one step, measuring above all.",
)  # fmt: skip
@json_option
def run(folder: Path, rounds: int, patience: float, as_json: bool) -> None:
    """Play rounds over the running server of folder SERVER: share, align, measure, publish.

    A round that was left open is played to its end first. Stopped at any time, the same command continues. A round is over
    when two thirds of the members have signed that they come to the same decision.

    \b
      gym federate run server --rounds 2
      gym federate explain server/rounds/round-0
    """
    from gym.federated.flower import require_flower

    require_flower()
    home = ServerHome.open(folder)
    from gym.federated.flower.carrier import FlowerCarrier
    from gym.federated.flower.operator import Operator

    address = _address(home, GRACE_S)
    with (
        alone(folder, "player"),
        closing(Operator(home, address)) as operator,
        closing(FlowerCarrier(operator, home.team, say=said)) as carrier,
        steps() as progress,
    ):

        def renewed() -> Team:
            carrier.meet(home.team)
            return carrier.team

        server = Coordinator(
            home.team, home.board, carrier, patience_s=patience, say=said, progress=progress, renewed=renewed
        )
        decisions = server.play(rounds)
    if as_json:
        print_json({"rounds": [outcome(decision) for decision in decisions], "libraries": server.libraries})
    else:
        show(decisions, home.board.path)


def _address(home: ServerHome, patience_s: float) -> str:
    """Where the server listens; one that is starting is waited for."""
    end, file, told = time.monotonic() + patience_s, home.path / ADDRESS, False
    while not file.exists():
        if time.monotonic() > end:
            raise ConfigError(f"the server of {str(home.path)!r} is not running: gym federate server {home.path}")
        if not told:
            told = True
            said(f"waiting up to {patience_s:.0f} s for the server of {home.path} to be up")
        time.sleep(0.2)
    return file.read_text(encoding="ascii").strip()


@contextmanager
def stop_signal(on_stop: Callable[[], None] = lambda: None) -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set while inside, beside doing `on_stop`; the second one interrupts."""
    stopped = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()
        on_stop()

    before = {each: signal.signal(each, on_signal) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
