"""A text that too few say is told with its reason, and can be put to another vote."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from gym.cli.main import gym
from gym.core.network import Compressed
from gym.errors import ConfigError
from gym.federated import bitdelta
from gym.federated.alone import batch, unsupported
from gym.federated.boards import FolderBoard, MemoryBoard
from gym.federated.carrier import Direct
from gym.federated.coordinator import Coordinator
from gym.federated.history import History
from gym.federated.homes import NodeHome
from tests.federated.house import Topical
from tests.federated.teams import FOUR, node_of, team_of

OWN = "When the moon is full, look twice."
UNITS = "When adding units, {} says check."


class Registry:
    """Another network: it keeps what it is offered."""

    def __init__(self) -> None:
        self.offered: dict[str, Compressed] = {}

    def submit_experiences(self, batch: Mapping[str, Compressed]) -> Sequence[str]:
        self.offered |= batch
        return [f"proposal-{place}" for place in range(len(batch))]

    def fetch_accepted_experiences(self) -> Sequence[object]:
        return ()


REGISTRY = Registry()


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """The folder of a node that says one thing with all others, and one alone."""
    home, team = NodeHome.create(tmp_path / "n00", "n00"), team_of(FOUR)
    boards = {name: FolderBoard(home.path / "rounds") if name == "n00" else MemoryBoard() for name in FOUR}
    said = {name: [UNITS.format(name)] + [OWN] * (name == "n00") for name in FOUR}
    nodes = {name: node_of(name, team, boards[name], *said[name]) for name in FOUR}
    Coordinator(team, MemoryBoard(), Direct(nodes)).play(1)
    return home.path


def test_only_what_found_no_support_is_alone(played: Path) -> None:
    board = FolderBoard(played / "rounds")
    (found,) = unsupported(board, History(board).decisions(), "n00")
    assert (found.text, found.round, found.reason) == (OWN, 0, "supported by 1 node, 2 needed")
    assert unsupported(board, History(board).decisions(), "n01") == ()
    (offered,) = batch([found]).values()
    code = bitdelta.encode(Topical()([OWN]))[0]
    assert (offered["text"], offered["signs"]) == (OWN, code[:48].tobytes())
    assert offered["scale"] == pytest.approx(float(bitdelta.scales(code[None])[0]))


def test_all_that_a_node_says_of_a_topic_alone_is_listed() -> None:
    team, boards = team_of(FOUR), {name: MemoryBoard() for name in FOUR}
    others = ["When it is dark, call.", "When it is dark, wait."]
    said = {name: [UNITS.format(name)] + others * (name == "n00") for name in FOUR}
    nodes = {name: node_of(name, team, boards[name], *said[name]) for name in FOUR}
    decisions = Coordinator(team, MemoryBoard(), Direct(nodes)).play(1)
    assert sorted(one.text for one in unsupported(boards["n00"], decisions, "n00")) == others


def test_it_is_listed_and_proposed_to_another_network(played: Path) -> None:
    listed = json.loads(CliRunner().invoke(gym, ["federate", "propose", str(played), "--json"]).stdout)
    (row,) = listed["texts"]
    assert (row["text"], listed["proposed"]) == (OWN, [])
    words = ["federate", "propose", str(played), "--network", f"{__name__}:REGISTRY", "--only", row["id"]]
    done = CliRunner().invoke(gym, words)
    assert done.exit_code == 0, done.exception
    assert "proposed: proposal-0" in done.stderr
    assert [one["text"] for one in REGISTRY.offered.values()] == [OWN]


def test_a_wrong_id_or_network_is_one_line(played: Path) -> None:
    done = CliRunner().invoke(gym, ["federate", "propose", str(played), "--only", "12345678"])
    assert isinstance(done.exception, ConfigError)
    assert "not among what found no support: 12345678" in str(done.exception)
    done = CliRunner().invoke(gym, ["federate", "propose", str(played), "--network", "json:decoder"])
    assert isinstance(done.exception, ConfigError)
    assert "it has no submit_experiences" in str(done.exception)


def test_a_network_that_is_none_is_an_error_also_where_nothing_is_to_be_proposed(tmp_path: Path) -> None:
    home = NodeHome.create(tmp_path / "n00", "n00")
    done = CliRunner().invoke(gym, ["federate", "propose", str(home.path), "--network", "nope"])
    assert isinstance(done.exception, ConfigError)
    assert "network 'nope': give it as pkg.mod:NAME" in str(done.exception)
