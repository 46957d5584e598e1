"""How sure the evidence makes us of an experience, in [0, 1] (SPEC 2.8).

A Beta-style mean with a count prior. A text starts at 0.5, worth `PRIOR_WEIGHT` = 4 observations, and the rollouts of
its group count with the rewards' separation:

    initial = (0.5 · 4 + separation · rollouts) / (4 + rollouts)

so a perfectly separated group of five gives 7/9 ≈ 0.78, and a text without evidence 0.5. Measured use then moves it:

    updated = (confidence · (4 + n) + helpful) / (4 + n + helpful + harmful)

where n is the number of helpful and harmful uses counted before, so that the result does not depend on how uses are
split into steps. New evidence for a changed text counts like that of a first one, with the old confidence for 0.5.
"""

from gym.core.operation import Evidence, Experience

PRIOR = 0.5
PRIOR_WEIGHT = 4


def initial_confidence(evidence: Evidence, prior: float = PRIOR) -> float:
    """Confidence of a text just learned from `evidence`.

    >>> round(initial_confidence(Evidence(separation=1.0, rollouts=5)), 2)
    0.78
    """
    rollouts = max(evidence.rollouts, 0)
    separation = min(max(evidence.separation, 0.0), 1.0)
    return _bounded((prior * PRIOR_WEIGHT + separation * rollouts) / (PRIOR_WEIGHT + rollouts))


def updated_confidence(experience: Experience, helpful: int, harmful: int) -> float:
    """Confidence after `helpful` and `harmful` more uses.

    >>> updated_confidence(Experience(id="G0", text="x"), helpful=4, harmful=0)
    0.75
    """
    weight = PRIOR_WEIGHT + experience.helpful + experience.harmful
    return _bounded((experience.confidence * weight + helpful) / (weight + helpful + harmful))


def _bounded(value: float) -> float:
    return min(max(value, 0.0), 1.0)
