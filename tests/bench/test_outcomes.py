"""The judge of rollouts sees every kind of loss: a bench that could not fail would prove nothing."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.outcomes import Outcomes, identity, outcomes
from bench.plan import Plan
from bench.problems import question
from bench.processes import Book
from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.core.rollout import Rollout

PLAN = Plan(right="always")
ATTEMPTS = 5
FAILURE = Failure(boundary="generate", type="ServerFailed", message="500")


def rollout(reward: float | None) -> Rollout:
    problem = Problem(id="p0", query=question(0), ground_truth="1")
    if reward is None:
        return Rollout(problem=problem, index=0, failure=FAILURE)
    trajectory = Trajectory(messages=(), output="1")
    return Rollout(problem=problem, index=0, trajectory=trajectory, verdict=Verdict(reward=reward))


def judged(tmp_path: Path, written: Sequence[Rollout], requests: int, answered: int) -> Outcomes:
    step = tmp_path / "epoch_0" / "step_0"
    step.mkdir(parents=True)
    lines = "".join(item.model_dump_json() + "\n" for item in written)
    (step / "rollout.jsonl").write_text(lines, encoding="utf-8")
    calls = {identity(0, 0): (requests, answered, ["500"] * (requests - answered))}
    book = Book(requests, answered, 0, 0, 0, 1, {}, 0.0, 1.0, 1.0, 1, 0.0, calls)
    return outcomes(tmp_path, book, PLAN, problems=1, answers=1, attempts=ATTEMPTS)


@pytest.mark.parametrize(
    ("written", "requests", "answered", "kind"),
    [
        ([rollout(1.0)], 1, 1, "right"),
        ([rollout(1.0)], 4, 1, "right"),
        ([rollout(0.0)], 1, 1, "wrong"),
        ([rollout(None)], 1, 1, "wrong"),
        ([rollout(None)], 5, 0, "right"),
        ([rollout(None)], 4, 0, "wrong"),
        ([rollout(0.0)], 5, 0, "graded_without_answer"),
        ([rollout(1.0)], 5, 0, "graded_without_answer"),
        ([], 1, 1, "lost"),
        ([], 0, 0, "lost"),
    ],
)
def test_every_rollout_is_in_exactly_one_list(
    tmp_path: Path, written: list[Rollout], requests: int, answered: int, kind: str
) -> None:
    found = judged(tmp_path, written, requests, answered)
    assert getattr(found, kind) == ["p0/0"]
    assert found.total == 1
    assert found.failed == (["p0/0"] if written and written[0].outcome == "failed" else [])
