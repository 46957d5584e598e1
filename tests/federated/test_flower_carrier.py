"""The carrier over Flower when the server goes away, or loses an answer: told, waited for, and ended within the patience."""

import os
from collections.abc import Collection, Iterator, Mapping
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest

from gym.errors import ConnectionFailed
from gym.federated.carrier import Answered
from gym.federated.keys import link_key, public_pem
from gym.federated.round import Member
from gym.federated.team import Card, Team
from tests.federated.house import key

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of what Flower stands on
    pytest.mark.skipif(
        not os.environ.get("CI") and find_spec("flwr") is None, reason="no Flower: the extra [federated]"
    ),
]


class Wire:
    """A line on which the first `lost` answers come as Flower's errors do, empty; it breaks at its n-th look when told so."""

    def __init__(self, pem: bytes, *, lost: int = 0, breaks_at: int = 0, absent: int = 0) -> None:
        """For its first `absent` looks nobody is connected."""
        self.pem, self.lost, self.breaks_at, self.absent = pem, lost, breaks_at, absent
        self.sent, self.looks = 0, 0

    def nodes(self) -> Mapping[bytes, Any]:
        import httpx

        self.looks += 1
        if self.looks == self.breaks_at:
            raise httpx.ConnectError("refused")
        return {self.pem: SimpleNamespace(node_id=7, last_activated_at="now")} if self.looks > self.absent else {}

    def send(self, node_id: int, data: bytes, lives_s: float) -> list[str]:
        self.sent += 1
        return [f"message-{self.sent}"]

    def replies(self, sent: Collection[str]) -> Iterator[Any]:
        for to in [*sent]:
            self.lost -= 1
            yield SimpleNamespace(to=to, data=b"" if self.lost >= 0 else b"answer")

    def close(self) -> None:
        return


class Operators:
    """Opens each of these lines once, and is refused after that."""

    def __init__(self, *lines: Wire) -> None:
        self.lines = [*lines]

    def speak(self) -> Wire:
        if not self.lines:
            raise ConnectionFailed("nobody is there")
        return self.lines.pop(0)


@pytest.fixture
def team(tmp_path: Any) -> Team:
    link = link_key(tmp_path / "link.key")
    return Team(cards=(Card(member=Member(address="n1", key=key("n1").public), link=link),))


class Asked:
    """What a carrier answered and said, on a clock that only its waiting moves."""

    def __init__(self, team: Team, operator: Operators) -> None:
        from gym.federated.flower.carrier import FlowerCarrier

        self.now, self.heard = 0.0, list[str]()
        self.carrier = FlowerCarrier(
            operator,  # type: ignore[arg-type]
            team,
            clock=lambda: self.now,
            wait=self._wait,
            say=self.heard.append,
        )

    def _wait(self, seconds: float) -> None:
        self.now += seconds

    def answers(self) -> list[Answered]:
        return [*self.carrier.ask({"n1": b"question"}, patience_s=30.0)]


def test_an_answer_that_flower_lost_is_asked_for_again(team: Team) -> None:
    """Else an honest node would be told to have said something else, and what it had said would be late."""
    wire = Wire(public_pem(team.cards[0].link), lost=2)
    assert Asked(team, Operators(wire)).answers() == [Answered("n1", b"answer")]
    assert wire.sent == 3


def test_a_node_that_answers_nothing_for_ever_is_not_asked_for_ever(team: Team) -> None:
    wire = Wire(public_pem(team.cards[0].link), lost=10_000)
    assert Asked(team, Operators(wire)).answers() == [Answered("n1", b"")]
    assert wire.sent == 21


def test_a_server_that_is_gone_is_told_and_ends_the_run_within_its_patience(team: Team) -> None:
    asked = Asked(team, Operators(Wire(public_pem(team.cards[0].link), breaks_at=1)))
    with pytest.raises(
        ConnectionFailed, match="went away and did not come back within 30 s: start it and this command"
    ):
        asked.answers()
    assert asked.heard == ["  the server is gone: waiting for it up to 30 s"]
    assert asked.now < 31


def test_a_server_that_comes_back_is_told(team: Team) -> None:
    pem = public_pem(team.cards[0].link)
    asked = Asked(team, Operators(Wire(pem, breaks_at=1), Wire(pem)))
    assert asked.answers() == [Answered("n1", b"answer")]
    assert asked.heard[1:] == ["  the server is back"]


def test_a_node_that_is_not_connected_is_named_once_and_heard_when_it_comes(team: Team) -> None:
    asked = Asked(team, Operators(Wire(public_pem(team.cards[0].link), absent=60)))
    assert asked.answers() == [Answered("n1", b"answer")]
    assert asked.heard == ["  not connected: n1"]


def test_flowers_own_retries_are_off_since_they_never_end() -> None:
    """They would keep a call to a killed server for ever, and interrupt this process when its task is forgotten."""
    import httpx
    from flwr.superlink.grid.http_grid import HttpGrid

    from gym.federated.flower.line import Line

    with pytest.raises(httpx.ConnectError):
        Line(HttpGrid("127.0.0.1:1", True, None, token="t"))
