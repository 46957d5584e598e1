"""Two nodes with different families, on a scripted model: each gains on the other's, and nothing is paid twice."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.learning.cell import Cell
from bench.learning.settings import scaled
from bench.learning.workplace import Workplace
from bench.tasks import FAMILIES
from bench.two_nodes import changes, learned, measure, play
from gym.embedding.hashing import HashingEmbedder
from gym.errors import RunFailed

SCALE = 0.3


@pytest.fixture
def place() -> Iterator[Workplace]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield Workplace(model="scripted:two_script:reply")


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    return [Cell(FAMILIES[name], 0, scaled(SCALE), tmp_path / "cells") for name in ("csv", "dates")]


def test_each_gains_on_the_others_family_and_loses_nothing_on_its_own(
    place: Workplace, cells: list[Cell], tmp_path: Path
) -> None:
    sides = [learned(place, cell, oracle=True) for cell in cells]
    decision, after = play(place, sides, tmp_path / "round", HashingEmbedder())
    assert {one.domain for one in decision.published} == {"csv", "dates"}
    found = {(change.node, change.family): change for change in changes(place, sides, after)}
    assert {name: found[name].gain.verdict for name in found} == {
        ("csv", "csv"): "no difference", ("csv", "dates"): "gain",
        ("dates", "csv"): "gain", ("dates", "dates"): "no difference",
    }  # fmt: skip


def test_a_round_that_is_done_is_not_played_again(place: Workplace, cells: list[Cell], tmp_path: Path) -> None:
    sides, told = [learned(place, cell, oracle=True) for cell in cells], list[str]()
    first, _ = play(place, sides, tmp_path / "round", HashingEmbedder())
    logs = {file: file.read_bytes() for file in (tmp_path / "round").rglob("calls.jsonl")}
    again, _ = play(replace(place, say=told.append), sides, tmp_path / "round", HashingEmbedder())
    assert (again.digest, told) == (first.digest, [])
    assert len(logs) == 2
    assert {file: file.read_bytes() for file in (tmp_path / "round").rglob("calls.jsonl")} == logs


def test_the_command_ends_well_when_all_targets_are_met(place: Workplace, cells: list[Cell], tmp_path: Path) -> None:
    assert measure(place, cells, tmp_path / "round", HashingEmbedder(), oracle=True) == 0


def test_a_family_in_which_nothing_was_learned_is_said(place: Workplace, cells: list[Cell]) -> None:
    with pytest.raises(RunFailed, match="csv seed 0: nothing was learned there"):
        learned(replace(place, model="scripted:two_script:reply"), cells[0], oracle=False)
