"""`gym dao` on a real chain, typed as people type it: an experience's whole life, and one clear line for what goes wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from gym.core.experience import Library
from gym.dao.content import Content
from gym.dao.deployment import Deployment
from gym.dao.local_node import local_node
from gym.dao.rehearsal import COOLDOWN, DAY, GYM, QUARANTINE, REVIEW, VOTE
from tests.dao.terminal import Terminal, private_key

LESSON, BETTER = "When a sum is long, split it.", "When a sum is long, split it in two."
ONE, TWO = Content.of(LESSON, domain="math"), Content.of(BETTER, domain="math")
PROPOSER, VOTERS, GUARDIAN, STRANGER, NEWCOMER = 1, range(3, 8), 8, 10, 11


@pytest.fixture
def terminal(community: Any, tmp_path: Path) -> Terminal:
    """A folder of somebody's, with the rehearsed community's deployment file."""
    return Terminal(tmp_path, community.node.url, Deployment.of(community.contracts, 1))


def settle(community: Any) -> None:
    """Two blocks on top: what happened is final."""
    community.node.ask("anvil_mine", 3)


def passes(community: Any, terminal: Terminal, proposal: str, *, support: str = "for") -> str:
    """All voters vote alike, and somebody finalizes; the state that leads to."""
    community.node.travel(REVIEW + 1)
    for voter in VOTERS:
        terminal.done("vote", proposal, support, by=voter)
    community.node.travel(VOTE + 1)
    state: str = terminal.done("finalize", proposal, by=STRANGER)["state"]
    settle(community)
    return state


def test_an_experience_lives_by_commands_alone(community: Any, terminal: Terminal) -> None:
    made = terminal.done("propose", LESSON, "--domain", "math", by=PROPOSER)
    assert made["experiences"] == [{"cid": ONE.cid, "text": LESSON, "domain": "math"}]
    looked = terminal.gym("status", made["proposal"][:6])
    assert f"proposal {made['proposal'][:10]}: addition, in review" in looked.out
    assert f"  + {ONE.cid}" in looked.out
    assert passes(community, terminal, ONE.cid) == "executed"
    assert terminal.done("sync")["experiences"][0]["text"] == LESSON
    replaced = terminal.done("propose", BETTER, "--domain", "math", "--replaces", "G0", "--reason", "clearer", by=PROPOSER)
    assert terminal.done("status")["proposals"][0]["reason"] == "clearer"
    assert passes(community, terminal, replaced["proposal"]) == "executed"
    assert [(one["id"], one["text"]) for one in terminal.done("sync")["experiences"]] == [("G1", BETTER)]
    assert terminal.done("remove", "G1", "--disable", by=GUARDIAN)["disabled"] == TWO.cid
    settle(community)
    assert terminal.done("sync")["experiences"] == []
    early = terminal.gym("finalize", TWO.cid, "--reinstate", "--yes", by=STRANGER)
    assert (early.code, early.line.startswith(f"gym: refused: {TWO.cid} stays in quarantine until ")) == (6, True)
    community.node.travel(QUARANTINE + 1)
    terminal.done("finalize", TWO.cid, "--reinstate", by=STRANGER)
    gone = terminal.done("remove", TWO.cid, "--reason", "worse by 4 points", by=PROPOSER)
    assert passes(community, terminal, gone["proposal"]) == "executed"
    changes = terminal.done("history")["changes"]
    assert [change["cause"] for change in changes] == ["vote", "vote", "quarantine", "reinstatement", "vote"]
    assert [change["proposal"] for change in changes] == [
        made["proposal"], replaced["proposal"], "", "", gone["proposal"],
    ]  # fmt: skip
    assert terminal.done("sync")["experiences"] == []
