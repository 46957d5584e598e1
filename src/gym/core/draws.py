"""How the answers of a step were spent, where groups may differ in size and problems may rest."""

from collections.abc import Iterable

from gym.core.value import Value


class Draws(Value):
    """Counts of one step, or of several."""

    groups: int = 0
    stopped: int = 0
    """Groups that were mixed before they had G answers."""
    extended: int = 0
    """Groups that went beyond G answers."""
    again: int = 0
    """Groups of a problem that had one in the same epoch before."""
    resting: int = 0
    """Problems that sat out, once for each epoch."""
    answers: int = 0
    plain: int = 0
    """Answers that G for each problem would have been."""

    @property
    def saved(self) -> int:
        """Answers fewer than that; below 0 when more."""
        return self.plain - self.answers

    @classmethod
    def sum(cls, several: Iterable["Draws"]) -> "Draws":
        """All counts added."""
        found = list(several)
        return cls(**{name: sum(getattr(one, name) for one in found) for name in cls.model_fields})
