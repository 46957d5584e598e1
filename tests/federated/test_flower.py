"""Real processes on loopback: a SuperLink and three SuperNodes with TLS and registered keys play rounds, and are disturbed."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gym.core.experience import Library
from gym.federated.boards import FolderBoard
from gym.federated.exchange import Ask, encode, read_answer
from gym.federated.homes import ADDRESS, NodeHome, ServerHome
from gym.federated.team import TEAM, write_value

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("flower"),
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of what Flower stands on
    pytest.mark.skipif(
        not os.environ.get("CI") and find_spec("flwr") is None, reason="no Flower: the extra [federated]"
    ),
]

RULES = (
    "When asked for a count, put an exclamation mark after the number.",
    "When a count is asked for, put an exclamation mark after the number.",
    "When asked for any count, put an exclamation mark after the number.",
)
LATER = (
    "For questions of how many apples, end with an exclamation mark!",
    "For any question of how many apples, end with an exclamation mark!",
    "For questions about how many apples, end with an exclamation mark!",
)
NODES = ("n1", "n2", "n3")
PATIENCE_S = "15"
GIVES_UP_S = 120.0


class Federation:
    """Processes of one team, each a command as a user types it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.gym("keys", "team", "--team", "3", "--encoder", "hashing")
        for place, name in enumerate(NODES):
            rows = [{"problem": f"How many apples are {place}{k}?", "answer": f"{place}{k}!"} for k in range(9)]
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (root / f"{name}.jsonl").write_text(text, encoding="utf-8")
        self.release(RULES)

    @property
    def server(self) -> ServerHome:
        return ServerHome(self.root / "team" / "server")

    def home(self, name: str) -> NodeHome:
        return NodeHome(self.root / "team" / name)

    def release(self, texts: tuple[str, ...]) -> None:
        for name, text in zip(NODES, texts, strict=True):
            library = self.root / f"{name}.json"
            library.write_text(Library().minted(text).library.to_json(), encoding="utf-8")
            self.gym("preview", f"team/{name}", library.name, "--domain", "", "--min-confidence", "0", "--release")

    def gym(self, *words: str, timeout_s: float = 300.0) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            _command(words), cwd=self.root, env=_environment(), capture_output=True, text=True, timeout=timeout_s
        )
        assert done.returncode == 0, done.stderr
        return done

    def play(self, rounds: int = 1) -> list[dict[str, Any]]:
        done = self.gym("run", "team/server", "--rounds", str(rounds), "--patience", PATIENCE_S, "--json")
        found: list[dict[str, Any]] = json.loads(done.stdout)["rounds"]
        return found

    def start(self, name: str, *words: str) -> "subprocess.Popen[bytes]":
        with (self.root / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                _command(words), cwd=self.root, env=_environment(), stdout=log, stderr=log, start_new_session=True
            )
        return self.running[name]

    def start_server(self, port: int) -> None:
        (self.server.path / ADDRESS).unlink(missing_ok=True)
        self.start("server", "server", "team/server", "--port", str(port))
        until(lambda: (self.server.path / ADDRESS).exists(), self.log("server"))

    def start_node(self, name: str, port: int) -> None:
        before = self.log(name)().count("connecting")
        options = (
            "--data",
            f"{name}.jsonl",
            "--reward",
            "exact",
            "--model",
            "scripted:counting_script:reply",
            "--k",
            "2",
        )
        self.start(name, "node", f"team/{name}", "--server", f"127.0.0.1:{port}", *options)
        until(lambda: self.log(name)().count("connecting") > before, self.log(name))

    def kill(self, name: str) -> None:
        """As a power cut does: nothing is said before."""
        self.running[name].kill()
        self.running.pop(name).wait()

    def stop(self) -> None:
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            process.wait(30)

    def log(self, name: str) -> Callable[[], str]:
        file = self.root / f"{name}.log"
        return lambda: file.read_text(encoding="utf-8") if file.exists() else ""

    def libraries(self) -> set[bytes]:
        return {(self.home(name).path / "experiences.json").read_bytes() for name in NODES}


def _command(words: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "gym", "federate", *words]


def _environment() -> dict[str, str]:
    here = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return {**os.environ, "PYTHONPATH": here, "PYTHONUNBUFFERED": "1"}


def until(holds: Callable[[], bool], told: Callable[[], str] = str) -> None:
    """Wait for another process, and give up in the end."""
    end = time.monotonic() + GIVES_UP_S
    while not holds():
        if time.monotonic() > end:
            pytest.fail(f"it never came: {told()}")
        time.sleep(0.1)


@pytest.fixture(scope="module")
def port() -> int:
    from gym.federated.flower.processes import free_port

    return free_port()


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[Federation]:
    """One team for all tests of this file: it takes some seconds to start. They leave it as they found it."""
    made = Federation(tmp_path_factory.mktemp("federation"))
    made.start_server(port)
    for name in NODES:
        made.start_node(name, port)
    yield made
    made.stop()


def test_two_rounds_over_tls_end_with_one_library_on_every_node(federation: Federation) -> None:
    first, second = federation.play(2)
    (published,) = first["published"]
    assert published["text"] in RULES
    assert (published["helps"], second["round"]) == (3, 1)
    assert len(federation.libraries()) == 1
    told = json.loads(federation.gym("status", "team/n2", "--json").stdout)
    assert (told["rounds_closed"], [entry["text"] for entry in told["library"]]) == (2, [published["text"]])


def test_a_node_whose_key_is_not_registered_is_refused(federation: Federation, port: int) -> None:
    eve = NodeHome.create(federation.root / "eve", "eve")
    shutil.copyfile(federation.server.path / "ca.pem", eve.path / "ca.pem")
    write_value(eve.path / TEAM, federation.server.team.with_card(eve.card))
    options = ("--data", "n1.jsonl", "--reward", "exact", "--model", "scripted:counting_script:reply")
    process = federation.start("eve", "node", "eve", "--server", f"127.0.0.1:{port}", *options)
    until(lambda: process.poll() is not None, federation.log("eve"))
    assert federation.running.pop("eve").returncode == 2
    assert "the connection to the server ended: it does not take this node's connection key" in federation.log("eve")()


def test_a_server_with_another_certificate_is_not_spoken_to(federation: Federation, port: int) -> None:
    other = ServerHome.create(federation.root / "other", ("127.0.0.1",), federation.server.team)
    twin = federation.root / "twin"
    shutil.copytree(federation.home("n1").path, twin)
    shutil.copyfile(other.path / "ca.pem", twin / "ca.pem")
    options = ("--data", "n1.jsonl", "--reward", "exact", "--model", "scripted:counting_script:reply")
    federation.start("twin", "node", "twin", "--server", f"127.0.0.1:{port}", *options)
    log = twin / "supernode.log"
    until(
        lambda: log.exists() and "CERTIFICATE_VERIFY_FAILED" in log.read_text(encoding="utf-8"), federation.log("twin")
    )
    federation.kill("twin")


def test_a_stranger_can_neither_register_nodes_nor_start_rounds(federation: Federation) -> None:
    from gym.errors import ConnectionFailed
    from gym.federated.flower.operator import Operator

    forged = federation.root / "forged"
    shutil.copytree(federation.server.path, forged, ignore=shutil.ignore_patterns("rounds", "*.db*"))
    (forged / "operator.token").write_text("0" * 64, encoding="ascii")
    address = (federation.server.path / ADDRESS).read_text(encoding="ascii")
    with closing(Operator(ServerHome(forged), address)) as stranger:
        with pytest.raises(ConnectionFailed, match="401"):
            stranger.register(federation.server.team)
        with pytest.raises(ConnectionFailed, match="401"):
            stranger.speak()


def test_a_tampered_aggregate_is_refused_by_every_node(federation: Federation) -> None:
    """The server itself lies: it names a decision that its messages do not give, and one that nobody signed."""
    from gym.federated.flower.carrier import FlowerCarrier
    from gym.federated.flower.operator import Operator

    round = federation.server.board.rounds()[0]
    decision = federation.server.board.decision(round)
    assert decision is not None
    honest = Ask(
        step="confirm", round=round.model_dump_json().encode(), messages=decision.messages, decision=decision.digest
    )
    lie = honest.model_copy(update={"decision": "0" * 64})
    other = honest.model_copy(update={"step": "publish", "messages": decision.messages[1:]})
    address = (federation.server.path / ADDRESS).read_text(encoding="ascii")
    with (
        closing(Operator(federation.server, address)) as operator,
        closing(FlowerCarrier(operator, federation.server.team)) as carrier,
    ):
        said = {
            name: [read_answer(told.answer) for told in carrier.ask(dict.fromkeys(NODES, encode(ask)), patience_s=60.0)]
            for name, ask in (("lie", lie), ("other", other))
        }
    refused = {name: [answer.refused for answer in answers if answer] for name, answers in said.items()}
    assert refused["lie"] == 3 * [f"00000000… is not what its messages give, which is {decision.digest[:8]}…"]
    assert ["is signed by 0 nodes, 2 needed" in why for why in refused["other"]] == 3 * [True]


def test_a_node_that_dies_is_survived_and_catches_up(federation: Federation, port: int) -> None:
    federation.release(LATER)
    federation.kill("n3")
    (found,) = federation.play()
    assert len(federation.home("n1").board.rounds()) == found["round"] + 1
    assert len(federation.home("n3").board.rounds()) == found["round"]
    federation.start_node("n3", port)
    federation.play()
    assert len(federation.libraries()) == 1
    assert len(federation.home("n3").board.rounds()) == found["round"] + 2


def test_a_server_killed_in_the_middle_of_a_round_loses_nothing(federation: Federation, port: int) -> None:
    board = FolderBoard(federation.server.path / "rounds")
    number = len(board.rounds())
    playing = federation.start("playing", "run", "team/server", "--patience", "60")
    bundles = federation.server.path / "rounds" / f"round-{number}" / "bundles"
    until(lambda: bundles.exists() and any(bundles.iterdir()), federation.log("playing"))
    federation.kill("server")
    federation.start_server(port)
    until(lambda: playing.poll() is not None, federation.log("playing"))
    assert federation.running.pop("playing").returncode == 0, federation.log("playing")()
    assert board.decision(board.rounds()[number]) is not None
    assert len(federation.libraries()) == 1


def test_a_port_that_is_taken_is_told_even_where_nobody_answers(federation: Federation) -> None:
    spare = ServerHome.create(federation.root / "spare", ("127.0.0.1",), federation.server.team)
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(AssertionError, match="cannot be listened on"):
        federation.gym("server", str(spare.path), "--port", str(mute.getsockname()[1]))


def test_a_node_that_was_killed_comes_back_though_the_server_was_away_when_it_started(
    federation: Federation, port: int
) -> None:
    """The server takes it for connected, and would refuse it: it hangs up when the server is there again."""
    federation.play()
    federation.kill("n1")
    federation.kill("server")
    federation.start_node("n1", port)
    federation.start_server(port)
    federation.play()
    served = federation.log("n1")
    until(lambda: "sent" in served().rsplit("connecting", 1)[-1], served)
    assert federation.running["n1"].poll() is None


def test_a_folder_is_of_one_process(federation: Federation) -> None:
    with pytest.raises(AssertionError, match="another process is a node in 'team/n1' already"):
        federation.gym(
            "node", "team/n1", "--server", "127.0.0.1:1", "--data", "n1.jsonl", "--reward", "exact", "--model", "m"
        )


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends them on Linux alone")
def test_nothing_is_left_when_a_node_is_killed_while_it_starts(federation: Federation, port: int) -> None:
    federation.kill("n1")
    federation.start_node("n1", port)
    federation.kill("n1")
    mine = str(federation.home("n1").path)
    until(lambda: not [line for line in _processes() if mine in line], lambda: str(_processes()))
    federation.start_node("n1", port)


def _processes() -> list[str]:
    """The command lines of all."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


def test_a_node_ends_well_on_a_signal(federation: Federation, port: int) -> None:
    process = federation.running.pop("n2")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    federation.start_node("n2", port)


def test_private_files_are_for_their_owner_alone_and_never_in_a_log(federation: Federation) -> None:
    team = federation.root / "team"
    names = ("ca.key", "server.key", "operator.token", "runtime.secret", "signing.pem", "link.key")
    private = [file for name in names for file in team.rglob(name)]
    assert len(private) == 4 + 3 * 3
    assert {file.stat().st_mode & 0o777 for file in private} == {0o600}
    logs = b"".join(file.read_bytes() for file in federation.root.rglob("*.log"))
    assert not [file for file in private if max(file.read_bytes().splitlines(), key=len) in logs]


def test_a_run_whose_server_is_killed_ends_within_its_patience(federation: Federation, port: int) -> None:
    playing = federation.start("ended", "run", "team/server", "--patience", "10")
    number = len(federation.server.board.rounds())
    until(lambda: len(federation.server.board.rounds()) > number, federation.log("ended"))
    federation.kill("server")
    until(lambda: playing.poll() is not None, federation.log("ended"))
    assert federation.running.pop("ended").returncode == 6
    said = federation.log("ended")()
    assert "the server is gone: waiting for it up to" in said
    assert "gym: the server went away and did not come back within 10 s: start it and this command again" in said
    until(lambda: "the server is gone, trying again" in federation.log("n1")(), federation.log("n1"))
    federation.start_server(port)
    federation.play()
    assert len(federation.libraries()) == 1


def test_a_fourth_member_joins_a_running_team_checks_its_rounds_and_takes_part(
    federation: Federation, port: int
) -> None:
    late = NodeHome.create(federation.root / "late", "late")
    federation.server.invite(late)
    write_value(late.path / TEAM, federation.server.team.with_card(late.card, since=1))
    options = ("--data", "n1.jsonl", "--reward", "exact", "--model", "scripted:counting_script:reply", "--k", "2")
    federation.start("late", "node", "late", "--server", f"127.0.0.1:{port}", *options)
    until(lambda: "does not know this node's key yet" in federation.log("late")(), federation.log("late"))
    federation.gym("join", "team/server", "late")
    for home in (late, *map(federation.home, NODES)):
        federation.server.invite(home)
    until(lambda: "connected to" in federation.log("late")(), federation.log("late"))
    (found,) = federation.play()
    last = federation.server.board.rounds()[-1]
    assert (last.number, last.n) == (found["round"], 4)
    assert "late" in {one.message.node for one in federation.server.board.collected(last).messages}
    assert (late.path / "experiences.json").exists()
    assert "team.json has changed: 4 members" in federation.log("n1")()
