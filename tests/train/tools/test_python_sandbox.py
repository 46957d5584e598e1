"""What a model's code gets: state within a rollout, its output, its value or its error, and limits that say what they did."""

import asyncio
from pathlib import Path

import pytest

from gym.errors import ConfigError
from gym.train.grpo.tools import jailer
from gym.train.grpo.tools.base import Tool, invoke
from gym.train.grpo.tools.limits import Isolation, Limits
from gym.train.grpo.tools.python_sandbox import PythonSandbox, PythonSession
from tests.train.tools.conftest import DAEMON, SMALL, in_mode, processes, run, settled


async def test_state_lasts_within_a_session_and_no_longer(sandbox: PythonSandbox) -> None:
    async with sandbox.open() as first, sandbox.open() as second:
        await run(first, "import math\nx = 6")
        assert await run(first, "x * math.factorial(3)") == "36"
        assert "NameError" in (await second.call({"code": "x"})).text
    async with sandbox.open() as third:
        assert "NameError" in (await third.call({"code": "x"})).text


async def test_output_comes_back_in_order_with_the_value_last(session: PythonSession) -> None:
    code = (
        "import sys, os\nprint('one')\nprint('two', file=sys.stderr)\nos.system('echo three')\nprint('é𝛑')\n[4, 'five']"
    )
    assert await run(session, code) == "one\ntwo\nthree\né𝛑\n[4, 'five']"


async def test_nothing_printed_and_no_value_is_said(session: PythonSession) -> None:
    assert await run(session, "x = None\nx") == "(no output)"
    assert await run(session, "") == "(no output)"


async def test_an_error_shows_the_models_own_lines_and_keeps_the_state(session: PythonSession) -> None:
    await run(session, "x = 1\ndef half(n):\n    return n / 0")
    result = await session.call({"code": "print('before')\nimport json\nhalf(json.loads('4'))"})
    assert (result.error, result.label) == (True, "exception")
    assert result.text.startswith("before\nTraceback (most recent call last):\n")
    assert "return n / 0" in result.text
    assert result.text.endswith("ZeroDivisionError: division by zero")
    assert "interpreter.py" not in result.text
    assert await run(session, "x") == "1"


async def test_an_error_inside_a_library_hides_the_librarys_lines(session: PythonSession) -> None:
    text = (await session.call({"code": "import json\njson.loads('{')"})).text
    assert "JSONDecodeError" in text
    assert "decoder.py" not in text


WRONG = (
    ("x = = 1", "SyntaxError"),
    ("print('open", "SyntaxError"),
    ("\0", "source code string cannot contain null bytes"),
    ("'\ud800'", "UnicodeEncodeError"),
    ("input('name?')", "EOFError"),
    ("def f(): f()\nf()", "RecursionError"),
    ("exit(3)", "SystemExit: 3"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ("bytearray(10 << 30)", "MemoryError"),
    ("open('big', 'wb').write(bytes(5 << 20))", "OSError: [Errno 27]"),
    ("files = [open('/dev/null') for _ in range(300)]", "OSError: [Errno 24]"),
    ("class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd", "Odd"),
    ("class Odd:\n    def __repr__(self): raise ValueError('unshowable')\nOdd()", "ValueError: unshowable"),
    ("10 ** 10000", "ValueError: Exceeds the limit"),
)


async def test_what_code_may_get_wrong_is_an_error_that_keeps_the_state(session: PythonSession) -> None:
    await run(session, "kept = 1")
    for code, kind in WRONG:
        result = await session.call({"code": code})
        assert (result.error, result.label) == (True, "exception"), result
        assert kind in result.text
        assert await run(session, "kept") == "1"


async def test_long_output_is_cut_in_the_middle_and_counted(session: PythonSession) -> None:
    text = await run(session, "print('a' * 5000 + 'é' * 5000, end='')\n'b' * 9000")
    assert text == (
        "a" * 1000 + "\n[… 8,000 characters left out here …]\n" + "é" * 1000 + "\n"
        "'" + "b" * 999 + "\n[… 7,002 characters left out here …]\n" + "b" * 999 + "'"
    )  # fmt: skip


STOPPED = (
    ("while True: pass", "cpu", "more than 1 s of computing"),
    ("9 ** 9 ** 9", "cpu", "more than 1 s of computing"),
    ("import os\nos._exit(7)", "died", "ended with exit code 7"),
    ("import ctypes\nctypes.string_at(0)", "died", "ended with SIGSEGV"),
    ("import signal\nsignal.raise_signal(signal.SIGKILL)", "died", "ended with SIGKILL"),
    ("for _ in range(1024): print('x' * (1 << 20))", "output", "more than 4 MB of output"),
    ("import os\nwhile True: os.write(2, b'x' * (1 << 20))", "output", "more than 4 MB of output"),
)


async def test_code_that_is_stopped_says_why_and_the_session_goes_on(session: PythonSession) -> None:
    await run(session, "open('file', 'w').write('kept')")
    for restarts, (code, label, said) in enumerate(STOPPED, start=1):
        await run(session, "x = 1")
        result = await session.call({"code": code})
        assert (result.error, result.label, session.restarts) == (True, label, restarts), result
        assert said in result.text
        assert "variables and imports are lost" in result.text
        assert len(result.text) < SMALL.output_chars + 500
        assert await run(session, "'x' in globals(), open('file').read()") == "(False, 'kept')"


@pytest.mark.parametrize(
    "code", ["import time\ntime.sleep(10**6)", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"]
)
async def test_code_that_waits_forever_is_stopped(sandbox: PythonSandbox, code: str) -> None:
    waiting = PythonSandbox(SMALL.model_copy(update={"wall_s": 0.5}), (await sandbox.isolation()).mode)
    async with waiting.open() as session:
        result = await session.call({"code": code})
        assert (result.label, session.restarts) == ("wall", 1)
        assert await run(session, "1 + 1") == "2"


async def test_memory_of_several_processes_is_counted_together(session: PythonSession) -> None:
    code = """
import os, signal
for _ in range(4):
    if os.fork() == 0:
        held = bytearray(100 << 20)
        for page in range(0, len(held), 4096):
            held[page] = 1
        signal.pause()
signal.pause()
"""
    assert (await session.call({"code": code})).label == "memory"
    assert await run(session, "1 + 1") == "2"


async def test_computing_in_children_whose_end_nobody_hears_counts(isolation: Isolation) -> None:
    code = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(9):
    if os.fork() == 0:
        while time.process_time() < 0.15: pass
        os._exit(0)
    try: os.wait()
    except ChildProcessError: pass
"""
    async with PythonSandbox(SMALL.model_copy(update={"cpu_s": 0.6}), isolation.mode).open() as session:
        assert (await session.call({"code": code})).label == "cpu"


async def test_a_fork_bomb_is_held_and_ended(session: PythonSession) -> None:
    result = await session.call({"code": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"})
    assert result.label in {"cpu", "memory", "processes"}
    assert await run(session, "1 + 1") == "2"


async def test_processes_are_counted(session: PythonSession) -> None:
    code = """
import threading
threading.stack_size(1 << 15)
hold = threading.Event()
for _ in range(100): threading.Thread(target=hold.wait).start()
"""
    result = await session.call({"code": code})
    assert "can't start new thread" in result.text or result.label == "processes"


async def test_a_child_process_can_be_used(session: PythonSession) -> None:
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, text=True).stdout"
    assert await run(session, code) == "'42\\n'"


async def test_a_fork_that_falls_through_does_not_answer_twice(session: PythonSession) -> None:
    await run(session, "import os\npid = os.fork()")
    assert {await run(session, "pid > 0") for _ in range(30)} == {"True"}


async def test_threads_and_signal_handlers_left_behind_do_no_harm(session: PythonSession) -> None:
    code = """
import signal, threading
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGALRM):
    signal.signal(number, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
def spin():
    while True: pass
threading.Thread(target=spin).start()
"""
    await run(session, code)
    assert await run(session, "1 + 1") == "2"


async def test_between_calls_everything_is_stopped(session: PythonSession, marker: str) -> None:
    await run(session, f"{DAEMON}\ndaemon({marker!r})")
    (process,) = processes(marker)
    await settled(lambda: (process / "stat").read_text().rpartition(")")[2].split()[0] == "T")
    assert await run(session, "1 + 1") == "2"


@pytest.mark.parametrize("ending", ["close", "cancel", "restart"])
async def test_a_daemon_left_behind_is_gone_afterwards(sandbox: PythonSandbox, ending: str, marker: str) -> None:
    async with sandbox.open() as session:
        await run(session, f"{DAEMON}\ndaemon({marker!r})")
        assert len(processes(marker)) == 1
        if ending == "restart":
            assert (await session.call({"code": "os._exit(0)"})).label == "died"
            assert processes(marker) == []
        if ending == "cancel":
            task = asyncio.create_task(session.call({"code": "import time\ntime.sleep(1000)"}))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert processes(marker) == []
            assert "NameError" in (await session.call({"code": "daemon"})).text
    assert processes(marker) == []


async def test_closed_streams_and_a_broken_namespace_do_not_end_the_session(session: PythonSession) -> None:
    await session.call({"code": "import os, sys\nsys.stdout.close()\nos.close(1); os.close(2)"})
    await session.call({"code": "import builtins\nbuiltins.__dict__.clear()"})
    await session.call({"code": "1"})
    assert await run(session, "1 + 1") == "2"


async def test_64_sessions_at_once_never_mix(sandbox: PythonSandbox) -> None:
    async def rollout(number: int) -> tuple[str, str]:
        async with sandbox.open() as session:
            first = await run(
                session, f"open('mine', 'w').write('{number}')\nx = {number}\nfor _ in range(50): print(x)"
            )
            return first, await run(session, "import os\nopen('mine').read(), x, os.listdir()")

    results = await asyncio.gather(*map(rollout, range(64)))
    for number, (first, second) in enumerate(results):
        assert first == "\n".join([str(number)] * 50)
        assert second == f"('{number}', {number}, ['mine'])"


async def test_a_long_call_holds_up_nobody(sandbox: PythonSandbox) -> None:
    async with sandbox.open() as slow, sandbox.open() as quick:
        spinning = asyncio.create_task(slow.call({"code": "while True: pass"}))
        assert await run(quick, "1 + 1") == "2"
        assert not spinning.done()
        assert (await spinning).label == "cpu"


async def test_a_session_that_is_not_used_starts_nothing(
    sandbox: PythonSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox.isolation()
    monkeypatch.setattr(jailer, "start", None)
    async with sandbox.open():
        pass


async def test_the_working_folder_begins_empty_and_is_removed(sandbox: PythonSandbox) -> None:
    hostile = """
import os
os.mkdir('closed')
open('closed/file', 'w').close()
try: os.chmod('closed', 0)
except PermissionError: os.mkdir('shut', 0)
here = os.getcwd()
for _ in range(1500):
    os.mkdir('deep'); os.chdir('deep')
"""
    async with sandbox.open() as session:
        assert await run(session, "import os\nos.listdir()") == "[]"
        folder = Path((await run(session, "os.getcwd()")).strip("'"))
        await run(session, hostile)
    assert not folder.exists()


async def test_numpy_and_sympy_can_be_used(sandbox: PythonSandbox) -> None:
    roomy = await in_mode((await sandbox.isolation()).mode, Limits())
    async with roomy.open() as session:
        code = "import numpy, sympy\nx = sympy.Symbol('x')\nsympy.factor(x**2 - 1), int(numpy.arange(4).sum())"
        assert await run(session, code) == "((x - 1)*(x + 1), 6)"


async def test_the_strongest_mode_that_starts_is_taken_and_said() -> None:
    isolation = await PythonSandbox(SMALL).isolation()
    better = jailer.MODES[: jailer.MODES.index(isolation.mode)]
    assert len(isolation.refused) == len(better)
    for mode in better:
        with pytest.raises(ConfigError, match="cannot run code on this system"):
            await PythonSandbox(SMALL, mode).isolation()
    assert repr(isolation.mode) in isolation.text


def test_a_person_is_told_what_is_not_contained() -> None:
    bare = Isolation(mode="limits only", layers=(), refused=("namespaces: Operation not permitted",))
    assert set(bare.missing) == {
        "files", "environment", "signals", "network", "processes", "process count", "folder size"
    }  # fmt: skip
    assert "namespaces: Operation not permitted" in bare.text
    assert "no protection of network: code can open connections" in bare.text
    whole = Isolation(mode="namespaces", layers=("user", "pid", "mnt", "net", "own count"))
    assert whole.missing == ()


async def test_it_is_a_tool_whose_arguments_are_checked(session: PythonSession, sandbox: PythonSandbox) -> None:
    tool: Tool = sandbox
    assert (await invoke(tool, session, '{"code": "1 + 1"}')).text == "2"
    for wrong in ("{}", '{"code": 1}', '{"code": "1", "more": 2}', f'{{"code": "{"#" * 200_001}"}}'):
        assert (await invoke(tool, session, wrong)).label == "arguments"


async def test_odd_characters_pass(session: PythonSession) -> None:
    assert await run(session, "print(ascii('\\ud800é'))\n'\\ud800é'") == "'\\ud800\\xe9'\n'\\ud800é'"
    assert await run(session, "import os\n_ = os.write(1, b'\\xff\\xfe ok')") == "\ufffd\ufffd ok"
