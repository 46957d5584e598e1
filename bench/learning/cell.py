"""One cell of the bench: a family's problems of one seed, where its files are, and what one method made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from bench.learning.settings import Scale
from bench.tasks.family import Family, Splits, line
from gym.core.experience import Library
from gym.core.value import Value, digest
from gym.files import write_atomic


class Cost(NamedTuple):
    """What learning took; the held-out answers are in nobody's bill."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Both kinds."""
        return self.prompt_tokens + self.completion_tokens

    def plus(self, other: "Cost") -> "Cost":
        """The sum."""
        return Cost(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def covers(self, budget: "Cost") -> bool:
        """Whether it has reached `budget` in calls and in tokens."""
        return self.calls >= budget.calls and self.tokens >= budget.tokens


class Learned(NamedTuple):
    """What a method would put in front of every problem, and what finding it took."""

    instructions: str
    library: Library = Library()
    cost: Cost = Cost()


class Outcome(Value):
    """The finished work of one method in one cell: one JSON file."""

    family: str
    seed: int
    method: str
    inputs: str
    """Digest of all that decides the result; a file with another one is done again."""
    instructions: str
    experiences: tuple[str, ...]
    cost: Cost
    seconds: float
    """Of learning and of the held-out answers, as far as they were not in the record already."""
    rewards: Mapping[str, tuple[float, ...]]
    """Held-out problem -> reward of each scored answer."""
    failed: int
    """Held-out answers that broke in the world."""
    measured: str = ""
    """When, and on what machine."""


@dataclass(frozen=True)
class Cell:
    """A family and a seed at one scale, below `root`."""

    family: Family
    seed: int
    scale: Scale
    root: Path

    @property
    def folder(self) -> Path:
        """Where everything of it is."""
        return self.root / self.scale.name / self.family.name / f"seed-{self.seed}"

    @cached_property
    def splits(self) -> Splits:
        """Its problems."""
        return self.family.splits(self.seed, self.scale.sizes)

    @cached_property
    def digest(self) -> str:
        """Of everything but the method: problems, room for an answer, answers to each."""
        problems = [[problem.id, problem.query, problem.ground_truth] for part in self.splits for problem in part]
        return digest([problems, self.family.max_tokens, self.scale.held_out_k])

    def file(self, part: str) -> Path:
        """The problems of a part as JSONL, written when they are not there as they should be."""
        path = self.folder / f"{part}.jsonl"
        text = "".join(f"{line(problem)}\n" for problem in getattr(self.splits, part))
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_atomic(path, text)
        return path

    def outcome(self, method: str, inputs: str) -> Outcome | None:
        """What is there already, if it was made from the same inputs."""
        path = self.folder / f"{method}.json"
        try:
            found = Outcome.model_validate_json(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValidationError):
            return None
        return found if found.inputs == inputs else None

    def keep(self, outcome: Outcome) -> None:
        """Write it down."""
        write_atomic(self.folder / f"{outcome.method}.json", outcome.model_dump_json(indent=1))


def cells(families: Sequence[Family], seeds: Sequence[int], scale: Scale, root: Path) -> list[Cell]:
    """Every cell, a whole seed of all families before the next one, so that an unfinished table is balanced."""
    return [Cell(family, seed, scale, root) for seed in seeds for family in families]
