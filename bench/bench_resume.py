"""Going on after a kill: the time to the first new call of a long run, and memory that does not grow with the run.

The runs are real: the product makes every call of them at a server without latency, and is killed with SIGKILL near the
end, when the server has stopped answering. Then the same command is started again in a fresh process.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench import problems
from bench.options import scale
from bench.plan import Plan
from bench.processes import Client, Ended, Served, gym, served, settings
from bench.report import Table, share

ROLLOUTS = 100_000
TRAINED, GROUP = 100, 5
"""Problems of the training run, all in one batch, and answers to each; it has as many epochs as it takes."""
EVALUATED = 2_000
"""Problems of the evaluation, with as many answers each as it takes: its data do not grow with the run."""
IN_FLIGHT = 64
MAX_S, MAX_GROWTH = 2.0, 0.10
SETTLED_S = 0.5
"""After the server has stopped answering: everything answered is recorded."""


class Killed(NamedTuple):
    """A run that was killed."""

    calls: int
    """Answered before."""
    log_mb: float
    rss_mb: float | None
    """Peak until then."""
    seconds: float


class Resumed(NamedTuple):
    """The same command again."""

    first_call_s: float
    """From the start of the process to the first request at the server."""
    asked: int
    """Calls made: those that were missing."""
    ended: Ended


class Bench:
    """One server at one address, since a run is bound to its endpoint."""

    def __init__(self, server: Served, folder: Path) -> None:
        self.server, self.folder = server, folder

    def command(self, kind: str, rollouts: int) -> Client:
        """`gym train` or `gym eval` of so many rollouts, started."""
        data = self.folder / f"{kind}.jsonl"
        if not data.exists():
            problems.write(data, EVALUATED if kind == "eval" else TRAINED)
        own = {"eval_k": rollouts // EVALUATED}
        if kind == "train":
            own = {"group_size": GROUP, "batch_size": TRAINED, "epochs": rollouts // TRAINED // GROUP}
        common = settings(self.server, self.folder, dataset=str(data), rollout_concurrency=IN_FLIGHT, **own)
        return gym(kind, self.folder, {**common, "experiment_name": f"{kind}-{rollouts}"}, "--quiet")

    def killed(self, kind: str, rollouts: int, left: int) -> Killed:
        """A run of its own, killed when all but `left` calls are answered."""
        began, calls = time.monotonic(), rollouts - left
        self.server.start(Plan(latency_s=0.0, right="always", halt_after=calls))
        client = self.command(kind, rollouts)
        halted = client.wait_until(lambda: (book := self.server.book()).answered == calls and book.in_flight > 0)
        time.sleep(SETTLED_S)
        rss_mb, ended = client.peak_mb(), client.kill()
        assert halted, ended.out[-2000:]
        log = self.folder / "output" / f"{kind}-{rollouts}" / "calls.jsonl"
        return Killed(calls, log.stat().st_size / 2**20, rss_mb, time.monotonic() - began)

    def resumed(self, kind: str, rollouts: int) -> Resumed:
        """The same command in a fresh process, to its end."""
        self.server.start(Plan(latency_s=0.0, right="always"))
        client = self.command(kind, rollouts)
        ended = client.ended().require_success()
        book = self.server.book()
        return Resumed(book.first_at - client.started_at, book.received, ended)


def reading_s(log: Path) -> float:
    """Seconds to start Python and read a file once."""
    return Client("-c", f"import collections; collections.deque(open({str(log)!r}, 'rb'), 0)").ended().wall_s


def starting_s() -> float:
    """Seconds to start Python with everything that a run imports."""
    words = ("-c", "import gym.train.grpo.training_free_workflow, gym.evaluation.measure, gym.cli.train")
    return statistics.median(Client(*words).ended().require_success().wall_s for _ in range(3))


def rows(table: Table, bench: Bench, kind: str, rollouts: int, left: int) -> tuple[Killed, Resumed]:
    """A run killed and resumed, and the claim on it."""
    killed = bench.killed(kind, rollouts, left)
    read_s = reading_s(bench.folder / "output" / f"{kind}-{rollouts}" / "calls.jsonl")
    resumed = bench.resumed(kind, rollouts)
    table.add(f"gym {kind}, {killed.calls:,} calls in the log: first new call", f"{resumed.first_call_s:.2f} s",
              f"imports {starting_s():.2f} s, reading {killed.log_mb:.0f} MB {read_s:.2f} s", f"<= {MAX_S:g} s",
              resumed.first_call_s <= MAX_S)  # fmt: skip
    table.add("  calls made after it", f"{resumed.asked}", f"{left} were missing", "equal", resumed.asked == left)
    table.add("  to the end", f"{resumed.ended.wall_s:.1f} s, {resumed.ended.cpu_s:.1f} s CPU",
              f"the run before the kill took {killed.seconds:.0f} s")  # fmt: skip
    return killed, resumed


def growth(table: Table, what: str, small: float | None, large: float | None) -> None:
    """The claim that memory does not grow with the run."""
    if small is None or large is None:
        return
    grown = large / small - 1
    table.add(what, f"{large:.0f} MB ({grown:+.1%})", f"{small:.0f} MB", f"+ {share(MAX_GROWTH)}", grown <= MAX_GROWTH)


def main() -> int:
    """Training and evaluation; the evaluation at a tenth of its size too."""
    table = Table("bench_resume", f"Resume of a long run, {IN_FLIGHT} in flight, and its memory")
    tenth = max(int(ROLLOUTS * scale()) // 10 // EVALUATED, 1) * EVALUATED
    whole = 10 * tenth
    with served(Plan()) as server, tempfile.TemporaryDirectory() as folder:
        bench = Bench(server, Path(folder))
        rows(table, bench, "train", whole, TRAINED * GROUP // 2)
        small = bench.killed("eval", tenth, tenth // 200)
        small_resumed = bench.resumed("eval", tenth)
        large, large_resumed = rows(table, bench, "eval", whole, whole // 200)
        sizes = f"{tenth:,} to {whole:,} rollouts"
        growth(table, f"peak RSS of gym eval, {sizes}", small.rss_mb, large.rss_mb)
        growth(table, "  the same, resumed and to its end", small_resumed.ended.rss_mb, large_resumed.ended.rss_mb)
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
