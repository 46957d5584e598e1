"""What the three stages leave behind (arXiv:2510.08191 §3.2), as written to the run directory."""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import Field

from gym.core.experience import Operation, Rejected
from gym.core.problem import Failure, Problem
from gym.core.value import Value


class Summary(Value):
    """Stage 1: what one rollout did, step by step."""

    problem_id: str
    index: int
    text: str
    reward: float | None
    outcome: str
    output: str
    feedback: str = ""
    failure: Failure | None = None
    """Set when no summary came back; `text` is then the shortened output itself."""


class Studied(NamedTuple):
    """A group as a critique sees it beside the one it is about."""

    problem: Problem
    summaries: Sequence[Summary]


class Critique(Value):
    """Stage 2: the semantic advantage of one group, as proposed operations."""

    problem_id: str
    operations: tuple[Operation, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    """Proposals that could not be read or exceed `max_operations`."""
    reasoning: str = ""
    failure: Failure | None = None


class BatchUpdate(Value):
    """Stage 3: from a step's critiques to operations on the library, and what became of each."""

    proposed: tuple[Operation, ...] = ()
    consolidated: tuple[Operation, ...] = ()
    accepted: tuple[Operation, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = Field(default=())
