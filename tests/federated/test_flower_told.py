"""Flower's logs in plain words, and what a server tells of its nodes and rounds."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from gym.cli.federate_node import patiently
from gym.cli.federate_serve import Seen
from gym.cli.main import gym
from gym.errors import ConfigError
from gym.federated.flower.processes import Child
from gym.federated.flower.told import News
from gym.federated.homes import NodeHome

ENDED = """\x1b[91mERROR \x1b[0m:     Exit Code: 305
Failed to initialize the connection to the SuperLink.
{}
The SuperNode could not establish a connection to the SuperLink.
INFO:     Finished server process [24617]
"""
REASONS = {
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate": "another server",
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch, certificate is not valid": "--host",
    "[code: 2004] Failed to activate SuperNode.": "have its operator run gym federate join SERVER member.json",
}


@pytest.mark.parametrize("said", REASONS)
def test_why_a_connection_ended_is_told_in_our_words(tmp_path: Path, said: str) -> None:
    log = tmp_path / "supernode.log"
    log.write_text(ENDED.format(said), encoding="utf-8")
    told = Child(None, log).last_words()  # type: ignore[arg-type]
    assert REASONS[said] in told
    assert "Exit Code" not in told
    assert "code: 2004" not in told


def test_what_we_have_no_words_for_is_told_as_it_stands(tmp_path: Path) -> None:
    log = tmp_path / "supernode.log"
    log.write_text(ENDED.format("Something new."), encoding="utf-8")
    assert Child(None, log).last_words() == "Failed to initialize the connection to the SuperLink."  # type: ignore[arg-type]


def test_a_node_tells_once_that_nobody_answers_that_it_is_connected_and_that_the_server_went_and_came(
    tmp_path: Path,
) -> None:
    log = tmp_path / "supernode.log"
    news, told = News(log, "a:1"), list[str]()
    failed, there, back = "Connection attempt failed, retrying", "SuperNode ID: 7", "Connection successful after 2 s"
    for text in (
        f"{failed}\n{failed}\n",
        "Conn",
        "ection successful\n",
        f"{there}\n",
        f"{failed}\n{failed}\n",
        f"{back}\n",
    ):
        with log.open("a", encoding="utf-8") as file:
            file.write(text)
        told += news.fresh()
    assert told == [
        "no answer from a:1 yet, trying again",
        "connected to a:1",
        "the server is gone, trying again",
        "the server is back",
    ]


def test_a_node_that_waits_says_once_why() -> None:
    told: list[str] = []
    wait = patiently("no answer yet", told.append)
    wait(0)
    wait(0)
    assert told == ["no answer yet"]


def test_a_server_tells_who_comes_and_goes_and_which_round_begins() -> None:
    before, now = Seen(frozenset({"a", "b"}), 1), Seen(frozenset({"b", "c"}), 2)
    assert [*now.since(before)] == ["c is connected", "a is gone", "round 1 begins"]
    assert [*now.since(now)] == []


@pytest.mark.parametrize("server", ["127.0.0.1", "127.0.0.1:abc", ":9092", "a:0", "a:70000"])
def test_what_is_no_address_of_a_server(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from gym.federated import flower

    monkeypatch.setattr(flower, "require_flower", lambda: None)
    home = NodeHome.create(tmp_path / "n", "n")
    done = CliRunner().invoke(gym, ["federate", "node", str(home.path), "--server", server, "--data", "x"])
    assert isinstance(done.exception, ConfigError)
    assert "is no HOST:PORT, such as gym.example.org:9092" in str(done.exception)
