"""calls.jsonl survives kills, torn lines, full disks and every text."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gym.core.chat import Completion, Message, Sampling
from gym.errors import ConfigError, StorageError
from gym.llm.asked import Asked
from gym.llm.call_facts import Facts
from gym.llm.call_line import Call, CallError, Request
from gym.llm.call_log import CallLog
from gym.llm.group_commit import GROUP

AT = "2025-01-01T00:00:00.000+00:00"


def call(number: int, text: str | None = "4") -> Call:
    messages, sampling = (Message(role="user", content=f"problem {number}"),), Sampling(sample=number)
    return Call(
        key=Asked.of("m", messages, sampling).key,
        stage="rollout",
        model="m",
        request=Request(messages=messages, sampling=sampling),
        completion=None if text is None else Completion(text=text),
        error=CallError(type="ServerFailed", message="503", status=503) if text is None else None,
        at=AT,
    )


def append(log: CallLog, one: Call) -> None:
    asked = Asked.of(one.model, one.request.messages, one.request.sampling)
    outcome = one.completion or one.error
    assert outcome is not None
    log.append(asked._replace(key=one.key), outcome, stage=one.stage, at=one.at)


def write(path: Path, *calls: Call) -> None:
    with CallLog.open(path) as log:
        for one in calls:
            append(log, one)


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


def test_a_log_cut_anywhere_in_its_last_line_opens_with_every_whole_line(tmp_path: Path) -> None:
    path, calls = tmp_path / "calls.jsonl", [call(1), call(2, "é"), call(3, 'say "usage":{"prompt":1}')]
    write(path, *calls)
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for size in range(last, len(whole) + 1):
        path.write_bytes(whole[:size])
        kept = calls if size >= len(whole) - 1 else calls[:2]  # a line that lacks only its newline is whole
        with CallLog.open(path) as log:
            assert list(log) == kept
            append(log, call(4))
        with CallLog.open(path) as log:
            assert list(log) == [*kept, call(4)]
            assert log.find(call(4).key) == call(4).completion


def test_a_last_line_whole_but_for_its_newline_is_kept_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "calls.jsonl"
    write(path, call(1), call(2))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with CallLog.open(path) as log:
        assert list(log) == [call(1), call(2)]
    assert path.read_bytes() == whole
    assert not caplog.records


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
from test_call_log import CallLog, append, call
log = CallLog.open(sys.argv[1])
for number in range(10_000_000):
    append(log, call(number))
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
        append(log, call(1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, hard))  # the next line fits in part
        try:
            with pytest.raises(StorageError, match="cannot be written"):
                append(log, call(2))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert log.find(call(2).key) is None
        append(log, call(3))
    with CallLog.open(path) as log:
        assert list(log) == [call(1), call(3)]


def test_a_folder_in_the_logs_place_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be opened"):
        CallLog.open(tmp_path)


def test_closing_twice_does_nothing(tmp_path: Path) -> None:
    log = CallLog.open(tmp_path / "calls.jsonl")
    log.close()
    log.close()


def test_two_requests_that_share_sixteen_bytes_of_key_never_get_each_others_answer(tmp_path: Path) -> None:
    first, second = call(1, "mine").key, call(1).key[:32] + "0" * 32
    write(tmp_path / "calls.jsonl", call(1, "mine"), call(2, "yours").model_copy(update={"key": second}))
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        found = log.find(first)
        assert found is not None
        assert found.text == "mine"
        assert log.find(second) is None  # asked again, rather than answered wrongly
        assert (first in log, second in log) == (True, False)


def test_a_log_of_another_layout_opens_and_serves(tmp_path: Path) -> None:
    path, calls = tmp_path / "calls.jsonl", [call(1, "≤"), call(2, None)]
    lines = [json.dumps(one.model_dump(), sort_keys=True, ensure_ascii=False) for one in calls]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with CallLog.open(path) as log:
        assert list(log) == calls
        assert log.find(calls[0].key) == calls[0].completion
        assert log.find(calls[1].key) is None


def test_an_answer_longer_than_one_read_is_served_whole(tmp_path: Path) -> None:
    write(tmp_path / "calls.jsonl", call(1, "long " * 20_000), call(2))
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        assert log.find(call(1).key) == call(1, "long " * 20_000).completion


@pytest.mark.parametrize("damage", [b"\0" * 8, b'"broken"', b"\xff" * 8])
def test_damage_inside_a_line_is_named_when_the_line_is_served(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "calls.jsonl"
    write(path, call(1), call(2), call(3))
    whole = bytearray(path.read_bytes())
    place = whole.index(b"problem 2")
    whole[place : place + 8] = damage
    path.write_bytes(whole)
    with CallLog.open(path) as log:
        assert log.find(call(3).key) is not None
        with pytest.raises(
            ConfigError, match=r"calls.jsonl:2: not a call record; restore the file or delete this line"
        ):
            log.find(call(2).key)
        with pytest.raises(ConfigError, match=r"calls.jsonl:2"):
            list(log)


def test_a_file_changed_under_an_open_log_is_named_and_serves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    write(path, call(1), call(2))
    with CallLog.open(path) as log:
        path.write_bytes(b"x" * path.stat().st_size)
        with pytest.raises(ConfigError, match=r"calls.jsonl:1: not a call record"):
            log.find(call(2).key)
        with pytest.raises(ConfigError, match=r"calls.jsonl:1: not a call record"):
            assert call(2).key in log


def test_opening_tells_every_call_in_order_and_which_models_answered(tmp_path: Path) -> None:
    answers = [Completion(text="", model=name, system_fingerprint=print_) for name, print_ in (("a", None), ("b", "f"))]
    calls = [call(1).model_copy(update={"completion": answer}) for answer in (*answers, answers[0])]
    seen: list[Facts] = []
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        for one in (*calls, call(2, None)):
            append(log, one)
        live = {model: (list(names.returned), list(names.fingerprints)) for model, names in log.models.items()}
    with CallLog.open(tmp_path / "calls.jsonl", seen.append) as log:
        assert {model: (list(names.returned), list(names.fingerprints)) for model, names in log.models.items()} == live
    assert live == {"m": (["a", "b"], ["", "f"])}
    assert [(facts.returned, facts.spent.failed) for facts in seen] == [
        ("a", False),
        ("b", False),
        ("a", False),
        ("", True),
    ]


def test_many_appends_share_few_syncs_and_closing_syncs_the_rest(tmp_path: Path) -> None:
    path, sizes = tmp_path / "calls.jsonl", list[int]()
    with CallLog.open(path, sync=lambda handle: sizes.append(os.fstat(handle).st_size)) as log:
        for number in range(1000):
            append(log, call(number))
        whole = path.stat().st_size
    assert sizes[-1] == whole
    assert len(sizes) <= 1000 / GROUP * 4  # 64 a time, and some more where 50 ms were over first


def test_the_sixty_fourth_unsynced_call_wakes_the_syncer(tmp_path: Path) -> None:
    synced = threading.Event()
    with CallLog.open(tmp_path / "calls.jsonl", sync=lambda handle: synced.set(), interval_s=3600) as log:
        for number in range(GROUP - 1):
            append(log, call(number))
        assert not synced.wait(0)
        append(log, call(GROUP))
        assert synced.wait(30)


def test_a_lone_call_is_synced_without_another(tmp_path: Path) -> None:
    synced = threading.Event()
    with CallLog.open(tmp_path / "calls.jsonl", sync=lambda handle: synced.set()) as log:
        append(log, call(1))
        assert synced.wait(30)


def test_a_disk_that_does_not_sync_is_said_and_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(handle: int) -> None:
        raise OSError(5, "Input/output error")

    with CallLog.open(tmp_path / "calls.jsonl", sync=refuse) as log:
        append(log, call(1))
    assert "could not be brought to the disk: Input/output error" in caplog.text
