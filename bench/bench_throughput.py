"""Share of the ideal rate N / L, CPU and memory a call: the whole product beside aiohttp alone, on the same server.

Both send the same requests one after the other in fresh processes. The share is taken from the first request to the
last answer, by the server's book; many rounds make start and tail weigh little.
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from bench import problems
from bench.options import scale
from bench.plan import Plan
from bench.processes import Served, job, served, settings
from bench.report import Table, share

LATENCY_S = 0.5
ANSWERS = 32
"""To each problem, as the paper evaluates (mean@32)."""
ROUNDS = {64: 60, 256: 40, 1000: 30}
"""Calls a slot, by calls in flight: enough that start and score weigh little."""
REFERENCE_ROUNDS = 20
MAX_RSS_MB = 80
MAX_CPU = 0.5 / 0.19
"""Times the reference: 0.5 ms on the machine where aiohttp alone was measured at 0.19 ms a call."""


class Measured(NamedTuple):
    """One client at one number in flight."""

    share: float
    """Of the ideal, by the server's book."""
    wall_share: float
    """Of the ideal, from the first line of the work to its result."""
    cpu_ms: float
    """A call."""
    rss_mb: float
    server_ms: float
    """CPU of the mock server, a call: what is left for it to be no bottleneck."""

    @property
    def told(self) -> str:
        """For a cell."""
        return f"{share(self.share)} (wall {share(self.wall_share)})"


def bare(server: Served, calls: int, in_flight: int) -> Measured:
    """aiohttp alone."""
    server.start(Plan(latency_s=LATENCY_S))
    found = job("bare", base_url=server.base_url, calls=calls, in_flight=in_flight)
    assert found["answered"] == calls
    return _measured(server, found, calls, in_flight)


def product(server: Served, folder: Path, calls: int, in_flight: int) -> Measured:
    """`gym eval` as a function; the score must be the one that the server's answers have."""
    server.start(Plan(latency_s=LATENCY_S))
    problems.write(folder / "data.jsonl", calls // ANSWERS)
    run = settings(server, folder, eval_k=ANSWERS, rollout_concurrency=in_flight, experiment_name=f"n{in_flight}")
    found = job("evaluate", settings=run)
    assert (found["failed"], found["answers"]) == (0, calls)
    assert 0.32 < found["mean"] < 0.42, f"37 answers in 100 are right, not {found['mean']}"
    return _measured(server, found, calls, in_flight)


def _measured(server: Served, found: dict[str, float], calls: int, in_flight: int) -> Measured:
    book, ideal_s = server.book(), calls * LATENCY_S / in_flight
    assert book.answered == calls
    return Measured(
        share=ideal_s / book.span_s,
        wall_share=ideal_s / found["wall_s"],
        cpu_ms=1000 * found["cpu_s"] / calls,
        rss_mb=found["rss_mb"],
        server_ms=1000 * book.cpu_s / calls,
    )


def rows(table: Table, in_flight: int, ours: Measured, theirs: Measured) -> None:
    """The claims at one number in flight."""
    reference = f"bare aiohttp {theirs.told}"
    what = f"share of the ideal rate, {in_flight} in flight"
    if in_flight < 1000:
        least = {64: 0.97, 256: 0.93}[in_flight]
        table.add(what, ours.told, reference, f">= {least:.0%}", ours.share >= least)
    else:
        table.add(what, ours.told, reference, "bare - 10 %", ours.share >= 0.9 * theirs.share)
    cpu, rss = f"bare aiohttp {theirs.cpu_ms:.2f} ms", f"bare aiohttp {theirs.rss_mb:.0f} MB"
    times = ours.cpu_ms / theirs.cpu_ms
    table.add(
        "  CPU a call", f"{ours.cpu_ms:.2f} ms, {times:.2f} x bare", cpu, f"<= {MAX_CPU:.2f} x bare", times <= MAX_CPU
    )
    table.add(
        "  CPU of the mock server a call", f"{ours.server_ms:.3f} ms", f"for bare aiohttp {theirs.server_ms:.3f} ms"
    )
    table.add("  peak RSS", f"{ours.rss_mb:.0f} MB", rss, f"<= {MAX_RSS_MB} MB", ours.rss_mb <= MAX_RSS_MB)


def main() -> int:
    """Measure every number in flight."""
    table = Table("bench_throughput", f"Throughput at {LATENCY_S} s a call: prompts, parsing, grading, meter and log")
    with served(Plan()) as server, tempfile.TemporaryDirectory() as folder:
        for in_flight, rounds in ROUNDS.items():
            calls = max(int(rounds * scale()), 4) * in_flight // ANSWERS * ANSWERS
            theirs = bare(server, min(calls, REFERENCE_ROUNDS * in_flight), in_flight)
            rows(table, in_flight, product(server, Path(folder), calls, in_flight), theirs)
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
