"""How long the event loop is kept waiting while 64 answers are being graded, beside a process that does nothing else.

A coroutine sleeps a millisecond at a time and notes how late it wakes; the reference is the same coroutine in an idle
process during the same seconds, which shows what the machine itself does. Workers start, hang, are killed and replaced.
"""

import asyncio
import multiprocessing
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

from bench import hostile
from bench.report import Table
from gym.collector import rare_collections
from gym.core.problem import Failure, Problem, Reward, Trajectory, Verdict
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.rewards.workers import Workers

LIMIT_S = 0.05
GRADERS = 64
GOLD = r"\sqrt{2} + x^2"
HONEST = (
    r"\boxed{x^2 + \sqrt{2}}",
    r"\boxed{x^2 + \sqrt{3}}",
    "So the answer is x^2.",
    r"\boxed{\frac{x^3}{x} + 2^{1/2}}",
)


def stuck(output: str) -> float:
    """A reward of a user's that never ends on some answers."""
    while output == "hang":
        pass
    return 1.0


class Delay(NamedTuple):
    """How late a wake-up came, when, and how much of it this thread's own work took."""

    at: float
    seconds: float
    cpu: float


class Span(NamedTuple):
    """From when to when."""

    began: float
    ended: float


async def watch(delays: list[Delay]) -> None:
    """Note every wake-up's delay, for ever."""
    while True:
        began, worked = time.perf_counter(), time.thread_time()
        await asyncio.sleep(0.001)
        delays.append(Delay(began, time.perf_counter() - began - 0.001, time.thread_time() - worked))


def idle(pipe: Connection) -> None:
    """The reference: the same watch in a process of its own until the pipe says stop; its delays come back."""

    async def until_told() -> list[Delay]:
        delays: list[Delay] = []
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(watch(delays))
            await asyncio.to_thread(pipe.recv)
            watching.cancel()
        return delays

    pipe.send("ready")
    pipe.send(asyncio.run(until_told()))


async def graded(reward: Reward, outputs: Sequence[str], gold: str) -> list[Verdict | Failure]:
    """All outputs at once, each its own group."""
    problem = Problem(id="p", query="", ground_truth=gold)
    answers = [[Trajectory(messages=(), output=output)] for output in outputs]
    return [found[0] for found in await asyncio.gather(*(reward(problem, answer) for answer in answers))]


Work = Mapping[str, tuple[Reward, Sequence[str], str]]
"""Phase -> reward, outputs, ground truth."""


def work(workers: Workers) -> Work:
    """What is graded, phase after phase."""
    each = {
        name: resolve_reward(name, workers=workers)
        for name in ("math", "bench.bench_stalls:stuck", "numeric", "json", "normalized")
    }
    texts = [item.output for item in hostile.HOSTILE]
    return {
        "workers start": (each["math"], HONEST[:2], GOLD),
        "64 symbolic answers": (each["math"], HONEST * (GRADERS // len(HONEST)), GOLD),
        "60 hostile answers": (each["math"], texts, hostile.GOLD),
        "64 of a user's reward, 8 hang": (
            each["bench.bench_stalls:stuck"],
            ["hang", *["fine"] * 7] * (GRADERS // 8),
            GOLD,
        ),
        "60 hostile texts, numeric": (each["numeric"], texts, "7"),
        "60 hostile texts, json": (each["json"], texts, "[7]"),
        "60 hostile texts, normalized": (each["normalized"], texts, "7"),
    }


async def measured(phases: Work) -> tuple[dict[str, Span], list[Delay]]:
    """When each phase was, and the delays of this loop meanwhile."""
    delays: list[Delay] = []
    spans = {}
    watching = asyncio.create_task(watch(delays))
    for name, (reward, outputs, gold) in phases.items():
        began = time.perf_counter()
        await graded(reward, outputs, gold)
        spans[name] = Span(began, time.perf_counter())
    watching.cancel()
    return spans, delays


def within(delays: Sequence[Delay], span: Span) -> Sequence[Delay]:
    """Those that began within the span."""
    return [delay for delay in delays if span.began <= delay.at <= span.ended]


def main() -> int:
    """The longest delay of each phase, here and in the idle process."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=idle, args=(there,), daemon=True)
    process.start()
    here.recv()
    with Workers(2, limit_s=0.5) as workers, rare_collections():
        spans, delays = asyncio.run(measured(work(workers)))
    here.send("stop")
    reference = here.recv()
    table = Table("bench_stalls", "The longest stall of the event loop while answers are graded")
    for name, span in spans.items():
        ours = within(delays, span)
        stall, work_s = max(delay.seconds for delay in ours), max(delay.cpu for delay in ours)
        beside = max(delay.seconds for delay in within(reference, span))
        told = f"{1e3 * stall:.0f} ms ({1e3 * work_s:.0f} ms its own work)"
        table.add(name, told, f"idle process {1e3 * beside:.0f} ms", f"<= {1e3 * LIMIT_S:.0f} ms", stall <= LIMIT_S)
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
