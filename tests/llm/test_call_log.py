"""calls.jsonl survives kills, torn lines, full disks and every text."""

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym.core.chat import Completion, Message, Sampling
from gym.errors import ConfigError, StorageError
from gym.llm.call_log import Call, CallError, CallLog, Request, call_key


def call(number: int, text: str | None = "4") -> Call:
    messages, sampling = (Message(role="user", content=f"problem {number}"),), Sampling(sample=number)
    return Call(
        key=call_key("m", messages, sampling),
        stage="rollout",
        model="m",
        request=Request(messages=messages, sampling=sampling),
        completion=None if text is None else Completion(text=text),
        error=CallError(type="ServerFailed", message="503", status=503) if text is None else None,
        at="2025-01-01T00:00:00.000+00:00",
    )


def write(path: Path, *calls: Call) -> None:
    with CallLog.open(path) as log:
        for one in calls:
            log.append(one)


def test_what_was_appended_is_there_after_reopening_in_order(tmp_path: Path) -> None:
    calls = [call(1), call(2, None), call(3, "≤ é 数 🎉 \ud83c { \n }")]
    write(tmp_path / "new" / "calls.jsonl", *calls)
    with CallLog.open(tmp_path / "new" / "calls.jsonl") as log:
        assert list(log) == calls
        assert len(log) == 3
        assert log.find(calls[0].key) == calls[0].completion
        assert log.find(calls[1].key) is None
        assert log.find(calls[2].key) == calls[2].completion


def test_the_file_is_pure_ascii_one_json_object_a_line(tmp_path: Path) -> None:
    write(tmp_path / "calls.jsonl", call(1, "≤ \ud83c\n"))
    (line,) = (tmp_path / "calls.jsonl").read_bytes().splitlines()
    assert line.isascii()
    assert json.loads(line).keys() == {"key", "stage", "model", "request", "completion", "error", "at"}


def test_the_first_completion_of_a_key_is_the_one_served(tmp_path: Path) -> None:
    write(tmp_path / "calls.jsonl", call(1, "first"), call(1, "second"))
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        found = log.find(call(1).key)
    assert found is not None
    assert found.text == "first"


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(min_value=1))
def test_a_log_cut_anywhere_opens_with_every_whole_line(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("log") / "calls.jsonl"
    calls = [call(1), call(2, "é"), call(3)]
    write(path, *calls)
    whole = path.read_bytes()
    size = cut % len(whole)
    path.write_bytes(whole[:size])
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    complete = sum(end - 1 <= size for end in ends)  # a line that lacks only its newline is whole
    with CallLog.open(path) as log:
        assert list(log) == calls[:complete]
        log.append(call(4))
    with CallLog.open(path) as log:
        assert list(log) == [*calls[:complete], call(4)]


def test_a_torn_last_line_is_dropped_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "calls.jsonl"
    write(path, call(1), call(2))
    path.write_bytes(path.read_bytes()[:-20])
    with CallLog.open(path) as log:
        assert len(log) == 1
    assert "dropped a torn last line" in caplog.text
    assert path.read_bytes().endswith(b"}\n")


def test_a_last_line_of_zeros_after_a_power_loss_is_torn_too(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    write(path, call(1))
    path.write_bytes(path.read_bytes() + b"\0" * 64)
    with CallLog.open(path) as log:
        assert list(log) == [call(1)]


@pytest.mark.parametrize("bad", ["garbage", "{}", '{"key": "00"}', "[]", "", "\0\0"])
def test_a_corrupt_line_in_the_middle_is_named(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "calls.jsonl"
    write(path, call(1), call(2))
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + bad.encode() + b"\n" + second)
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=r"calls.jsonl:2: not a call record"):
        CallLog.open(path)
    assert path.read_bytes() == before


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
from test_call_log import CallLog, call
log = CallLog.open(sys.argv[1])
for number in range(10_000_000):
    log.append(call(number))
    sys.stdout.write(f"{{number}}\\n")
    sys.stdout.flush()
"""


def test_kill_9_loses_no_call_that_was_handed_on(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    script = WRITER.format(folder=str(Path(__file__).parent))
    for round_ in range(1, 3):
        writer = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        used = [int(writer.stdout.readline()) for _ in range(25 * round_)]
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().splitlines(keepends=True)
        used += [int(line) for line in rest if line.endswith("\n")]
        writer.stdout.close()
        writer.wait()
        with CallLog.open(path) as log:
            assert all(log.find(call(number).key) is not None for number in used)


def test_a_full_disk_is_a_storage_error_and_the_log_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with CallLog.open(path) as log:
        log.append(call(1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, hard))  # the next line fits in part
        try:
            with pytest.raises(StorageError, match="cannot be written"):
                log.append(call(2))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert log.find(call(2).key) is None
        log.append(call(3))
    with CallLog.open(path) as log:
        assert list(log) == [call(1), call(3)]


def test_a_folder_in_the_logs_place_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be opened"):
        CallLog.open(tmp_path)


def test_closing_twice_does_nothing(tmp_path: Path) -> None:
    log = CallLog.open(tmp_path / "calls.jsonl")
    log.close()
    log.close()
