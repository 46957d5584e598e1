"""`rollout_concurrency: auto` beside the best fixed number, which it does not know, on two servers.

One works on 40 requests at once and queues the rest, so more in flight only waits longer; the other takes 50 requests a
second and refuses the rest.
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from bench import problems
from bench.options import scale
from bench.plan import Plan
from bench.processes import Book, Served, job, served, settings
from bench.report import Table, share
from gym.config import load_config
from gym.errors import ConfigError

LATENCY_S = 0.25
CAPACITY, RATE = 40, 50
LEAST = 0.9
"""Of the best fixed number's rate."""
REFUSED = 0.05
"""Share of requests that may meet a refusal while the limit is being found."""
CALLS = {"capacity": 4000, "rate": 1250}


class Server(NamedTuple):
    """A kind of limit and the fixed number in flight that suits it best."""

    name: str
    plan: Plan
    best: int


SERVERS = (
    Server("capacity", Plan(latency_s=LATENCY_S, capacity=CAPACITY), CAPACITY),
    Server("rate", Plan(latency_s=LATENCY_S, rate=RATE), int(RATE * LATENCY_S)),
)


def run(server: Served, folder: Path, kind: Server, in_flight: int | str) -> Book:
    """The server's book of an evaluation."""
    server.start(kind.plan)
    problems.write(folder / "data.jsonl", int(CALLS[kind.name] * scale()) // 5)
    name = f"{kind.name}-{in_flight}"
    job("evaluate", settings=settings(server, folder, eval_k=5, rollout_concurrency=in_flight, experiment_name=name))
    return server.book()


def offered() -> bool:
    """Whether this version of the product knows `auto`."""
    try:
        load_config(None, {"rollout_concurrency": "auto"}, environ={})
    except ConfigError:
        return False
    return True


def rows(table: Table, kind: Server, auto: Book, best: Book) -> None:
    """The two rates, and what was refused on the way."""
    ours, theirs = (book.answered / book.span_s for book in (auto, best))
    told = f"{ours:.1f} calls/s (up to {auto.most_in_flight} in flight)"
    what = f"auto, {CAPACITY} at once" if kind.name == "capacity" else f"auto, {RATE} a second"
    table.add(what, told, f"fixed at {kind.best}: {theirs:.1f} calls/s", f">= {share(LEAST)}", ours >= LEAST * theirs)
    if kind.plan.rate is not None:
        refused = auto.limited / auto.received
        table.add("  refused with 429", f"{auto.limited} of {auto.received} ({share(refused)})",
                  f"fixed at {kind.best}: {best.limited}", f"<= {share(REFUSED)}", refused <= REFUSED)  # fmt: skip


def main() -> int:
    """Both servers; missed when the product has no `auto`."""
    table = Table("bench_adaptive", f"Concurrency found by itself, {LATENCY_S} s a call")
    if not offered():
        table.add("rollout_concurrency: auto", "not known to this version", "", "is offered", False)
        return table.close()
    with served(Plan()) as server, tempfile.TemporaryDirectory() as folder:
        for kind in SERVERS:
            best = run(server, Path(folder), kind, kind.best)
            rows(table, kind, run(server, Path(folder), kind, "auto"), best)
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
