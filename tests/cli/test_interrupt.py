"""Ctrl-C once finishes what is in flight and saves; twice stops at once; the same command continues."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gym.llm.call_log import CallLog

SCRIPT = """
import asyncio, os, sys
async def slow(messages, sampling):
    open(os.environ["STARTED"], "a").write("x\\n")
    await asyncio.sleep(float(os.environ["DELAY"]))
    return "answer"
"""


def start(folder: Path, delay: float) -> "subprocess.Popen[str]":
    rows = [json.dumps({"question": f"Question {n}?", "answer": "answer"}) for n in range(30)]
    (folder / "train.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (folder / "slow_script.py").write_text(SCRIPT, encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-m", "gym", "train", "--data", "train.jsonl", "--reward", "exact", "--epochs", "1",
         "--model", "scripted:slow_script:slow", "--rollout-concurrency", "4", "--experiment-name", "x"],
        cwd=folder, env={**os.environ, "STARTED": str(folder / "started"), "DELAY": str(delay)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for_calls(folder: Path, count: int, process: "subprocess.Popen[str]") -> None:
    started = folder / "started"
    while process.poll() is None and not (started.exists() and started.read_text().count("x") >= count):
        os.sched_yield()


def answers(folder: Path) -> int:
    with CallLog.open(folder / "output" / "x" / "calls.jsonl") as log:
        return sum(call.completion is not None for call in log)


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_one_interrupt_finishes_the_calls_in_flight_saves_and_says_how_to_go_on(
    tmp_path: Path, which: signal.Signals
) -> None:
    process = start(tmp_path, 0.3)
    wait_for_calls(tmp_path, 9, process)
    process.send_signal(which)
    _, said = process.communicate(timeout=60)
    begun = (tmp_path / "started").read_text().count("x")
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "finished and saved" in said
    assert said.strip().endswith("stopped; everything paid for is saved, and the same command continues")
    assert answers(tmp_path) == begun
    done = start(tmp_path, 0.0)
    done.communicate(timeout=60)
    assert done.returncode == 0
    assert (tmp_path / "started").read_text().count("x") == 150


def test_a_second_interrupt_stops_at_once(tmp_path: Path) -> None:
    process = start(tmp_path, 600.0)
    wait_for_calls(tmp_path, 4, process)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "again to stop at once" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "stopped at once" in said
