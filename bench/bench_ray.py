"""Ray workers beside the same work in this process, in the same run: what a call costs, when it pays, what a death costs.

1. The same calls to a model that answers at once: wall and CPU time that the way through a worker adds to each.
2. Solvers that compute between two calls: one process can use one core, workers use them all.
3. A whole training run, and the same on two workers of which one is killed: same library, no finished call repeated.
"""

import asyncio
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bench.report import Table
from gym.config import load_config
from gym.core.chat import ChatModel, Message, Sampling
from gym.core.problem import Solver, Trajectory
from gym.llm.endpoint import Endpoint
from gym.llm.scripted import Scripted, echo
from gym.train.grpo.executors.base import open_executor
from gym.train.grpo.training_free_workflow import atrain

WORKERS = 2
CALLS = 1000
ATTEMPTS, BURN_S, FASTER = 60, 0.05, 1.3
PROBLEMS, KILLED_AT = 60, 200
FOLDER = "BENCH_RAY_FOLDER"


class Cost(NamedTuple):
    """Of one call, in milliseconds."""

    wall_ms: float
    cpu_ms: float
    """Of this process; a worker's own is not in it."""

    def __str__(self) -> str:
        return f"{self.wall_ms:.2f} ms, {self.cpu_ms:.2f} ms CPU"


async def cost(model: ChatModel, *, in_flight: int) -> Cost:
    """The mean over `CALLS` calls."""
    slots = asyncio.Semaphore(in_flight)

    async def one(number: int) -> None:
        async with slots:
            await model.complete((Message(role="user", content=f"{number} " + "word " * 200),), Sampling())

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(one, range(CALLS)))
    return Cost((time.perf_counter() - wall) / CALLS * 1e3, (time.process_time() - cpu) / CALLS * 1e3)


async def computing(model: ChatModel, messages: Sequence[Message], sampling: Sampling) -> Trajectory:
    """Two calls with `BURN_S` seconds of one core between them, as a tool would take them."""
    draft = await model.complete(messages, sampling)
    end = time.process_time() + BURN_S
    while time.process_time() < end:
        pass
    final = await model.complete((*messages, Message(role="assistant", content=draft.text), *messages), sampling)
    return Trajectory(messages=(*messages, Message(role="assistant", content=final.text)), output=final.text)


async def attempts(solver: Solver) -> float:
    """Seconds for `ATTEMPTS` of them, all at once."""
    model, asked = Scripted(echo), (Message(role="user", content="question"),)
    await solver(model, asked, Sampling())  # workers start with the first
    began = time.perf_counter()
    await asyncio.gather(*(solver(model, asked, Sampling(sample=n)) for n in range(ATTEMPTS)))
    return time.perf_counter() - began


async def counted(messages: Sequence[Message], sampling: Sampling) -> str:
    """A policy, critic and controller by their prompts; every call is counted, and one may take its process with it."""
    folder = Path(os.environ[FOLDER])
    with (folder / "sent").open("a", encoding="ascii") as file:
        file.write(".\n")
    if (folder / "kill").exists() and (folder / "sent").stat().st_size // 2 >= KILLED_AT:
        (folder / "kill").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.sleep(0.005)
    system = messages[0].content if messages[0].role == "system" else ""
    number = (re.findall(r"are (\d+) apples", messages[-1].content) or ["0"])[-1]
    if system.startswith("You compare"):
        return f'[{{"option": "add", "experience": "Asked how many {number} are, end with an exclamation mark."}}]'
    if system.startswith("You"):
        return "[]"
    return f"{number}!" if "exclamation" in system or (sampling.seed or 0) % 3 == 0 else number


class Trained(NamedTuple):
    """What a run left, and how often its model was asked."""

    library: str
    finished: Counter[str]
    failed: int
    sent: int
    seconds: float

    @property
    def told(self) -> str:
        """For a row."""
        return f"{self.finished.total()} calls, {self.sent} sent, {self.seconds:.1f} s"


async def trained(folder: Path, name: str, **changes: object) -> Trained:
    """A run over counting questions."""
    rows = [{"question": f"How many are {n} apples?", "answer": f"{n}!"} for n in range(PROBLEMS)]
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (folder / "sent").write_text("", encoding="ascii")
    settings = {"model": "scripted:bench.bench_ray:counted", "data": str(folder / "data.jsonl"), "reward": "exact", "epochs": 1,
                "batch_size": 20, "rollout_concurrency": 32, "output_dir": str(folder), "experiment_name": name}  # fmt: skip
    began = time.perf_counter()
    run = await atrain(load_config(None, settings | changes, environ={}))
    seconds = time.perf_counter() - began
    calls = [json.loads(line) for line in (run.folder / "calls.jsonl").read_text(encoding="utf-8").splitlines()]
    return Trained(
        (run.folder / "experiences.json").read_text(encoding="utf-8"),
        Counter(call["key"] for call in calls if call["completion"]),
        sum(call["error"] is not None for call in calls),
        (folder / "sent").stat().st_size // 2,
        seconds,
    )


async def overhead(table: Table) -> None:
    """Part 1."""
    endpoint = Endpoint(model="scripted:gym.llm.scripted:echo")
    began = time.perf_counter()
    async with open_executor("ray", workers=WORKERS) as executor, executor.open(endpoint, {}) as model:
        table.add(f"a cluster of our own and {WORKERS} workers start", f"{time.perf_counter() - began:.1f} s")
        for in_flight in (1, 64):
            here, there = await cost(Scripted(echo), in_flight=in_flight), await cost(model, in_flight=in_flight)
            table.add(f"a call through a worker, {in_flight} in flight", str(there), f"here {here}")


async def gain(table: Table) -> None:
    """Part 2."""
    async with open_executor("ray", workers=WORKERS) as executor:
        here, there = await attempts(computing), await attempts(executor.remote(computing))
    faster = here / there
    what = f"{ATTEMPTS} solvers of {BURN_S:g} s CPU, {WORKERS} workers"
    measured = f"{there:.2f} s, {faster:.2f} times as fast"
    table.add(what, measured, f"here {here:.2f} s", f">= {FASTER}", faster >= FASTER)


async def death(table: Table) -> None:
    """Part 3."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ[FOLDER] = temporary
        here = await trained(folder, "here")
        (folder / "kill").touch()
        there = await trained(folder, "there", executor="ray", ray_workers=WORKERS)
        killed = not (folder / "kill").exists()
    table.add(f"a run on {WORKERS} workers, one killed at call {KILLED_AT}", there.told, f"here {here.told}")
    same = killed and there.library == here.library and set(there.finished) == set(here.finished)
    table.add("  its library and its calls", "the same" if same else "NOT the same", "", "the same", same)
    repeated = there.finished.total() - len(there.finished)
    table.add("  finished calls repeated", str(repeated), f"{there.failed} in flight at the kill", "0", not repeated)
    extra = there.sent - there.finished.total()
    table.add("  sent beyond those", str(extra), "", f"<= {there.failed}", 0 <= extra <= there.failed)


async def everything(table: Table) -> None:
    """One cluster after the other."""
    for part in (overhead, gain, death):
        await part(table)


def main() -> int:
    """Nothing without the extra."""
    if find_spec("ray") is None:
        print("skipped: pip install 'zoo-gym[ray]'")
        return 0
    table = Table("bench_ray", f"Ray workers beside this process, {WORKERS} workers")
    asyncio.run(everything(table))
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
