"""What runs in a fresh process, so that CPU and memory are one task's alone: the bare client, and the product.

    python -m bench.client TASK JSON

The last line of output is a JSON object with `cpu_s` (process and its children, imports not counted), `wall_s`,
`rss_mb` (peak) and what the task adds.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp

from bench.cores import CLIENT, pin
from bench.plan import MODEL
from bench.problems import question


def bare(base_url: str, calls: int, in_flight: int) -> dict[str, Any]:
    """aiohttp alone: the same requests and replies, JSON decoded, nothing kept."""

    async def run() -> int:
        numbers, answered = iter(range(calls)), 0
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session:

            async def work() -> None:
                nonlocal answered
                for number in numbers:
                    body = _body(number // 5, seed=number)
                    async with session.post(f"{base_url}/chat/completions", json=body) as response:
                        answered += bool((await response.json())["choices"][0]["message"]["content"])

            async with asyncio.TaskGroup() as group:
                for _ in range(in_flight):
                    group.create_task(work())
        return answered

    return {"answered": asyncio.run(run())}


def evaluate(settings: dict[str, Any]) -> dict[str, Any]:
    """`gym eval` as a function: prompts, parsing, grading, meter, call log."""
    from gym.config import load_config
    from gym.core.experience import Library
    from gym.evaluation.measure import measure
    from gym.llm.blocking import run
    from gym.llm.brake import Brake
    from gym.train.grpo.watch import Silent

    def work() -> dict[str, Any]:
        config = load_config(None, settings, environ={})
        found = run(measure(config, Library(), compare=False, watch=Silent(), brake=Brake()))
        return {
            "mean": found.score.score.mean,
            "failed": found.score.score.failed,
            "answers": found.score.score.n_answers,
        }

    return _measured(work)


def train(settings: dict[str, Any]) -> dict[str, Any]:
    """A training run; `steps_s` are the seconds of its steps as the product tells them."""
    from gym.config import load_config
    from gym.train.grpo.training_free_workflow import train as learn

    def work() -> dict[str, Any]:
        found = learn(load_config(None, settings, environ={}))
        return {"steps_s": [step.seconds for step in found.steps], "experiences": len(found.library)}

    return _measured(work)


def _measured(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What the work gives, and what it took."""
    before, began = _cpu_s(), time.perf_counter()
    found = work()
    return {**found, "cpu_s": _cpu_s() - before, "wall_s": time.perf_counter() - began, "rss_mb": _peak_mb()}


def _cpu_s() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _peak_mb() -> float:
    """Of this process alone: `ru_maxrss` may be inherited from the parent, so /proc is asked first."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text(encoding="ascii").partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _body(number: int, *, seed: int) -> dict[str, Any]:
    """A request as the product sends it."""
    return {
        "model": MODEL,
        "messages": [{"role": "user", "content": question(number)}],
        "temperature": 0.7,
        "max_tokens": 4096,
        "seed": seed,
    }


def main() -> None:
    """Do the task named first with the arguments given second."""
    pin(CLIENT)
    task, arguments = sys.argv[1], json.loads(sys.argv[2])
    if task == "bare":
        print(json.dumps(_measured(lambda: bare(**arguments))))
    else:
        print(json.dumps({"evaluate": evaluate, "train": train}[task](**arguments)))


if __name__ == "__main__":
    main()
