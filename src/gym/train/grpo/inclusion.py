"""Randomised inclusion: each training rollout is shown each experience with a known chance, so effects can be measured.

Whether an entry is shown is a digest of its place (run seed, epoch, problem, index, id): a resumed run asks the same, and
nothing but chance decides, so that rollouts with and without an entry differ in nothing else on average. An entry whose
95 % interval lies above 0 is proven and always shown: what would be learned by leaving it out is known, and every answer
without it is worse. `gym.train.grpo.credit` reads the outcome.
"""

import hashlib
from dataclasses import dataclass

from gym.core.experience import Experience, Library
from gym.core.problem import Problem
from gym.train.grpo.rollout_manager import Choose, everything


@dataclass(frozen=True)
class Inclusion:
    """A `Choose` that shows each unproven entry of what `of` chose with chance `probability`."""

    probability: float
    seed: int
    of: Choose = everything
    trial: bool = False
    """The newest entry is on trial: it is always shown, and the others as they were to the rollouts it is compared with."""

    def __call__(self, library: Library, problem: Problem, index: int, epoch: int) -> Library:
        """The part of `library` for one rollout."""
        given = self.of(library, problem, index, epoch)
        place = f"{self.seed}/{epoch}/{problem.id}/{index}"
        tried = library.ids[-1:] if self.trial else ()
        kept = {
            entry.id
            for entry in given
            if proven(entry) or entry.id in tried or draw(place, entry.id) < self.probability
        }
        return given.only(kept)


def proven(entry: Experience) -> bool:
    """Whether an entry's measured effect surely lies above 0."""
    return entry.effect is not None and entry.effect.low > 0


def draw(place: str, id: str) -> float:
    """A number in [0, 1) that is a function of a rollout's place and an entry's id."""
    text = f"{place}/{id}"
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()[:8]) / 2**64
