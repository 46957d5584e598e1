"""Nothing is lost and nothing is graded for an outage, whatever the server does, also through a kill -9.

Every run is a `gym` command in a process of its own. The server decides on a fault by a hash of who asks and how often,
and keeps a book, so that the right outcome of every single rollout is known.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from bench import problems
from bench.options import scale
from bench.outcomes import Outcomes, logged, outcomes
from bench.plan import FAULTS, Plan
from bench.processes import Book, Client, Ended, Served, gym, offered, served, settings
from bench.report import Table

LATENCY_S, IN_FLIGHT = 0.1, 32
ANSWERS, RETRIES = 5, 4
TIMEOUT_S = 3
"""Of one attempt: what a hanging call costs its slot."""
TAIL_S = TIMEOUT_S + 1.0 + 2 * LATENCY_S
"""When the last call hangs: its timeout, the longest first backoff, its answer."""
LIMIT_S = 90.0
SETTLED_S = 0.3
"""After a kill: the server has seen every connection end."""

HANGS = Plan(latency_s=LATENCY_S, faults={"hang": 0.01})
DEAD = Plan(latency_s=LATENCY_S, always_500=0.02)
EVERY = Plan(latency_s=LATENCY_S, faults=dict.fromkeys(FAULTS, 0.1), retry_after_s=0.1)


class Bench:
    """One server and one folder for all runs."""

    def __init__(self, server: Served, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.problems = max(int(100 * scale()), 50)
        problems.write(folder / "data.jsonl", self.problems)
        problems.write(folder / "long.jsonl", 10 * self.problems)

    def gym(self, command: str, name: str, *more: str, **changes: object) -> Client:
        """A run, started. Where an attempt has no limit of its own, the whole answer must do with a minute."""
        limits = offered(call_timeout=TIMEOUT_S) or {"task_timeout": 60}
        common = settings(self.server, self.folder, rollout_concurrency=IN_FLIGHT, max_retries=RETRIES, **limits)
        return gym(command, self.folder, {**common, **changes, "experiment_name": name}, *more)

    def step(self, name: str) -> Client:
        """One training step, started."""
        return self.gym("train", name, epochs=1)

    def run(self, name: str) -> Path:
        """Where the run of this name is."""
        return self.folder / "output" / name

    def judged(self, name: str, book: Book, plan: Plan) -> Outcomes:
        """Every rollout of a step, by the server's book."""
        return outcomes(self.run(name), book, plan, problems=self.problems, answers=ANSWERS, attempts=RETRIES + 1)


def hangs(bench: Bench, table: Table) -> None:
    """1 % of the calls hang for ever: they cost their slots a timeout each and nothing more."""
    bench.server.start(HANGS)
    data = str(bench.folder / "long.jsonl")
    ended = bench.gym("eval", "hangs", "--json", "--quiet", dataset=data, eval_k=ANSWERS).ended(LIMIT_S)
    book, calls = bench.server.book(), 10 * bench.problems * ANSWERS
    what = "1 % of calls hang for ever: all are answered"
    if ended.code:
        table.add(what, _broke(ended), f"{book.faults.get('hang', 0)} of {book.received} calls hung", f"{calls}", False)
        return
    found = json.loads(ended.out[ended.out.index("{") :])
    table.add(what, f"{found['n_answers']} answers, {found['failed']} failed",
              f"{book.faults.get('hang', 0)} of {book.received} calls hung", f"{calls}", found["n_answers"] == calls)  # fmt: skip
    needed_s = book.busy_s / IN_FLIGHT + TAIL_S
    table.add("  no slot lost: the time beside what slots need", f"{book.span_s:.1f} s",
              f"in use {book.busy_s:.0f} s / {IN_FLIGHT} + the last retry = {needed_s:.1f} s",
              f"<= {1.1 * needed_s:.1f} s", book.span_s <= 1.1 * needed_s)  # fmt: skip


def dead(bench: Bench, table: Table) -> None:
    """2 % of the problems answer 500 for ever: their rollouts fail, are listed, and have no score."""
    bench.server.start(DEAD)
    ended = bench.step("dead").ended(LIMIT_S)
    expected = {f"p{n}/{index}" for n in range(bench.problems) if DEAD.refuses(n) for index in range(ANSWERS)}
    assert expected, "no problem is refused: choose more problems"
    what = "2 % of prompts answer 500 for ever: failed and listed"
    if ended.code:
        table.add(what, _broke(ended), f"{len(expected)} rollouts", "the same", False)
        return
    found, listed = bench.judged("dead", bench.server.book(calls=True), DEAD), _listed(bench.run("dead"))
    table.add(what, f"{len(found.failed)} failed, {listed} listed", f"{len(expected)} rollouts of such prompts",
              "the same", set(found.failed) == expected and listed == len(expected))  # fmt: skip
    graded = len(found.graded_without_answer)
    table.add("  scored without an answer", f"{graded}", "", "0", not graded)


def every_kind(bench: Bench, table: Table) -> Book | None:
    """10 % of the calls each: 429, 500, hang, reset, truncated JSON."""
    bench.server.start(EVERY)
    ended, book = bench.step("every").ended(LIMIT_S), bench.server.book(calls=True)
    what = "10 % each of 429, 500, hang, reset, cut JSON"
    if ended.code:
        table.add(what, _broke(ended), f"{book.all_faults} faults in {book.received} calls", "exit 0", False)
        return None
    _judge(table, what, bench.judged("every", book, EVERY), book)
    log = logged(bench.run("every"))
    given = book.answered + book.all_faults + book.lost
    table.add("  calls sent = answered + faults", f"{log.lines} in the log ({log.answered} + {log.failed})",
              f"server: {book.answered} + {book.all_faults} + {book.lost} given up", "equal",
              log.lines == book.received == given and log.answered == book.answered)  # fmt: skip
    return book


def killed(bench: Bench, table: Table, whole: Book | None) -> None:
    """The same step, killed with SIGKILL in the middle and started again."""
    bench.server.start(EVERY)
    half = (whole.received if whole else 1000) // 2
    client = bench.step("killed")
    client.wait_until(lambda: bench.server.book().received >= half, LIMIT_S)
    client.kill()
    time.sleep(SETTLED_S)
    then, log = bench.server.book(), logged(bench.run("killed"))
    ended, book = bench.step("killed").ended(LIMIT_S), bench.server.book(calls=True)
    what = f"the same, kill -9 after {then.received} calls, resumed"
    if ended.code:
        table.add(what, _broke(ended), "", "exit 0", False)
        return
    _judge(table, what, bench.judged("killed", book, EVERY), book)
    finished, unread = logged(bench.run("killed")), then.answered - log.answered
    repeated, expected = book.received - len(finished.keys), book.all_faults + book.lost + unread
    table.add("  calls repeated = faults + in flight at the kill", f"{repeated} ({finished.answered} answers kept)",
              f"{book.all_faults} faults + {book.lost + unread} in flight", "equal", repeated == expected)  # fmt: skip
    again = finished.answered - len(finished.keys)
    table.add("  finished calls asked again", f"{again}", f"{log.answered} were finished at the kill", "0", again == 0)


def _judge(table: Table, what: str, found: Outcomes, book: Book) -> None:
    table.add(what, f"{len(found.right)} of {found.total} rollouts right",
              f"{book.all_faults} faults in {book.received} calls", "100 %", len(found.right) == found.total)  # fmt: skip
    lost, graded = len(found.lost), len(found.graded_without_answer)
    table.add("  lost; graded for an outage", f"{lost}; {graded}",
              f"{len(found.failed)} failed after {RETRIES + 1} attempts", "0; 0", lost + graded == 0)  # fmt: skip


def _listed(run: Path) -> int:
    """Failed rollouts that the run's statistics tell of."""
    steps = json.loads((run / "stats.json").read_text(encoding="utf-8"))["steps"]
    return sum(sum(step["failures"].values()) for step in steps)


def _broke(ended: Ended) -> str:
    said = ended.out.strip().splitlines() or [""]
    return f"exit {ended.code} after {ended.wall_s:.0f} s: {said[-1][:60]}"


def main() -> int:
    """All four, on one server."""
    table = Table("bench_faults", f"Faults, {LATENCY_S} s a call, {IN_FLIGHT} in flight, {RETRIES} retries")
    with served(Plan()) as server, tempfile.TemporaryDirectory() as folder:
        bench = Bench(server, Path(folder))
        hangs(bench, table)
        dead(bench, table)
        killed(bench, table, every_kind(bench, table))
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
