"""Answers that a grader got wrong, and their neighbours: forms that people write, bounds, hedges, remarks, near misses.

`hard_cases.jsonl`, with the verdicts that were written down before anything was graded.
"""

import asyncio
import json
from pathlib import Path

from gym.core.problem import Problem, Trajectory
from gym.train.grpo.rewards.math import MathReward
from gym.train.grpo.rewards.workers import Workers

CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("hard_cases.jsonl").read_text(encoding="utf-8").splitlines()
]  # fmt: skip


async def test_every_hard_case_gets_the_verdict_that_was_written_down_for_it() -> None:
    with Workers(1, limit_s=30.0) as workers:
        reward = MathReward(workers)
        grades = await asyncio.gather(
            *(
                reward.grade(
                    Problem(id="p", query=case.get("question", ""), ground_truth=case["gold"]),
                    Trajectory(messages=(), output=case["response"]),
                )
                for case in CASES
            )
        )
    wrong = [
        (case["gold"], case["response"], grade.result, grade.rule)
        for case, grade in zip(CASES, grades, strict=True)
        if (grade.result == "correct") != case["expected"] or grade.result in ("error", "timeout")
    ]
    assert wrong == []
    assert len(CASES) > 250
