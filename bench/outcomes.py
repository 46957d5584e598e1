"""What became of every rollout of a training step, compared with what the mock server's book says of its calls."""

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.plan import Plan
from bench.processes import Book
from gym.core.rollout import Rollout
from gym.llm.call_log import CallLog
from gym.train.grpo.rollout_manager import rollout_seed


class Outcomes(NamedTuple):
    """The rollouts of a step, each in one of the first four lists, by problem id and index."""

    right: Sequence[str]
    """Answered and graded as the reply deserves, or failed after every attempt that was allowed."""
    lost: Sequence[str]
    """Not in rollout.jsonl at all."""
    graded_without_answer: Sequence[str]
    """Scored though the server never answered: an outage taken for a wrong answer."""
    wrong: Sequence[str]
    """Any other difference."""
    failed: Sequence[str]
    """Those that failed, whether rightly or not."""

    @property
    def total(self) -> int:
        """All that there should be."""
        return len(self.right) + len(self.lost) + len(self.graded_without_answer) + len(self.wrong)


def rollouts(run: Path) -> list[Rollout]:
    """What the first step of a run wrote."""
    text = (run / "epoch_0" / "step_0" / "rollout.jsonl").read_text(encoding="utf-8")
    return [Rollout.model_validate(json.loads(line)) for line in text.splitlines()]


def identity(problem: int, index: int) -> str:
    """How the server knows the calls of one rollout of the first epoch of a run with seed 0."""
    return f"solve/{problem}/{rollout_seed(0, 0, f'p{problem}', index)}"


def outcomes(run: Path, book: Book, plan: Plan, *, problems: int, answers: int, attempts: int) -> Outcomes:
    """Every rollout of the run's first step, judged by the book."""
    found = {(rollout.problem.id, rollout.index): rollout for rollout in rollouts(run)}
    kinds: dict[str, list[str]] = {"right": [], "lost": [], "graded": [], "wrong": [], "failed": []}
    for problem in range(problems):
        for index in range(answers):
            name, rollout = f"p{problem}/{index}", found.get((f"p{problem}", index))
            kinds[_kind(rollout, identity(problem, index), book, plan, attempts)].append(name)
            if rollout is not None and rollout.outcome == "failed":
                kinds["failed"].append(name)
    return Outcomes(kinds["right"], kinds["lost"], kinds["graded"], kinds["wrong"], kinds["failed"])


def _kind(rollout: Rollout | None, name: str, book: Book, plan: Plan, attempts: int) -> str:
    requests, answered, _ = book.calls.get(name, (0, 0, []))
    if rollout is None:
        return "lost"
    if answered:
        deserved = float(plan.is_right(int(name.rpartition("/")[2])))
        return "right" if rollout.outcome == "answered" and rollout.reward == deserved else "wrong"
    if rollout.outcome != "failed":
        return "graded"
    return "right" if requests >= attempts else "wrong"


class Logged(NamedTuple):
    """A run's call log."""

    answered: int
    failed: int
    keys: frozenset[str]
    """Of the calls that were answered."""

    @property
    def lines(self) -> int:
        """Attempts recorded."""
        return self.answered + self.failed


def logged(run: Path) -> Logged:
    """What a run's log holds, read from a copy so that nothing of it changes."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(run / "calls.jsonl", folder)
        with CallLog.open(copy) as log:
            calls = [(call.key, call.completion is not None) for call in log]
    answered = [key for key, good in calls if good]
    return Logged(len(answered), len(calls) - len(answered), frozenset(answered))
