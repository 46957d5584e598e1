"""Ctrl-C reaches every process of the terminal at once; under Ray too the calls in flight are finished and saved."""

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from gym.llm.call_log import CallLog

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

HERE = Path(__file__).parent


def start(folder: Path, delay: float) -> "subprocess.Popen[str]":
    """A run of 30 answers on a cluster of its own, in a process group of its own as a terminal's job is."""
    pytest.importorskip("ray")
    rows = [json.dumps({"question": f"Question {n}?", "answer": "always this"}) for n in range(6)]
    (folder / "train.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (folder / "delay").write_text(str(delay), encoding="utf-8")
    search = os.pathsep.join((str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")))
    return subprocess.Popen(
        [sys.executable, "-m", "gym", "train", "--data", "train.jsonl", "--reward", "exact", "--epochs", "1",
         "--model", "scripted:ray_script:slow", "--rollout-concurrency", "4", "--experiment-name", "x",
         "--executor", "ray", "--ray-workers", "2"],
        cwd=folder, env={**os.environ, "PYTHONPATH": search, "RAY_SCRIPT_FOLDER": str(folder)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def begun(folder: Path) -> int:
    paid = folder / "paid"
    return len(paid.read_text(encoding="utf-8").splitlines()) if paid.exists() else 0


def wait_for_calls(folder: Path, count: int, process: "subprocess.Popen[str]") -> None:
    while process.poll() is None and begun(folder) < count:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)


def ends(pid: int, within_s: float) -> bool:
    """Whether a process ends in time, fetched by its parent or not."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], within_s)[0])
    finally:
        os.close(handle)


def answers(folder: Path) -> int:
    with CallLog.open(folder / "output" / "x" / "calls.jsonl") as log:
        return sum(call.completion is not None for call in log)


@pytest.mark.parametrize("by", ["Ctrl-C", "SIGTERM"])
def test_one_interrupt_finishes_what_the_workers_have_in_flight(tmp_path: Path, by: str) -> None:
    process = start(tmp_path, 0.5)
    wait_for_calls(tmp_path, 9, process)
    if by == "Ctrl-C":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert said.strip().endswith("stopped; everything paid for is saved, and the same command continues")
    assert answers(tmp_path) == begun(tmp_path) < 30


def test_a_call_in_flight_may_take_longer_than_ray_would_wait_after_a_sigterm(tmp_path: Path) -> None:
    process = start(tmp_path, 4.0)  # a handler of Ray's would abort the process after three seconds
    wait_for_calls(tmp_path, 4, process)
    process.terminate()
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert said.strip().endswith("stopped; everything paid for is saved, and the same command continues")
    assert answers(tmp_path) == begun(tmp_path) == 4


def test_a_second_interrupt_stops_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    process = start(tmp_path, 600.0)
    wait_for_calls(tmp_path, 4, process)
    os.killpg(process.pid, signal.SIGINT)
    assert process.stderr is not None
    while "again to stop at once" not in process.stderr.readline():
        pass
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "stopped at once" in said
    assert all(ends(int(pid), 60.0) for pid in (tmp_path / "paid").read_text(encoding="utf-8").split())
