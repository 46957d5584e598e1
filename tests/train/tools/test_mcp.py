"""MCP servers as tools, against a real one: mounted, called, killed, started anew."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp.server.fastmcp import FastMCP

from gym.config import McpServer
from gym.core.chat import ToolCall
from gym.errors import ConfigError
from gym.train.grpo.tools.mcp import mounted
from gym.train.grpo.tools.toolbox import Desk, Toolbox

pytestmark = pytest.mark.slow
SERVER = str(Path(__file__).with_name("mcp_server.py"))


def where(*arguments: str, **settings: Any) -> McpServer:
    return McpServer(command=sys.executable, args=(SERVER, *arguments), **settings)


@asynccontextmanager
async def desk(server: McpServer, environ: Mapping[str, str] | None = None) -> AsyncIterator[Desk]:
    async with mounted("srv", server, environ) as there, Toolbox([there], timeout_s=20).desk() as opened:
        yield opened


async def say(desk: Desk, tool: str, arguments: str = "{}") -> str:
    (result,) = await desk.run([ToolCall(id="1", name=f"srv_{tool}", arguments=arguments)])
    return result.text


async def test_a_servers_tools_are_mounted_under_its_name_with_their_schemas() -> None:
    async with mounted("srv", where()) as there:
        tools = {tool.name: tool for tool in there.tools}
    assert list(tools) == ["srv_add", "srv_count", "srv_read_env", "srv_fail", "srv_die", "srv_hang"]
    assert tools["srv_add"].description == "Add two integers."
    assert tools["srv_add"].parameters["required"] == ["a", "b"]


async def test_a_call_comes_back_as_text_and_what_fails_says_why() -> None:
    async with desk(where()) as opened:
        assert await say(opened, "add", '{"a": 2, "b": 3}') == "5"
        assert "['a']" in await say(opened, "add", '{"a": "two", "b": 3}')
        assert "no such thing" in await say(opened, "fail")
        assert (opened.used["srv_fail"].labels, opened.used["srv_add"].labels) == ({"failed": 1}, {"arguments": 1})


async def test_a_server_that_dies_fails_the_call_that_saw_it_and_serves_the_next_anew() -> None:
    async with desk(where()) as opened:
        first = await say(opened, "count")
        assert await say(opened, "die") == "The server of this tool died and is started anew."
        assert opened.used["srv_die"].labels == {"died": 1}
        second = await say(opened, "count")
    assert (first.split()[0], second.split()[0]) == ("1", "1")
    assert first != second


async def test_one_process_serves_all_rollouts_of_a_run_unless_each_is_to_have_its_own() -> None:
    async with mounted("srv", where()) as shared, mounted("srv", where(shared=False)) as own:
        for server, counts in ((shared, ["1", "2", "3", "4"]), (own, ["1", "2", "1", "2"])):
            said: list[str] = []
            for _ in range(2):
                async with Toolbox([server]).desk() as opened:
                    said += [await say(opened, "count"), await say(opened, "count")]
            assert [text.split()[0] for text in said] == counts


async def test_no_process_is_left_behind() -> None:
    async with desk(where()) as shared, desk(where(shared=False)) as own:
        processes = [int((await say(opened, "count")).split()[-1]) for opened in (shared, own)]
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


async def test_a_call_that_hangs_is_given_up_and_the_server_that_still_answers_is_kept() -> None:
    async with mounted("srv", where()) as there:
        async with Toolbox([there]).desk() as opened:
            before = await say(opened, "count")
        async with Toolbox([there], timeout_s=0.05).desk() as impatient:
            assert await say(impatient, "hang") == "The tool gave no result within 0.05 s."
        async with Toolbox([there]).desk() as opened:
            after = await say(opened, "count")
    assert (before.split()[0], after.split()[0]) == ("1", "2")
    assert before.split()[-1] == after.split()[-1]


async def test_its_environment_is_what_the_configuration_gives_with_names_filled_in_late() -> None:
    settings = where(env={"TOKEN": "${SECRET}"})
    async with desk(settings, {"SECRET": "s3cret", "OTHER": "x"}) as opened:
        assert await say(opened, "read_env", '{"name": "TOKEN"}') == "s3cret"
        assert await say(opened, "read_env", '{"name": "OTHER"}') == "(not set)"
    assert "s3cret" not in settings.model_dump_json()
    with pytest.raises(ConfigError, match="environment variable SECRET is not set"):
        async with mounted("srv", settings, {}):
            pass


async def test_only_the_tools_that_were_named_are_mounted() -> None:
    async with mounted("srv", where(tools=("add",))) as there:
        assert [tool.name for tool in there.tools] == ["srv_add"]
    with pytest.raises(ConfigError, match="'srv' has no tool 'sub'; it has: add, count"):
        async with mounted("srv", where(tools=("sub",))):
            pass


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (where("--broken"), "MCP server 'srv' did not start: no licence found"),
        (McpServer(command="no-such-program-here"), "MCP server 'srv' did not start: no-such-program-here: ."),
        (McpServer(url="http://127.0.0.1:9/mcp"), "MCP server 'srv' did not start: http://127.0.0.1:9/mcp: ."),
        (McpServer(command="echo", args=("hi",)), "MCP server 'srv' did not start: echo: it ended, or .* no MCP"),
        (McpServer(command="sleep", args=("60",), start_timeout=0.1), "did not start within 0.1 s"),
    ],
)
async def test_a_server_that_does_not_start_says_why(
    server: McpServer, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ConfigError, match=words):
        async with mounted("srv", server):
            pass
    assert "Traceback" not in caplog.text


async def test_a_running_server_is_reached_by_its_url() -> None:
    served = FastMCP("web")

    @served.tool()
    def add(a: int, b: int) -> str:
        return f"{a + b}"

    listening = socket.create_server(("127.0.0.1", 0))  # so that nobody has to wait until it listens
    web = uvicorn.Server(uvicorn.Config(served.streamable_http_app(), log_level="error", ws="none"))
    running = asyncio.create_task(web.serve(sockets=[listening]))
    try:
        async with desk(McpServer(url=f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")) as opened:
            assert await say(opened, "add", '{"a": 2, "b": 3}') == "5"
    finally:
        web.should_exit = True
        await running
