"""A whole training step: 100 problems, 5 answers each, summaries, critiques, consolidation, library.

The reference is computed from the calls that this very run made: at 64 in flight their time in the slots and one
latency more, at 500 the floor of the calls that depend on each other.
"""

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Literal, NamedTuple

from bench import problems
from bench.plan import Plan
from bench.processes import Served, job, served, settings
from bench.report import Table

LATENCY_S = 0.5
PROBLEMS, ANSWERS = 100, 5
FEW_CHAIN, MANY_CHAIN = 4, 5
"""Calls that wait for each other: answer, summary, critique, consolidation, and its second round in map-reduce."""
REPEATED = 3


class Took(NamedTuple):
    """One step."""

    calls: int
    step_s: float
    """As the product tells it: from the first prompt to the new library."""
    span_s: float
    """From the first request to the last answer, by the server's book."""
    experiences: int

    @property
    def told(self) -> str:
        """For a cell."""
        return f"{self.step_s:.2f} s (calls {self.span_s:.2f} s)"


def step(server: Served, folder: Path, in_flight: int, reflector: Literal["few", "many"], name: str) -> Took:
    """One step in a fresh process and run folder."""
    server.start(Plan(latency_s=LATENCY_S, reflector=reflector))
    run = settings(
        server, folder, rollout_concurrency=in_flight, epochs=1, batch_size=PROBLEMS, group_size=ANSWERS,
        experiment_name=f"{name}-{in_flight}-{reflector}",
    )  # fmt: skip
    found, book = job("train", settings=run), server.book()
    return Took(book.answered, found["steps_s"][0], book.span_s, found["experiences"])


def main() -> int:
    """The step at 64 and at 500 in flight."""
    table = Table("bench_step", f"A whole training step, {PROBLEMS} problems x {ANSWERS}, {LATENCY_S} s a call")
    with served(Plan()) as server, tempfile.TemporaryDirectory() as place:
        folder = problems.write(Path(place, "data.jsonl"), PROBLEMS).parent
        took = step(server, folder, 64, "few", "one")
        floor_s = took.calls * LATENCY_S / 64 + LATENCY_S
        table.add("step, 64 in flight", took.told, f"{took.calls} calls x L / 64 + L = {floor_s:.2f} s",
                  f"<= {1.15 * floor_s:.2f} s", took.step_s <= 1.15 * floor_s)  # fmt: skip
        tries = [step(server, folder, 500, "few", str(n)) for n in range(REPEATED)]
        took, floor_s = statistics.median_low([(each.step_s, each) for each in tries])[1], FEW_CHAIN * LATENCY_S
        table.add(f"step, 500 in flight (median of {REPEATED})", took.told,
                  f"{took.calls} calls, 4 that depend x L = {floor_s:.2f} s", f"<= {1.25 * floor_s:.2f} s",
                  took.step_s <= 1.25 * floor_s)  # fmt: skip
        took, floor_s = step(server, folder, 500, "many", "one"), MANY_CHAIN * LATENCY_S
        table.add("step, 500 in flight, every critique proposes", took.told,
                  f"{took.calls} calls, 5 that depend x L = {floor_s:.2f} s")  # fmt: skip
        table.add("  experiences kept of it", f"{took.experiences}")
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
