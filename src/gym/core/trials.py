"""The rollouts of a step as an experiment: who was shown which experience, and what came of it (`credit.json`)."""

from collections.abc import Mapping, Sequence

from gym.core.experience import Library
from gym.core.rollout import Group
from gym.core.value import Value


class Trial(Value):
    """One group as an experiment."""

    problem: str
    shown: tuple[tuple[str, ...], ...]
    """Ids that each scored rollout was shown."""
    rewards: tuple[float, ...]


class Trials(Value):
    """The groups of one step, and the texts its ids stood for."""

    texts: Mapping[str, str]
    groups: tuple[Trial, ...]

    @classmethod
    def of(cls, groups: Sequence[Group], library: Library) -> "Trials":
        """What `groups` say of the entries of `library`, which they were rolled out under."""
        found = (
            Trial(problem=g.problem.id, shown=tuple(each.shown for each in g.scored), rewards=g.rewards) for g in groups
        )
        return cls(texts={entry.id: entry.text for entry in library}, groups=tuple(found))
