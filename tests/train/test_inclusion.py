"""Randomised inclusion: chance, a known one, decides which training rollout sees which experience."""

from pathlib import Path

import pytest

from gym.config import RunConfig, load_config
from gym.core.experience import Effect, Experience, Library
from gym.core.problem import Problem
from gym.train.grpo.inclusion import Inclusion
from gym.train.grpo.retrieval import Retrieval, Rule
from gym.train.grpo.session import chosen

PROBLEMS = [Problem(id=f"p{n}", query="q") for n in range(400)]


def library(size: int, **effects: float) -> Library:
    """Entries G0 …; those named have an interval around what is said, 0.1 to each side."""
    found = {
        id: Effect(mean=mean, low=mean - 0.1, high=mean + 0.1, rollouts=99, problems=20) for id, mean in effects.items()
    }
    return Library.of(Experience(id=f"G{n}", text=f"text {n}", effect=found.get(f"G{n}")) for n in range(size))


def shown(choose: Inclusion, known: Library, epoch: int = 0) -> list[tuple[str, ...]]:
    return [choose(known, problem, index, epoch).ids for problem in PROBLEMS for index in range(5)]


def test_each_entry_is_shown_with_the_given_chance_and_independently_of_the_others() -> None:
    drawn = shown(Inclusion(0.7, seed=1), library(3))
    for id in ("G0", "G1", "G2"):
        assert sum(id in ids for ids in drawn) / len(drawn) == pytest.approx(0.7, abs=0.03)
    assert sum({"G0", "G2"} <= set(ids) for ids in drawn) / len(drawn) == pytest.approx(0.49, abs=0.03)


def test_the_draw_depends_on_its_place_alone() -> None:
    first, known = Inclusion(0.5, seed=1), library(4)
    assert shown(first, known) == shown(Inclusion(0.5, seed=1), known)
    assert shown(first, known) != shown(Inclusion(0.5, seed=2), known)
    assert shown(first, known) != shown(first, known, epoch=1)
    fewer = [tuple(id for id in ids if id != "G1") for ids in shown(first, known)]
    assert shown(first, known.only(["G0", "G2", "G3"])) == fewer


def test_what_is_proven_to_help_is_always_shown_and_what_is_not_is_drawn() -> None:
    drawn = shown(Inclusion(0.5, seed=1), library(3, G0=0.2, G1=0.05))
    assert all("G0" in ids for ids in drawn)
    assert any("G1" not in ids for ids in drawn)


def test_it_draws_from_what_another_choice_left() -> None:
    choose = Inclusion(0.5, seed=1, of=lambda known, problem, index, epoch: known.only(["G2"]))
    assert set(shown(choose, library(3))) == {(), ("G2",)}


def test_an_entry_on_trial_is_always_shown() -> None:
    drawn = shown(Inclusion(0.5, seed=1, trial=True), library(3))
    assert all("G2" in ids for ids in drawn)
    assert any("G0" not in ids for ids in drawn)


@pytest.mark.parametrize(
    ("inclusion", "stage", "drawn"),
    [(1.0, "rollout", False), (0.7, "rollout", True), (0.7, "screen", True), (0.7, "evaluate", False)],
)
def test_only_training_draws_and_only_when_asked_to(inclusion: float, stage: str, drawn: bool) -> None:
    config: RunConfig = load_config(None, {"inclusion": inclusion}, environ={})
    retrieval = Retrieval(Rule("all"))
    found = chosen(config, retrieval, stage)
    assert isinstance(found, Inclusion) is drawn
    assert (found.of if isinstance(found, Inclusion) else found) is retrieval


def test_an_effect_is_kept_in_the_file_and_a_file_without_one_is_as_before(tmp_path: Path) -> None:
    known = library(2, G1=-0.2)
    assert Library.from_json(known.to_json()) == known
    assert "effect" not in library(2).to_json()
