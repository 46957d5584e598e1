"""Workers: killed when they hang, replaced when they die, silent when interrupted, gone when the parent is."""

import asyncio
import operator
import os
import pickle
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from gym.core.problem import Failure
from gym.train.grpo.rewards.workers import Workers


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(1, limit_s=2.0) as pool:
        yield pool


async def test_a_result_comes_back(workers: Workers) -> None:
    assert await workers.call(operator.add, 2, 3) == 5


async def test_an_exception_becomes_a_failure_that_names_it(workers: Workers) -> None:
    failure = await workers.call(operator.truediv, 1, 0)
    assert failure == Failure(boundary="reward", type="ZeroDivisionError", message="division by zero")


async def test_the_deadline_counts_from_a_tasks_start_and_not_its_queueing(workers: Workers) -> None:
    results = await asyncio.gather(*(workers.call(operator.add, number, 1) for number in range(500)))
    assert results == list(range(1, 501))


async def test_queued_tasks_outlive_a_limit_that_their_sum_exceeds() -> None:
    with Workers(1, limit_s=1.0) as pool:
        results = await asyncio.gather(*(pool.call(time.sleep, 0.4) for _ in range(4)))
    assert results == [None] * 4


async def test_a_hung_task_is_killed_and_its_worker_replaced() -> None:
    with Workers(1, limit_s=1.0) as pool:
        before = await pool.call(os.getpid)
        hung = await pool.call(pow, 9, 9**9)
        after = await pool.call(os.getpid)
    assert isinstance(hung, Failure)
    assert (hung.boundary, hung.type) == ("reward", "Timeout")
    assert "1 s" in hung.message
    assert isinstance(after, int)
    assert after != before


async def test_a_task_that_takes_its_worker_down_is_a_failure_and_the_next_one_works() -> None:
    with Workers(1, limit_s=20.0) as pool:
        died = await pool.call(os._exit, 3)
        assert isinstance(died, Failure)
        assert died.type == "WorkerDied"
        assert "code 3" in died.message
        assert await pool.call(operator.add, 1, 1) == 2


async def test_a_worker_killed_while_idle_is_replaced() -> None:
    with Workers(1, limit_s=20.0) as pool:
        worker = await pool.call(os.getpid)
        assert isinstance(worker, int)
        ended = os.pidfd_open(worker)
        os.kill(worker, signal.SIGKILL)
        select.select([ended], [], [])
        os.close(ended)
        assert await pool.call(operator.add, 1, 1) == 2


async def test_leaving_by_system_exit_is_a_failure(workers: Workers) -> None:
    failure = await workers.call(sys.exit, "enough")
    assert isinstance(failure, Failure)
    assert (failure.type, failure.message) == ("SystemExit", "enough")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds a process's data")
async def test_memory_is_bounded() -> None:
    with Workers(1, limit_s=20.0, memory_mb=1024) as pool:
        failure = await pool.call(bytearray, 2 << 30)
    assert isinstance(failure, Failure)
    assert failure.type == "MemoryError"


def test_it_works_off_the_main_thread_and_across_event_loops(workers: Workers) -> None:
    def once(number: int) -> object:
        return asyncio.run(workers.call(operator.add, number, 1))

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(once, range(6))) == [1, 2, 3, 4, 5, 6]


def test_a_second_event_loop_finds_the_worker_of_the_first(workers: Workers) -> None:
    first, second = (asyncio.run(workers.call(os.getpid)) for _ in range(2))
    assert first == second != os.getpid()


async def test_a_long_text_goes_and_comes_whole(workers: Workers) -> None:
    text = "a long answer " * 400_000
    assert await workers.call(len, text) == len(text)
    assert await workers.call(str.upper, text) == text.upper()


async def test_getting_ready_is_on_no_tasks_clock() -> None:
    with Workers(1, limit_s=0.5) as pool:
        pool.prepare(partial(time.sleep, 1.0))
        assert await pool.call(operator.add, 1, 1) == 2


async def test_a_living_worker_prepares_what_is_asked_for_later_and_once(workers: Workers, tmp_path: Path) -> None:
    assert await workers.call(operator.add, 1, 1) == 2
    workers.prepare(tmp_path.joinpath("ready").mkdir)  # fails when done twice, which the task must not notice
    for _ in range(2):
        assert await workers.call(os.listdir, tmp_path) == ["ready"]


async def test_a_module_is_found_where_this_process_finds_it_now(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await workers.call(abs, -1) == 1
    (tmp_path / "found_late.py").write_text("def twice(number):\n    return 2 * number\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert await workers.call(import_module("found_late").twice, 4) == 8


async def test_a_function_that_cannot_travel_is_an_error_and_the_worker_stays(workers: Workers) -> None:
    before = await workers.call(os.getpid)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        await workers.call(lambda: 1)
    assert await workers.call(os.getpid) == before


async def test_a_cancelled_call_ends_its_worker_and_those_who_wait_go_on() -> None:
    with Workers(1, limit_s=600.0) as pool:
        before = await pool.call(os.getpid)
        hung = asyncio.create_task(pool.call(pow, 9, 9**9))
        gone = asyncio.create_task(pool.call(operator.add, 1, 1))
        last = asyncio.create_task(pool.call(os.getpid))
        await asyncio.sleep(0)
        gone.cancel()
        hung.cancel()
        after = await last
        assert hung.cancelled()
        assert gone.cancelled()
    assert isinstance(after, int)
    assert after != before


FORKS_AND_ENDS = """
import os, signal
if os.fork() == 0:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    signal.alarm(20)
    signal.pause()
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
async def test_a_process_that_a_task_left_behind_delays_nothing_beyond_the_deadline() -> None:
    with Workers(1, limit_s=1.0) as pool:
        failure = await pool.call(exec, FORKS_AND_ENDS)
        assert isinstance(failure, Failure)
        assert failure.type in ("Timeout", "WorkerDied")
        assert await pool.call(operator.add, 1, 1) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs nice")
async def test_a_worker_gives_way_to_the_event_loop(workers: Workers) -> None:
    assert await workers.call(os.nice, 0) == min(19, os.nice(0) + 5)


async def test_a_closed_pool_starts_again_when_asked() -> None:
    pool = Workers(1)
    assert await pool.call(operator.add, 1, 1) == 2
    pool.close()
    assert await pool.call(operator.add, 2, 2) == 4
    pool.close()


UNGUARDED = """
import asyncio, operator
from gym.train.grpo.rewards.workers import shared
print("main runs")
print(asyncio.run(shared().call(operator.add, 40, 2)))
asyncio.run(shared().call(print, "printed by a reward"))
"""


def test_a_script_without_a_main_guard_runs_once_and_its_exit_does_not_hang(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == ["main runs", "42", ""]
    assert "printed by a reward" in done.stderr


HANGS = """
import asyncio
from gym.train.grpo.rewards.workers import Workers
if __name__ == "__main__":
    with Workers(1, limit_s=1.0) as pool:
        print(asyncio.run(pool.call(exec, "print('as far as here'); import time; time.sleep(60)")).type)
"""


def test_what_a_reward_printed_before_it_hung_is_not_lost_with_its_worker(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(HANGS)
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, env=usual)
    assert done.stdout == "Timeout\n", done.stderr
    assert "as far as here" in done.stderr


INTERRUPTED = """
import asyncio, os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background inherits an ignored one
from gym.train.grpo.rewards.workers import Workers
pool = Workers(2, limit_s=600)
async def main():
    print(await pool.call(os.getpid), flush=True)
    await pool.call(time.sleep, 600)
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def test_ctrl_c_reaches_the_parent_alone_and_prints_no_traceback() -> None:
    with _parent() as parent:
        os.killpg(parent.pid, signal.SIGINT)
        out, err = parent.communicate(timeout=120)
    assert out.strip() == "stopped"
    assert err == ""
    assert parent.returncode == 0


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfd to wait for a process that is not a child")
def test_a_killed_parent_leaves_no_idle_worker_behind() -> None:
    with _parent(INTERRUPTED.replace("await pool.call(time.sleep, 600)", "await asyncio.sleep(600)")) as parent:
        worker = os.pidfd_open(parent.worker)
        parent.kill()
        ended, _, _ = select.select([worker], [], [], 60)
        os.close(worker)
    assert ended


class _Parent(subprocess.Popen[str]):
    worker: int


def _parent(script: str = INTERRUPTED) -> _Parent:
    parent = _Parent(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout is not None
    parent.worker = int(parent.stdout.readline())
    return parent
