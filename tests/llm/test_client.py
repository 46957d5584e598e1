"""LLMClient and the background loop: sync calls work twice, inside a running loop, and to the end of a process."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from gym.errors import AccessDenied, ConfigError
from gym.llm import blocking
from gym.llm.client import LLMClient
from gym.llm.scripted_server import Answer, ScriptedServer, error_body


async def start(server: ScriptedServer) -> ScriptedServer:
    return await server.__aenter__()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    running = blocking.run(start(ScriptedServer(lambda body: f"re: {body['messages'][-1]['content']}")))
    yield running
    blocking.run(running.__aexit__())


def test_chat_works_twice_and_sends_temperature_zero(server: ScriptedServer) -> None:
    llm = LLMClient(api_key="sk-1", model="m", base_url=server.base_url, environ={})
    assert [llm.chat("a"), llm.chat("b", temperature=0.3, max_tokens=9)] == ["re: a", "re: b"]
    assert [(body["temperature"], body["max_tokens"]) for body in server.requests] == [(0, 4096), (0.3, 9)]
    assert server.headers[0]["Authorization"] == "Bearer sk-1"
    assert "sk-1" not in repr(llm)
    llm.close()
    llm.close()


async def test_chat_works_inside_a_running_loop(server: ScriptedServer) -> None:
    llm = LLMClient(model="m", base_url=server.base_url, environ={})
    assert llm.chat("sync, as in a notebook") == "re: sync, as in a notebook"
    assert await llm.achat("async") == "re: async"
    llm.close()


def test_the_async_twin_works_on_one_loop_after_another(server: ScriptedServer) -> None:
    llm = LLMClient(model="m", base_url=server.base_url, environ={})
    assert [asyncio.run(llm.achat("a")), asyncio.run(llm.achat("b")), llm.chat("c")] == ["re: a", "re: b", "re: c"]
    llm.close()


def test_sync_calls_from_many_threads_share_one_loop(server: ScriptedServer) -> None:
    llm = LLMClient(model="m", base_url=server.base_url, environ={})
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(llm.chat("x"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == ["re: x"] * 8
    assert sum(thread.name == "gym" for thread in threading.enumerate()) == 1
    llm.close()


def test_a_missing_key_is_said_when_the_client_is_made() -> None:
    with pytest.raises(ConfigError, match="set DEEPSEEK_API_KEY"):
        LLMClient(environ={})


def test_an_error_reaches_the_caller() -> None:
    running = blocking.run(start(ScriptedServer(lambda body: Answer(error_body("bad key"), 401))))
    llm = LLMClient(model="m", base_url=running.base_url, environ={})
    with pytest.raises(AccessDenied, match="bad key"):
        llm.chat("a")
    llm.close()
    blocking.run(running.__aexit__())


def test_a_sync_call_on_the_background_loop_itself_is_refused_instead_of_hanging() -> None:
    async def inner() -> None:
        blocking.run(asyncio.sleep(0))

    with pytest.raises(RuntimeError, match="use the async twin"):
        blocking.run(inner())


def test_a_scripted_client_needs_no_server() -> None:
    llm = LLMClient(model="scripted:gym.llm.scripted:echo", environ={})
    assert (llm.chat("hello"), llm.model) == ("hello", "scripted:gym.llm.scripted:echo")
    llm.close()


def test_a_process_that_never_closes_its_client_ends_quietly(server: ScriptedServer) -> None:
    script = (
        "import sys; from gym.llm.client import LLMClient\n"
        "llm = LLMClient(model='m', base_url=sys.argv[1], environ={})\n"
        "print(llm.chat('a'))"
    )
    command = [sys.executable, "-W", "error", "-c", script, server.base_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "re: a\n", "")
