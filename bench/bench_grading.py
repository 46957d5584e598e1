"""What grading one answer costs, beside the same work done bare in the same run; and what importing the package costs.

The reference for a symbolic pair is math-verify called in this very process; for the trip to a worker, the standard
library's process pool, which cannot kill.
"""

import asyncio
import operator
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from bench.report import Table
from gym.core.problem import Problem, Trajectory
from gym.train.grpo.rewards import math_verify, resolve_reward
from gym.train.grpo.rewards.workers import Workers

SENTENCE = "The quick brown fox weighs 3 kilograms and runs to the river before it sleeps. "
REPLY = (SENTENCE * 30)[:2_000]
CHECKS = 500
US, MS = 1e6, 1e3


def row(table: Table, what: str, measured: float, reference: float | None, target: float | None, unit: str) -> None:
    """What, measured, reference, target, and whether it is met."""
    table.add(
        what,
        f"{measured:,.3g} {unit}",
        "" if reference is None else f"{reference:,.3g} {unit}",
        "" if target is None else f"<= {target:,.3g} {unit}",
        None if target is None else measured <= target,
    )


async def median(do: Callable[[int], Awaitable[object]], times: int) -> float:
    """Median seconds of one, one after another."""
    taken = []
    for number in range(times):
        began = time.perf_counter()
        await do(number)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


async def verdicts(table: Table, workers: Workers) -> None:
    """Texts, on the event loop."""
    cases = {
        "math, an integer": ("math", rf"{REPLY} \boxed{{42}}", "42", 200.0),
        "exact": ("exact", REPLY, REPLY, 200.0),
        "normalized": ("normalized", REPLY, REPLY, 200.0),
        "numeric": ("numeric", f"{REPLY}\n\nThe answer is 42.", "42", None),
        "json": (
            "json",
            f'{REPLY} {{"label": "fox", "weights": [1, 2, 3]}}',
            '{"label": "fox", "weights": [1, 2, 3]}',
            None,
        ),
    }
    for what, (name, output, gold, target) in cases.items():
        reward, trajectory = resolve_reward(name, workers=workers), Trajectory(messages=(), output=output)
        problem = Problem(id="p", query="", ground_truth=gold)
        (found,) = await reward(problem, [trajectory])
        assert getattr(found, "reward", 0.0) == 1.0, found
        seconds = await median(lambda _, r=reward, p=problem, t=trajectory: r(p, [t]), 300)  # type: ignore[misc]
        row(table, f"{what}, reply of 2,000 characters", US * seconds, None, target, "µs")


async def symbolic(table: Table, workers: Workers) -> None:
    """Pairs that only algebra decides, five new answers to each ground truth, as in a group."""
    reward = resolve_reward("math", workers=workers)

    def pair(number: int) -> tuple[str, str]:
        root, part, zero = number // 5 + 2, number // 5 + 3, number % 5
        return rf"\frac{{\sqrt{{{root}}}}}{{{part}}} + x", rf"x + \sqrt{{{root}}}/{part} + {zero} - {zero}"

    async def ours(number: int) -> None:
        gold, answer = pair(number)
        problem = Problem(id="p", query="", ground_truth=gold)
        (found,) = await reward(problem, [Trajectory(messages=(), output=rf"{REPLY} \boxed{{{answer}}}")])
        assert getattr(found, "reward", 0.0) == 1.0, found

    async def bare(number: int) -> None:
        assert math_verify.equality(*pair(number)) == "equal"

    await ours(1_000)
    await bare(1_000)
    row(
        table,
        "math, a symbolic pair through a worker",
        MS * await median(ours, 60),
        MS * await median(bare, 60),
        6.0,
        "ms",
    )


async def trips(table: Table, workers: Workers) -> None:
    """The way to a worker and back."""
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(workers.count, mp_context=get_context("spawn")) as pool:

        def bare(number: int) -> Awaitable[object]:
            return loop.run_in_executor(pool, operator.add, number, 1)

        def ours(number: int) -> Awaitable[object]:
            return workers.call(operator.add, number, 1)

        async def at_once(do: Callable[[int], Awaitable[object]]) -> None:
            assert await asyncio.gather(*map(do, range(CHECKS))) == list(range(1, CHECKS + 1))

        await at_once(bare)
        await at_once(ours)
        row(
            table, "a trip to a worker and back", US * await median(ours, 500), US * await median(bare, 500), None, "µs"
        )
        here, there = await median(lambda _: at_once(ours), 5), await median(lambda _: at_once(bare), 5)
        row(table, f"{CHECKS} instant checks at once, 2 workers", MS * here, MS * there, None, "ms")


def cpu(statement: str) -> float:
    """CPU seconds of a fresh interpreter that runs the statement; the least of five."""
    code = f"import resource\n{statement}\nu = resource.getrusage(resource.RUSAGE_SELF)\nprint(u.ru_utime + u.ru_stime)"
    runs = (subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5))
    return min(float(done.stdout) for done in runs)


async def all_of_it(table: Table) -> None:
    """Every measurement that needs workers."""
    with Workers(2, limit_s=10.0) as workers:
        await verdicts(table, workers)
        await symbolic(table, workers)
        await trips(table, workers)


def main() -> int:
    """Everything, in one table."""
    table = Table("bench_grading", "Grading one answer: medians, and what importing costs")
    asyncio.run(all_of_it(table))
    bare = cpu("pass")
    row(table, "import gym.train.grpo, CPU", cpu("import gym.train.grpo"), bare, 0.5, "s")
    row(
        table,
        "from gym.train.grpo import *, CPU",
        cpu("from gym.train.grpo import *"),
        cpu("import aiohttp, pydantic"),
        0.5,
        "s",
    )
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
