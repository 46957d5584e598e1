"""A user's mistake is one clear message with its exit code: what, where, what to do; never a traceback, nothing lost."""

import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from gym.llm.call_log import CallLog

SCRIPTS = Path(__file__).parents[1] / "train"


def gym(folder: Path, *arguments: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """The command as a user runs it; `limit` is the largest file in bytes that the system lets it write."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI", "DEEPSEEK", "UTU"))}
    environment["PYTHONPATH"] = str(SCRIPTS)

    def small_disk() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-m", "gym", *arguments], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=120, preexec_fn=small_disk,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with twelve counting problems."""
    rows = [json.dumps({"question": f"How many are {n}?", "answer": f"{n}!"}) for n in range(12)]
    (tmp_path / "train.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


TRAIN = ("train", "--data", "train.jsonl", "--reward", "exact", "--epochs", "1", "--experiment-name", "x")
SCRIPTED = (*TRAIN, "--model", "scripted:desk_script:reply")


def refused(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """One message on standard error that holds `words`, the exit code, and no traceback."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(("gym: ", "Error: ")), done.stderr
    for word in words:
        assert word in last


def test_an_unknown_config_key_names_the_nearest_known_one(folder: Path) -> None:
    (folder / "run.yaml").write_text("grpo_goup_size: 3\n", encoding="utf-8")
    refused(gym(folder, "train", "run.yaml"), 2, "run.yaml", "'grpo_goup_size'", "did you mean 'grpo_group_size'")


def test_an_unknown_option_names_the_nearest_known_one(folder: Path) -> None:
    refused(gym(folder, "train", "--grop-size", "3"), 2, "--grop-size", "--group-size")


def test_a_concurrency_that_is_none_says_what_to_give(folder: Path) -> None:
    refused(gym(folder, *SCRIPTED, "--rollout-concurrency", "fast"), 2, "'fast'", "a number of 1 or more, or auto")
    assert gym(folder, *SCRIPTED, "--rollout-concurrency", "auto").returncode == 0


def test_a_missing_config_file_is_named(folder: Path) -> None:
    refused(gym(folder, "train", "nowhere.yaml"), 2, "'nowhere.yaml' does not exist")


def test_a_missing_data_file_is_named(folder: Path) -> None:
    refused(gym(folder, *SCRIPTED, "--data", "nowhere.jsonl"), 2, "nowhere.jsonl")


def test_a_run_without_data_or_model_says_what_to_give(folder: Path) -> None:
    refused(gym(folder, "train", "--model", "scripted:desk_script:reply"), 2, "--data")
    refused(gym(folder, *TRAIN), 2, "--model")


def test_an_empty_data_set_is_named(folder: Path) -> None:
    (folder / "empty.jsonl").write_text("\n\n", encoding="utf-8")
    refused(gym(folder, *SCRIPTED, "--data", "empty.jsonl"), 2, "empty.jsonl")


def test_a_data_set_without_answers_says_what_to_do(folder: Path) -> None:
    (folder / "blank.jsonl").write_text('{"question": "How many are 3?"}\n{"question": "And 4?"}\n', encoding="utf-8")
    refused(gym(folder, *SCRIPTED, "--data", "blank.jsonl"), 2, "answer", "--answer-key")


def test_a_malformed_row_is_named_with_its_line(folder: Path) -> None:
    (folder / "bad.jsonl").write_text(
        '{"question": "How many are 3?", "answer": "3!"}\n{"question": \n', encoding="utf-8"
    )
    refused(gym(folder, *SCRIPTED, "--data", "bad.jsonl"), 2, "bad.jsonl", "2")


def test_an_unknown_reward_names_the_nearest_known_one(folder: Path) -> None:
    refused(gym(folder, *SCRIPTED, "--reward", "exat"), 2, "'exat'", "did you mean 'exact'")


def test_a_dead_endpoint_is_told_before_anything_is_spent(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = gym(folder, *TRAIN, "--model", "m", "--base-url", f"http://127.0.0.1:{port}/v1")
    refused(done, 6, f"127.0.0.1:{port}")


@pytest.fixture
async def closed_door() -> Iterator[str]:  # type: ignore[misc]
    """A server that accepts no key."""

    async def refuse(request: web.Request) -> web.Response:
        return web.json_response({"error": {"message": "Incorrect API key provided"}}, status=401)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", refuse)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    await runner.cleanup()


async def test_a_wrong_key_is_told_without_showing_it(folder: Path, closed_door: str) -> None:
    import asyncio

    done = await asyncio.to_thread(
        gym, folder, *TRAIN, "--model", "m", "--base-url", closed_door, "--api-key", "sk-secret-123"
    )
    refused(done, 6, "401", "key")
    assert "sk-secret-123" not in done.stderr + done.stdout
    written = "".join(path.read_text("utf-8", "replace") for path in folder.rglob("*") if path.is_file())
    assert "sk-secret-123" not in written


def test_a_full_disk_is_one_message_and_nothing_paid_is_lost(folder: Path) -> None:
    refused(gym(folder, *SCRIPTED, limit=40_000), 5, "calls.jsonl", "what was recorded before stays")
    with CallLog.open(folder / "output" / "x" / "calls.jsonl") as log:
        before = [call.key for call in log]
    assert before
    assert gym(folder, *SCRIPTED).returncode == 0
    with CallLog.open(folder / "output" / "x" / "calls.jsonl") as log:
        after = [call.key for call in log if call.completion is not None]
    assert after[: len(before)] == before
    assert len(after) == len(set(after))


def test_an_output_folder_that_cannot_be_one_is_told(folder: Path) -> None:
    (folder / "file").write_text("", encoding="utf-8")
    refused(gym(folder, *SCRIPTED, "--output-dir", "file"), 5, "file", "cannot be used")


def test_a_damaged_run_configuration_is_told(folder: Path) -> None:
    assert gym(folder, *SCRIPTED).returncode == 0
    (folder / "output" / "x" / "config.yaml").write_text("[1,2", encoding="utf-8")
    refused(gym(folder, *SCRIPTED), 2, "config.yaml", "damaged")


def test_metadata_that_no_file_can_hold_is_refused_before_the_run(folder: Path) -> None:
    (folder / "odd.jsonl").write_text('{"question": "How many are 3?", "answer": "3!", "x": NaN}\n', encoding="utf-8")
    done = gym(folder, *SCRIPTED, "--data", "odd.jsonl")
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 2)


def test_under_a_c_locale_everything_is_utf_8(folder: Path) -> None:
    rows = [
        json.dumps({"question": f"How many ≤ é 数 are {n}?", "answer": f"{n}!"}, ensure_ascii=False) for n in range(6)
    ]
    (folder / "數.jsonl").write_text("\n".join(rows), encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONPATH": str(SCRIPTS), "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "gym", *SCRIPTED, "--data", "數.jsonl", "--experiment-name", "a/b"],
        cwd=folder, env=environment, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = (
        (folder / "output" / "a-b" / "epoch_0" / "step_0" / "rollout.jsonl").read_text(encoding="utf-8").splitlines()
    )
    assert "≤ é 数" in json.loads(lines[0])["problem"]["query"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_result_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "g.jsonl").write_text(json.dumps({"gold": "4", "response": "4"}), encoding="utf-8")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gym", "grade", "g.jsonl", "--json"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE,
            text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 5
    assert done.stderr == "gym: the result could not be written: No space left on device\n"


@pytest.mark.parametrize(
    ("closed", "told"), [("2>&-", "correct"), ("<&-", "correct"), (">&-", ""), ("<&- >&- 2>&-", "")]
)
def test_a_standard_stream_that_the_caller_closed_is_no_crash(tmp_path: Path, closed: str, told: str) -> None:
    (tmp_path / "g.jsonl").write_text(json.dumps({"gold": "4", "response": "4"}), encoding="utf-8")
    line = f'"{sys.executable}" -m gym grade g.jsonl {closed}'
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert told in done.stdout
