"""Tools of Model Context Protocol servers (modelcontextprotocol.io), through the official package: the extra [mcp].

A server that dies is started again by the next call; the call that saw it die says so, and is not repeated, since it may have
done half its work. What a server says is untrusted text like every tool's output.
"""

import asyncio
import json
import logging
import os
import re
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import IO, Any, TextIO, cast

from gym.config import McpServer, expanded
from gym.errors import ConfigError, MissingExtra
from gym.train.grpo.tools.base import ToolResult, ToolSession

try:
    import httpx
    from anyio import BrokenResourceError, ClosedResourceError
    from mcp import ClientSession, McpError, StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.types import CONNECTION_CLOSED, CallToolResult, TextContent
    from mcp.types import Tool as Listed
except ImportError as error:
    raise MissingExtra("a tool of an MCP server", "mcp") from error

PING_TIMEOUT_S = 5.0
MAX_STARTS_IN_A_ROW = 3
"""Failed starts after which a server is left alone."""
DIED = "The server of this tool died and is started anew."


def _without_traceback(record: logging.LogRecord) -> bool:
    record.exc_info = record.exc_text = None
    return True


logging.getLogger("mcp.client.stdio").addFilter(_without_traceback)  # a server that prints is told of in a line each


@asynccontextmanager
async def mounted(
    name: str, where: McpServer, environ: Mapping[str, str] | None = None
) -> AsyncIterator["MountedServer"]:
    """The server `name`, with its tools listed, until the context ends.

    Raises `ConfigError` with its last words when it does not start, and when it lacks a tool that was asked for.
    """
    link = _Link(name, where, os.environ if environ is None else environ)
    try:
        tools = _chosen(name, where, await link.tools())
        if not where.shared:
            await link.close()
        yield MountedServer(link, tools)
    finally:
        await link.close()


class MountedServer:
    """The tools of one server, each called NAME_TOOL; a `gym.train.grpo.tools.toolbox.ToolServer`."""

    keeps_time = False

    def __init__(self, link: "_Link", listed: Sequence["Listed"]) -> None:
        self._link = link
        self.tools = tuple(MountedTool(link, tool) for tool in listed)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Mapping[str, ToolSession]]:
        """Its tools for one rollout: over the run's process, or over one of their own."""
        async with self._link.for_a_rollout() as link:
            yield {tool.name: _Remote(link, tool.listed.name) for tool in self.tools}


class MountedTool:
    """One tool of a server."""

    def __init__(self, link: "_Link", listed: "Listed") -> None:
        self.name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{link.name}.{listed.name}")[:64]
        self.description = listed.description or listed.title or listed.name
        self.parameters: Mapping[str, Any] = listed.inputSchema
        self.listed = listed
        self._link = link

    @asynccontextmanager
    async def open(self) -> AsyncIterator[ToolSession]:
        """The tool without the others of its server."""
        async with self._link.for_a_rollout() as link:
            yield _Remote(link, self.listed.name)


class _Remote:
    """A tool within a rollout."""

    def __init__(self, link: "_Link", tool: str) -> None:
        self._link, self._tool = link, tool

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        return await self._link.call(self._tool, arguments)


class _Link:
    """The way to one server, which is started when it is needed.

    Invariant: at most one process lives at a time, and `_live` is replaced only under `_lock`.
    """

    def __init__(self, name: str, where: McpServer, environ: Mapping[str, str]) -> None:
        self.name, self.where, self._environ = name, where, environ
        self._live: _Live | None = None
        self._lock = asyncio.Lock()
        self._failed_starts = 0

    @asynccontextmanager
    async def for_a_rollout(self) -> AsyncIterator["_Link"]:
        """This way, or one to another process, which starts with the first call."""
        if self.where.shared:
            yield self
            return
        own = _Link(self.name, self.where, self._environ)
        try:
            yield own
        finally:
            await own.close()

    async def tools(self) -> Sequence["Listed"]:
        """What the server lists, page by page."""
        live = await self._connected()
        found: list[Listed] = []
        cursor: str | None = None
        while True:
            page = await live.session.list_tools(cursor)
            found += page.tools
            if (cursor := page.nextCursor) is None:
                return found

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """The tool's result; whatever goes wrong is one that failed."""
        try:
            live = await self._connected()
        except ConfigError as error:
            return _failed(str(error), "died")
        try:
            return _result(await live.session.call_tool(tool, dict(arguments)))
        except asyncio.CancelledError:  # it took too long: before it is asked again it must show that it lives
            live.suspect = True
            raise
        except McpError as error:
            live.gone = live.gone or _closed(error)
            return _failed(DIED, "died") if live.gone else _failed(error.error.message, "failed")
        except (BrokenResourceError, ClosedResourceError):
            live.gone = True
            return _failed(DIED, "died")

    async def close(self) -> None:
        """End the process, if there is one."""
        async with self._lock:
            await self._retire()

    async def _connected(self) -> "_Live":
        async with self._lock:
            if self._live is not None and await self._live.answers():
                return self._live
            await self._retire()
            if self._failed_starts >= MAX_STARTS_IN_A_ROW:
                raise ConfigError(f"MCP server {self.name!r} did not start {MAX_STARTS_IN_A_ROW} times in a row")
            self._failed_starts += 1
            self._live = await _Live.start(self.name, self.where, self._environ)
            self._failed_starts = 0
            return self._live

    async def _retire(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            await live.end()


class _Live:
    """A connected server, kept by a task of its own: the package's contexts must end in the task that entered them."""

    def __init__(self, name: str, where: McpServer, environ: Mapping[str, str]) -> None:
        self.session: ClientSession
        self.gone = self.suspect = False
        self._name, self._where, self._environ = name, where, environ
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self._keeper = asyncio.create_task(self._keep(), name=f"mcp:{name}")

    @classmethod
    async def start(cls, name: str, where: McpServer, environ: Mapping[str, str]) -> "_Live":
        """Raises `ConfigError` when it does not start."""
        live = cls(name, where, environ)
        try:
            async with asyncio.timeout(where.start_timeout):
                await asyncio.shield(live._ready)
        except TimeoutError:
            await live.end()
            raise ConfigError(f"MCP server {name!r} did not start within {where.start_timeout:g} s") from None
        except BaseException:
            await live.end()
            raise
        return live

    async def answers(self) -> bool:
        """Whether it can be called; a suspect is asked."""
        if self.gone or self._keeper.done():
            return False
        if self.suspect:
            try:
                async with asyncio.timeout(PING_TIMEOUT_S):
                    await self.session.send_ping()
                self.suspect = False
            except (TimeoutError, McpError, BrokenResourceError, ClosedResourceError):
                return False
        return True

    async def end(self) -> None:
        """Close the connection and end the process; a start that hangs is cancelled."""
        self._leave.set()
        if not self._ready.done():
            self._ready.cancel()
            self._keeper.cancel()
        await asyncio.wait([self._keeper])

    async def _keep(self) -> None:
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
            try:
                async with AsyncExitStack() as stack:
                    self.session = await _connect(stack, self._name, self._where, self._environ, stderr)
                    self._ready.set_result(None)
                    await self._leave.wait()
            except Exception as error:  # the package wraps what breaks a connection in groups of many kinds
                if not self._ready.done():
                    self._ready.set_exception(_not_started(self._name, self._where, error, stderr))


async def _connect(
    stack: AsyncExitStack, name: str, where: McpServer, environ: Mapping[str, str], stderr: IO[str]
) -> "ClientSession":
    def filled(text: str) -> str:
        return expanded(f"mcp_servers.{name}", text, environ) or ""

    if where.url:
        headers = {key: filled(value) for key, value in where.headers.items()}
        client = await stack.enter_async_context(
            httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(30, read=300))
        )
        read, write, _ = await stack.enter_async_context(streamable_http_client(filled(where.url), http_client=client))
    else:
        program = StdioServerParameters(
            command=filled(where.command),
            args=[filled(part) for part in where.args],
            env={key: filled(value) for key, value in where.env.items()},
            encoding_error_handler="replace",
        )
        read, write = await stack.enter_async_context(stdio_client(program, errlog=cast(TextIO, stderr)))
    session = await stack.enter_async_context(ClientSession(read, write))
    await session.initialize()
    return session


def _not_started(name: str, where: McpServer, error: Exception, stderr: IO[str]) -> ConfigError:
    cause: BaseException = error
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    if isinstance(cause, ConfigError):
        return cause
    stderr.seek(0)
    said = [line.strip() for line in stderr.read().splitlines() if line.strip()]
    why = "it ended, or what it puts out is no MCP" if _closed(cause) else cause
    return ConfigError(
        f"MCP server {name!r} did not start: {said[-1] if said else f'{where.command or where.url}: {why}'}"
    )


def _closed(error: BaseException) -> bool:
    """Whether the connection ended without a word."""
    if isinstance(error, McpError):
        return error.error.code == CONNECTION_CLOSED
    return isinstance(error, BrokenResourceError | ClosedResourceError)


def _chosen(name: str, where: McpServer, tools: Sequence["Listed"]) -> Sequence["Listed"]:
    known = {tool.name: tool for tool in tools}
    if missing := [tool for tool in where.tools if tool not in known]:
        raise ConfigError(f"MCP server {name!r} has no tool {missing[0]!r}; it has: {', '.join(known) or 'none'}")
    return [known[tool] for tool in where.tools] or list(tools)


def _result(found: "CallToolResult") -> ToolResult:
    parts = [part.text if isinstance(part, TextContent) else f"[{part.type} left out]" for part in found.content]
    if not parts and found.structuredContent is not None:
        parts = [json.dumps(found.structuredContent, ensure_ascii=False)]
    return ToolResult(text="\n".join(parts), error=found.isError, label="failed" if found.isError else "")


def _failed(text: str, label: str) -> ToolResult:
    return ToolResult(text=text, error=True, label=label)
