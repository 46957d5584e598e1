"""The call log beside plain Python on the same bytes, in the same run: opening, memory, recording, serving.

    python bench/bench_log.py [--million] [--scale X]

Opening rebuilds index and meter from lines of about 1.5 KB; its references count the lines, and parse each of them.
A recorded call goes through key, lookup, reservation, record and settlement, with a model that answers at once.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from gym.core.chat import Completion, Message, Sampling, Usage
from gym.llm.asked import Asked
from gym.llm.call_line import write_line
from gym.llm.call_log import CallLog
from gym.llm.meter import Meter
from gym.llm.recorded import Recorded, recover

CALLS = 20_000
MAX_BYTES = 30
MAX_OPEN_S = {100_000: 1.0, 1_000_000: 10.0}
MAX_RECORD_US, MAX_REPLAY_US = 60.0, 50.0
MESSAGES = (
    Message(role="system", content="You solve problems step by step.\n" + 'Lesson: check the "units".\n' * 16),
    Message(role="user", content="A train leaves at 9:40 and arrives at 13:05. How long was it under way?"),
)
ANSWER = Completion(
    text="From 9:40 to 13:05 it is 3 h 25 min.\n" * 10,
    usage=Usage(prompt=180, cached=120, completion=150),
    model="model-2025-01-01",
    latency_s=0.512,
)
AT = "2025-01-01T00:00:00.000+00:00"


class Instant:
    """A model that answers at once."""

    name = "model"

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """Always the same."""
        return ANSWER


class Cost(NamedTuple):
    """CPU microseconds a call."""

    record: float
    replay: float


def asked(number: int) -> Asked:
    """The request of one call among many."""
    return Asked.of("model", MESSAGES, Sampling(temperature=0.7, max_tokens=512, seed=number, sample=number % 5))


def write(path: Path, calls: int) -> None:
    """A log of so many calls."""
    with CallLog.open(path) as log:
        for number in range(calls):
            log.append(asked(number), ANSWER, stage="rollout", at=AT)


def opened(path: Path) -> int:
    """Bytes that an open log holds in memory."""
    with CallLog.open(path, recover(Meter())) as log:
        return sys.getsizeof(log)


def counted(path: Path) -> int:
    """The number of lines, by plain reading."""
    with path.open("rb") as file:
        return sum(1 for _ in file)


def parsed(path: Path) -> int:
    """The same, with every line through `json.loads`."""
    with path.open("rb") as file:
        return sum(1 for line in file if json.loads(line))


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The best of a few tries: the least disturbed."""
    tries = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        tries.append(time.perf_counter() - began)
    return min(tries)


def micros(work: Callable[[int], object], calls: int) -> float:
    """CPU microseconds of one `work(number)`."""
    began = time.process_time()
    for number in range(calls):
        work(number)
    return (time.process_time() - began) / calls * 1e6


async def through(path: Path, calls: int) -> Cost:
    """Every call once recorded, then once served from the log."""
    drawn = [Sampling(temperature=0.7, max_tokens=512, seed=number, sample=number % 5) for number in range(calls)]
    with CallLog.open(path) as log:
        recorded, spent = Recorded(Instant(), log, "rollout"), []
        for _ in range(2):
            began = time.process_time()
            for sampling in drawn:
                await recorded.complete(MESSAGES, sampling)
            spent.append((time.process_time() - began) / calls * 1e6)
    assert (recorded.sent, recorded.replayed) == (calls, calls)
    return Cost(*spent)


def show_opening(folder: Path, calls: int, most_s: float) -> bool:
    """Print what opening takes; whether it is within `most_s` seconds and `MAX_BYTES` a call."""
    path = folder / "calls.jsonl"
    write(path, calls)
    size, times = path.stat().st_size, 3 if calls <= 100_000 else 1
    ours, count = seconds(lambda: opened(path), times), seconds(lambda: counted(path), times)
    parse, held = seconds(lambda: parsed(path), times), opened(path) / calls
    print(f"{calls:,} calls of {size / calls:,.0f} bytes ({size / 1e6:,.0f} MB)")
    print(f"  opened                            {ours:8.2f} s       target {most_s:g} s")
    print(f"  its lines counted (reference)     {count:8.2f} s")
    print(f"  json.loads of each (reference)    {parse:8.2f} s")
    print(f"  index                             {held:8.1f} bytes a call, target {MAX_BYTES}")
    return ours <= most_s and held <= MAX_BYTES


def show_calls(folder: Path, calls: int) -> bool:
    """Print what a call costs; whether it is within the two limits."""
    request, line = asked(0), write_line(asked(0), ANSWER, stage="rollout", at=AT)
    record, handle = json.loads(line), os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    bare, dump = micros(lambda _: os.write(handle, line), calls), micros(lambda _: json.dumps(record), calls)
    load = micros(lambda _: json.loads(line), calls)
    os.close(handle)
    with CallLog.open(folder / "append.jsonl") as log:
        append = micros(lambda _: log.append(request, ANSWER, stage="rollout", at=AT), calls)
        served = micros(lambda _: log.find(request.key), calls)
    cost = asyncio.run(through(folder / "through.jsonl", calls))
    print(f"CPU of a call, {len(line):,} bytes, microseconds (mean of {calls:,})")
    print(f"  key {micros(asked, calls):.1f}, append {append:.1f}, find {served:.1f}")
    print(f"  bare os.write {bare:.1f}, json.dumps {dump:.1f}, json.loads {load:.1f} (references)")
    print(f"  recorded through the product      {cost.record:8.1f} us      target {MAX_RECORD_US:g}")
    print(f"  served through the product        {cost.replay:8.1f} us      target {MAX_REPLAY_US:g}")
    return cost.record <= MAX_RECORD_US and cost.replay <= MAX_REPLAY_US


def main() -> int:
    """1 when a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--million", action="store_true", help="open a million calls too (1.5 GB of disk)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the work, for a quick look")
    options = parser.parse_args()
    met = []
    for calls, most_s in list(MAX_OPEN_S.items())[: 1 + options.million]:
        with tempfile.TemporaryDirectory() as folder:
            met.append(show_opening(Path(folder), max(int(calls * options.scale), 1000), most_s))
    with tempfile.TemporaryDirectory() as folder:
        met.append(show_calls(Path(folder), max(int(CALLS * options.scale), 1000)))
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
