"""`gym dao demo`: one command, an experience's whole life."""

from pathlib import Path
from typing import Any

from tests.dao.terminal import Terminal

LESSON = "[G0]. When a sum is long, split it."


def test_the_demo_plays_a_whole_life(community: Any, tmp_path: Path) -> None:
    told = Terminal(tmp_path, "", None).done("demo")
    libraries = [scene["facts"]["library"] for scene in told["scenes"] if "library" in scene["facts"]]
    assert libraries == [LESSON, "", LESSON, "", LESSON]
    assert [scene["day"] for scene in told["scenes"]] == [0, 0, 0, 3, 8, 8, 22, 22, 32, 32]
    accepted = told["scenes"][4]["facts"]
    assert "looks like an injected instruction" in accepted["refused"][0]
    assert told["seconds"] <= 60


def test_a_missing_anvil_is_one_line(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("gym.dao.local_node.PACKAGES", tmp_path)
    found = Terminal(tmp_path, "", None).gym("demo", PATH="")
    assert (found.code, "no anvil (of Foundry): in a checkout run `npm ci --prefix contracts`" in found.line) == (
        2,
        True,
    )
