"""Confidence comes from evidence (SPEC 2.8)."""

import pytest

from gym.core.experience import Evidence, Experience, Library, Use, initial_confidence, updated_confidence


@pytest.mark.parametrize(
    ("separation", "rollouts", "confidence"),
    [(0.0, 0, 0.5), (1.0, 4, 0.75), (0.5, 12, 0.5), (0.0, 4, 0.25), (9.0, 4, 0.75)],
)
def test_it_starts_from_the_separation_with_a_count_prior(separation: float, rollouts: int, confidence: float) -> None:
    assert initial_confidence(Evidence(separation=separation, rollouts=rollouts)) == confidence


def test_a_perfectly_separated_group_of_five_passes_the_network_filter() -> None:
    assert initial_confidence(Evidence(separation=1.0, rollouts=5)) > 0.7


def test_it_moves_with_measured_use() -> None:
    entry = Experience(id="G0", text="x")
    assert updated_confidence(entry, helpful=4, harmful=0) == 0.75
    assert updated_confidence(entry, helpful=0, harmful=4) == 0.25
    assert updated_confidence(entry, helpful=0, harmful=0) == 0.5


def test_counting_uses_at_once_or_in_steps_gives_the_same() -> None:
    library = Library.from_json('["When x, y."]')
    once = library.credit({"G0": Use(uses=9, helpful=6, harmful=2)})
    steps = library.credit({"G0": Use(uses=4, helpful=1, harmful=2)}).credit({"G0": Use(uses=5, helpful=5)})
    assert once.entries[0].confidence == pytest.approx(steps.entries[0].confidence)
    assert (steps.entries[0].uses, steps.entries[0].helpful, steps.entries[0].harmful) == (9, 6, 2)


def test_crediting_an_unknown_id_changes_nothing() -> None:
    library = Library.from_json('["When x, y."]')
    assert library.credit({"G7": Use(uses=1)}) == library
