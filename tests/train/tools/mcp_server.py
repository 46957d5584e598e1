"""A real MCP server over standard input and output, with tools that go wrong in every way."""

import os
import sys

import anyio
from mcp.server.fastmcp import FastMCP

server = FastMCP("test")
counted: list[int] = []


@server.tool()
def add(a: int, b: int) -> str:
    """Add two integers."""
    return f"{a + b}"


@server.tool()
def count() -> str:
    """How often this process was asked."""
    counted.append(1)
    return f"{len(counted)} in {os.getpid()}"


@server.tool(name="read.env")
def read_env(name: str) -> str:
    """A variable of the server's environment."""
    return os.environ.get(name, "(not set)")


@server.tool()
def fail() -> str:
    """Always fails."""
    raise ValueError("no such thing")


@server.tool()
def die() -> str:
    """Ends the process."""
    os._exit(3)


@server.tool()
async def hang() -> str:
    """Never answers, while the server does."""
    await anyio.sleep_forever()
    return ""


if __name__ == "__main__":
    if "--broken" in sys.argv:
        sys.exit("first line\nno licence found")
    server.run()
