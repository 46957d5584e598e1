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
from gym.train.grpo.descent import joined, parent, voted, votes_of
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

    def known(self, libraries: Sequence[Library]) -> list[Problem]:
        rows = [self._rewards[library.texts[0]] for library in libraries]
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


def pool(count: int) -> list[Snapshot]:
    return [Snapshot(n, Library.of([Experience(id="G0", text=str(n))])) for n in range(count)]


async def test_each_problem_votes_for_the_libraries_that_answer_it_best() -> None:
    assert await votes_of(gate((1, 0, 0.5, 1), (0, 1, 0.5, 1), (0, 0, 0.4, 1)), pool(3)) == pytest.approx(
        [1 + 0.5 + 1 / 3, 1 + 0.5 + 1 / 3, 1 / 3]
    )


async def test_only_problems_that_all_have_answered_count() -> None:
    assert await votes_of(gate((1, 0, None), (0, None, 1)), pool(2)) == [1.0, 0.0]


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
    assert joined(two, Snapshot(7, two[0].library)) == two
    assert len(joined(two[:1], two[1])) == 2


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


@pytest.mark.parametrize("changes", [{"gate": "none"}, {"val": ""}])
def test_a_pool_needs_a_gate(desk: Desk, changes: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="descent: pool"):
        train(desk.config("helps", "no-gate", descent="pool", **changes))
