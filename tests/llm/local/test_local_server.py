"""A real llama.cpp server, from start to its end, however that comes."""

import asyncio
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gym.errors import ConfigError
from gym.llm.local.catalogue import CATALOGUE, is_embedded
from gym.llm.local.cores import available_cores
from gym.llm.local.server import LocalServer, serve
from gym.llm.local.weights import weights_digest

Reply = tuple[int, dict[str, Any]]


async def ask(server: LocalServer, text: str, **more: Any) -> Reply:
    body = {
        "model": server.model,
        "messages": [{"role": "user", "content": text}],
        "max_tokens": 16,
        "temperature": 0,
    } | more
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{server.base_url}/chat/completions", json=body) as response,
    ):
        return response.status, await response.json()


def text_of(reply: Reply) -> str:
    status, body = reply
    assert status == 200, body
    return str(body["choices"][0]["message"]["content"])


async def test_a_server_answers_on_every_slot_at_once(smollm: Path) -> None:
    async with serve(str(smollm), slots=4, context=256) as server:
        replies = await asyncio.gather(*(ask(server, f"Count to {n}.") for n in range(4)))
    assert all(text_of(reply) for reply in replies)


async def test_the_digest_is_read_from_the_file_that_was_loaded(smollm: Path) -> None:
    async with serve("local:smollm2-135m", slots=1, context=256) as server:
        assert server.path == smollm
        assert server.sha256 == weights_digest(smollm) == CATALOGUE["smollm2-135m"].sha256
    assert weights_digest(smollm) == server.sha256


async def test_temperature_zero_gives_the_same_answer_twice(smollm: Path) -> None:
    async with serve(str(smollm), slots=1, context=256) as server:
        first, second = [text_of(await ask(server, "Name a colour.")) for _ in range(2)]
    assert first == second != ""


async def test_a_json_schema_constrains_the_answer(smollm: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": ["apple", "pear"]}},
        "required": ["kind"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "fruit", "schema": schema}}
    async with serve(str(smollm), slots=1, context=256) as server:
        answer = json.loads(text_of(await ask(server, "Tell me a story.", response_format=form, max_tokens=64)))
    assert answer["kind"] in ("apple", "pear")


async def test_a_prompt_beyond_the_slot_is_refused_with_400(smollm: Path) -> None:
    async with serve(str(smollm), slots=2, context=200) as server:
        assert server.context == 256
        status, body = await ask(server, "word " * 256)
        assert status == 400
        assert body["error"]["type"] == "exceed_context_size_error"
        assert text_of(await ask(server, "Hello"))


async def test_two_servers_run_side_by_side(smollm: Path) -> None:
    async with serve(str(smollm), slots=1, context=128) as one, serve(str(smollm), slots=1, context=128) as two:
        assert one.base_url != two.base_url
        assert text_of(await ask(one, "Hello")) == text_of(await ask(two, "Hello"))


async def test_a_server_ends_with_its_context_and_takes_its_log_along(smollm: Path) -> None:
    running = serve(str(smollm), slots=1, context=128)
    server = await running.__aenter__()
    assert server.alive
    assert not await running.__aexit__(ValueError, ValueError("the run failed"), None)
    assert not server.alive
    assert not server.log.exists()


async def test_a_server_that_dies_leaves_its_log(smollm: Path) -> None:
    async with serve(str(smollm), slots=1, context=128) as server:
        server.process.kill()
        await asyncio.to_thread(server.process.wait)
        assert not server.alive
    assert server.log.exists()
    assert str(server.log) in server.last_words()
    server.log.unlink()


async def test_a_ctrl_c_in_the_terminal_does_not_reach_the_server(smollm: Path) -> None:
    async with serve(str(smollm), slots=1, context=128) as server:
        assert os.getsid(server.process.pid) != os.getsid(0)
        assert os.getpgid(server.process.pid) != os.getpgid(0)


PARENT = """
import asyncio, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background inherits an ignored one
from gym.llm.local.server import serve
async def main():
    async with serve(sys.argv[1], slots=1, context=128) as server:
        print(server.process.pid, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_server_outlives_its_parent(smollm: Path, deadly: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(smollm)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        ended = os.pidfd_open(pid)
        parent.send_signal(deadly)
        try:
            assert select.select([ended], [], [], 30)[0], f"server {pid} outlived its parent"
        finally:
            os.close(ended)


def test_a_child_ends_with_its_standard_input_alone(smollm: Path) -> None:
    options = {"path": str(smollm), "name": "m", "slots": 1, "context": 128, "threads": 1, "cache_ram_mib": 0}
    command = [sys.executable, "-m", "gym.llm.local.child", json.dumps(options)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert re.fullmatch(rb"http://127\.0\.0\.1:\d+\n", child.stdout.readline())
        child.stdin.close()
        assert child.wait(30) == 0


async def test_a_broken_file_is_named_with_the_servers_reason(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(1000))
    with pytest.raises(ConfigError, match=r"broken\.gguf.*did not start.*bad GGUF version"):
        async with serve(str(broken)):
            pass


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(None, "does not exist"), (b"<html>", "is not a GGUF file: it starts with b'<htm'"), (b"", "is not a GGUF file")],
)
async def test_what_is_no_gguf_is_refused_before_any_server_starts(
    tmp_path: Path, content: bytes | None, complaint: str
) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        async with serve(str(path)):
            pass


@pytest.mark.parametrize(("model", "complaint"), [("local:smolm2", "smollm2-135m"), ("gpt-4o", "no embedded model")])
async def test_an_unknown_model_is_told_the_known_ones(model: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        async with serve(model):
            pass


def servers() -> set[str]:
    """Ids of the servers among our child processes."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int(process.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"gym.llm.local.child" in process.joinpath("cmdline").read_bytes():
                found.add(process.name)
    return found


async def test_a_start_that_is_cancelled_leaves_no_server(smollm: Path) -> None:
    async def start() -> None:
        async with serve(str(smollm), say=lambda text: loading.set()):
            raise AssertionError("cancelled before it answers")

    loading = asyncio.Event()
    task = asyncio.create_task(start())
    await loading.wait()
    assert servers()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not servers()


async def test_a_server_that_is_too_slow_is_given_up_and_killed(smollm: Path) -> None:
    with pytest.raises(ConfigError, match=r"does not answer within 0\.001 s"):
        async with serve(str(smollm), start_timeout_s=0.001):
            pass
    assert not servers()


async def test_changed_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path))
    changed = tmp_path / "models" / "smollm2-135m.gguf"
    changed.parent.mkdir()
    with changed.open("wb") as file:
        file.truncate(CATALOGUE["smollm2-135m"].size)
    with pytest.raises(ConfigError, match=r"has changed.*gym model get smollm2-135m"):
        async with serve("local:smollm2-135m"):
            pass


@pytest.mark.parametrize(
    ("model", "embedded"),
    [
        ("local:smollm2-135m", True),
        ("models/a.gguf", True),
        ("A.GGUF", True),
        ("deepseek-chat", False),
        ("org/model", False),
    ],
)
def test_an_embedded_model_is_known_by_its_name(model: str, embedded: bool) -> None:
    assert is_embedded(model) is embedded


QUOTAS: Mapping[str, int] = {"100000 100000": 1, "50000 100000": 1, "max 100000": len(os.sched_getaffinity(0))}


@pytest.mark.parametrize("text", QUOTAS)
def test_a_containers_quota_limits_the_threads(tmp_path: Path, text: str) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert available_cores(tmp_path / "cpu.max") == QUOTAS[text]
    assert available_cores(tmp_path / "missing") == len(os.sched_getaffinity(0))
