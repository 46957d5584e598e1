"""A pool instead of one line of descent: who is drawn, what the journal tells of it, and that a killed run draws the same."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from gym.core.chat import Usage
from gym.core.experience import Experience, Library
from gym.core.journal import Event, replay, verify
from gym.core.problem import Problem
from gym.core.rollout import Tally
from gym.errors import ConfigError
from gym.train.grpo.descent import Pool, parent, voted, votes_of
from gym.train.grpo.gate import Gate
from gym.train.grpo.snapshots import Snapshot
from gym.train.grpo.training_free_workflow import Run, train
from tests.train.test_gate import Desk, desk, journal_of

__all__ = ["desk"]


class Answered:
    """A gate whose libraries have answered problems 0, 1, 2 … with these rewards; None: not yet."""

    seed = 0

    def __init__(self, *rewards: Sequence[float | None]) -> None:
        self._rewards = {str(place): given for place, given in enumerate(rewards)}

    def known(self, libraries: Sequence[Library], *, first: int | None = None) -> list[Problem]:
        rows = [self._rewards[library.texts[0]][:first] for library in libraries]
        whole = [place for place in range(len(rows[0])) if all(row[place] is not None for row in rows)]
        return [Problem(id=str(place), query=str(place)) for place in whole]

    async def answers(self, problems: Sequence[Problem], libraries: Sequence[Library]) -> list[list[Tally]]:
        return [[self._tally(library, problem) for problem in problems] for library in libraries]

    def _tally(self, library: Library, problem: Problem) -> Tally:
        reward = self._rewards[library.texts[0]][int(problem.id)]
        assert reward is not None
        return Tally(problem.id, {}, (reward,), no_answer=0, failed=0, failure=None, tokens=Usage(), tools={})


def gate(*rewards: Sequence[float | None]) -> Gate:
    return cast(Gate, Answered(*rewards))


def pool(count: int, common: int | None = None) -> Pool:
    return Pool(tuple(Snapshot(n, Library.of([Experience(id="G0", text=str(n))])) for n in range(count)), common)


async def test_each_problem_votes_for_the_libraries_that_answer_it_best() -> None:
    assert await votes_of(gate((1, 0, 0.5, 1), (0, 1, 0.5, 1), (0, 0, 0.4, 1)), pool(3)) == pytest.approx(
        [1 + 0.5 + 1 / 3, 1 + 0.5 + 1 / 3, 1 / 3]
    )


async def test_only_problems_that_all_have_answered_count() -> None:
    assert await votes_of(gate((1, 0, None), (0, None, 1)), pool(2)) == [1.0, 0.0]


async def test_an_answer_that_came_after_a_library_was_kept_has_no_vote() -> None:
    assert await votes_of(gate((1, 0, 0), (0, 1, 1)), pool(2, common=2)) == [1.0, 1.0]


def test_a_pool_knows_how_many_problems_all_had_answered_when_they_were_kept() -> None:
    start, one, two = pool(3).snapshots
    assert Pool((start,)).joined(one, 12).joined(two, 6).joined(one, 3) == Pool((start, one, two), 6)


async def test_without_such_a_problem_the_last_is_gone_on_from() -> None:
    assert await votes_of(gate((1, None), (None, 1)), pool(2)) == [0.0, 1.0]
    assert (await parent(gate((1, None), (None, 1)), pool(2), step=5)).step == 1


async def test_a_library_that_is_nowhere_the_best_has_no_children() -> None:
    three = gate((1, 0), (0, 1), (0, 0.5))
    assert [snapshot.step for snapshot in await voted(three, pool(3))] == [0, 1]
    drawn = [(await parent(three, pool(3), step=step)).step for step in range(60)]
    assert set(drawn) == {0, 1}
    assert 15 < sum(step == 0 for step in drawn) < 45


def test_the_same_texts_are_in_the_pool_once() -> None:
    two = pool(2)
    assert two.joined(Snapshot(7, two.snapshots[0].library), 4) == two


@pytest.fixture(scope="module")
def run(desk: Desk) -> Run:
    """Four steps whose one rule does a little harm, and is kept all the same."""
    return desk.run("harms_a_little", name="pool", gate_margin=-1.0, descent="pool", epochs=4)


def turns(folder: Path) -> list[Event]:
    return [event for event in journal_of(folder) if event.option == "restore"]


def test_a_step_from_an_older_library_is_an_event_and_the_journal_replays(run: Run) -> None:
    events = journal_of(run.folder)
    verify(events)
    assert replay(events) == run.library
    assert any(" goes on from " in event.reason for event in turns(run.folder))
    assert len(run.library) == 0


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_run_that_is_killed_draws_the_same(run: Run, desk: Desk, step: int) -> None:
    folder = Path(shutil.copytree(run.folder, run.folder.parent / f"killed-in-{step}"))
    for later in range(step, 4):
        (folder / f"epoch_{later}" / f"step_{later}" / "experiences.json").unlink()
    (folder / "report.json").unlink()
    again = train(desk.config("harms_a_little", folder.name, gate_margin=-1.0, descent="pool", epochs=4))
    assert (folder / "experiences.json").read_bytes() == (run.folder / "experiences.json").read_bytes()
    assert [event.reason for event in turns(folder)] == [event.reason for event in turns(run.folder)]
    assert again.library == run.library


def test_a_new_run_that_has_nothing_but_the_calls_draws_the_same_and_pays_for_none(desk: Desk) -> None:
    settings = {"descent": "pool", "epochs": 3, "batch_size": 2, "eval_k": 2, "gate_error": 0.1, "seed": 7}
    whole = train(desk.config("turns", "whole", **settings))
    new = whole.folder.parent / "from-calls"
    new.mkdir()
    shutil.copyfile(whole.folder / "calls.jsonl", new / "calls.jsonl")
    again = train(desk.config("turns", new.name, **settings))
    assert [event.reason for event in turns(again.folder)] == [event.reason for event in turns(whole.folder)] != []
    assert (again.folder / "calls.jsonl").read_bytes() == (whole.folder / "calls.jsonl").read_bytes()
    assert again.library == whole.library


@pytest.mark.parametrize("changes", [{"gate": "none"}, {"val": ""}])
def test_a_pool_needs_a_gate(desk: Desk, changes: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="descent: pool"):
        train(desk.config("helps", "no-gate", descent="pool", **changes))
