"""A TRL row is a problem: its prompt, its reference answer, and columns for whoever scores it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gym.core.problem import Problem
from gym.core.prompting import solve_messages
from gym.core.value import digest
from gym.errors import DataError

Row = Mapping[str, Any]
GOLD_COLUMNS = ("ground_truth", "answer", "solution", "label")
"""Where a reference answer stands, the first that is there."""


class Key(NamedTuple):
    """What tells a row from those of other sets too."""

    id: str
    query: str


class Rows(NamedTuple):
    """A data set as problems."""

    problems: Mapping[str, Problem]
    """By id, in the set's order; rows that say the same are one."""
    rows: Mapping[Key, Row]
    instructions: str
    """The system turn that all prompts begin with; empty: none."""

    @classmethod
    def read(cls, dataset: Iterable[Row]) -> "Rows":
        """Raises `DataError` for prompts of several turns, or with different system turns."""
        found: dict[str, Row] = {}
        for row in dataset:
            if found.setdefault(name := problem_id(row), row) is not row and found[name]["prompt"] != row["prompt"]:
                raise DataError(f"two rows with different prompts have the id {name!r}")
        opened = {_turns(row["prompt"])[0] for row in found.values()}
        if len(opened) > 1:
            raise DataError(
                "the training-free mode puts one system turn and the library before every question, but the rows have "
                f"{len(opened)} different ones: move what differs into the question"
            )
        problems = {name: problem(row) for name, row in found.items()}
        rows = {Key(name, problems[name].query): row for name, row in found.items()}
        return cls(problems, rows, next(iter(opened), ""))

    def of(self, rows: Iterable[Row]) -> tuple[Problem, ...]:
        """The problems of a batch, each once: a group is drawn here, not by repeating its row."""
        return tuple(self.problems[name] for name in dict.fromkeys(map(problem_id, rows)))


def problem(row: Row) -> Problem:
    """The problem of one row."""
    gold = next((row[name] for name in GOLD_COLUMNS if row.get(name) is not None), None)
    return Problem(
        id=problem_id(row),
        query=_turns(row["prompt"])[1],
        ground_truth=None if gold is None else str(gold),
        domain="trl",
    )


def problem_id(row: Row) -> str:
    """The row's own id, else a digest of its prompt."""
    own = row.get("id")
    return f"p-{digest(row['prompt'])[:12]}" if own is None else str(own)


def as_row(item: Problem, instructions: str = "") -> dict[str, Any]:
    """The row of a problem, its prompt laid out as everywhere else."""
    turns = [{"role": turn.role, "content": turn.content} for turn in solve_messages(item.query, None, instructions)]
    return {"prompt": turns, "id": item.id, "ground_truth": item.ground_truth}


def said(completion: Any) -> str:
    """The text of a completion as TRL passes it: a string, or the turns of a conversation."""
    return completion if isinstance(completion, str) else str(completion[-1]["content"])


def like(prompt: Any, text: str) -> Any:
    """The text as a completion of the prompt's kind."""
    return text if isinstance(prompt, str) else [{"role": "assistant", "content": text}]


def _turns(prompt: str | Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The system turn, "" without one, and the question."""
    if isinstance(prompt, str):
        return "", prompt
    match [(turn["role"], turn["content"]) for turn in prompt]:
        case [("user", str(question))]:
            return "", question
        case [("system", str(system)), ("user", str(question))]:
            return system, question
        case other:
            roles = [role for role, _ in other]
            raise DataError(
                f"the training-free mode takes prompts of one question, a system turn before it or not: {roles}"
            )
