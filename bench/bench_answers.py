"""How often the math reward is right: references against themselves in four dressings, near misses, cases, hostile replies.

The sets lie beside the checkout, in shared/data; without them there are only the hostile replies.
"""

import asyncio
import json
import sys
from collections.abc import Iterable

from bench import hostile
from bench.references import DRESSINGS, SHARED, near_misses, references
from bench.report import Table, share
from gym.core.problem import Problem, Trajectory
from gym.train.grpo.rewards.grading import Counts, Grade
from gym.train.grpo.rewards.math import MathReward
from gym.train.grpo.rewards.workers import Workers

LEAST = 0.995
LEAST_CASES = 98


async def grades(reward: MathReward, pairs: Iterable[tuple[str, str, str]]) -> list[Grade]:
    """Of (ground truth, question, reply), in order."""
    return await asyncio.gather(
        *(
            reward.grade(Problem(id="p", query=question, ground_truth=gold), Trajectory(messages=(), output=output))
            for gold, question, output in pairs
        )
    )


async def against_references(table: Table, reward: MathReward) -> None:
    """Right answers in every dressing, and wrong ones that are near."""
    found, rules = references(), Counts()
    for name, dressing in DRESSINGS.items():
        graded = await grades(reward, ((item.answer, item.question, dressing % item.answer) for item in found))
        for grade in graded:
            rules.add(grade)
        part = sum(grade.result == "correct" for grade in graded) / len(found)
        table.add(f"{len(found):,} references, {name}", share(part), "", f">= {share(LEAST)}", part >= LEAST)
    misses = list(near_misses(found))
    pairs = ((miss.reference.answer, miss.reference.question, rf"\boxed{{{miss.answer}}}") for miss in misses)
    accepted = sum(grade.result == "correct" for grade in await grades(reward, pairs))
    table.add(f"{len(misses):,} near misses", f"{accepted} accepted", "", "0", accepted == 0)
    print(f"  {rules}")


async def against_cases(table: Table, reward: MathReward) -> None:
    """The cases with a known result."""
    cases = [json.loads(line) for line in (SHARED / "grader_cases.jsonl").read_text(encoding="utf-8").splitlines()]
    found = await grades(reward, ((case["gold"], "", case["response"]) for case in cases))
    correct = [grade.result == "correct" for grade in found]
    right = sum(got == case["expected"] for got, case in zip(correct, cases, strict=True))
    false = sum(got and not case["expected"] for got, case in zip(correct, cases, strict=True))
    table.add(f"{len(cases)} cases", f"{right} right", "", f">= {LEAST_CASES}", right >= LEAST_CASES)
    table.add("of these, wrongly accepted", str(false), "", "0", false == 0)


async def against_hostile(table: Table) -> None:
    """Replies that must not hang."""
    with Workers(2, limit_s=hostile.LIMIT_S) as workers:
        pairs = ((hostile.GOLD, "", item.output) for item in hostile.HOSTILE)
        found = await grades(MathReward(workers), pairs)
    right = sum(grade.result in item.results for grade, item in zip(found, hostile.HOSTILE, strict=True))
    count = len(hostile.HOSTILE)
    table.add(f"{count} hostile replies, labelled right", str(right), "", str(count), right == count)


async def all_of_it(table: Table) -> None:
    """Every row."""
    if SHARED.is_dir():
        with Workers(2) as workers:
            reward = MathReward(workers)
            await reward.self_test()
            await against_references(table, reward)
            await against_cases(table, reward)
    await against_hostile(table)


def main() -> int:
    """Print the table."""
    table = Table("bench_answers", "How often the math reward is right")
    asyncio.run(all_of_it(table))
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
