"""`mode: agent`: the tools of a run, opened once, and the solver that uses them."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gym import plugins
from gym.config import RunConfig
from gym.core.problem import Solver
from gym.train.grpo.solvers.tool_loop import ToolLoop
from gym.train.grpo.tools.limits import Isolation
from gym.train.grpo.tools.own import tool_of
from gym.train.grpo.tools.python_sandbox import PythonSandbox
from gym.train.grpo.tools.toolbox import Alone, Toolbox, ToolServer
from gym.train.grpo.ways import tools_of

if TYPE_CHECKING:
    from gym.web.opened import Paid


class Agent(NamedTuple):
    """What agent mode brings to a run."""

    solver: Solver
    isolation: Isolation | None
    """Of the model's Python code; None without the Python tool."""


@asynccontextmanager
async def open_agent(
    config: RunConfig,
    *,
    embedded: bool = False,
    folder: Path | None = None,
    paid: "Paid | None" = None,
    environ: Mapping[str, str] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> AsyncIterator[Agent]:
    """The agent of a configuration; its servers end with the context. `embedded`: the model runs in a server of ours.

    `say` is told how far the model's code is kept apart from this machine. What the web tool sees is recorded in `folder`,
    and `paid` is told of its searches.

    Raises `ConfigError` for an unknown tool or a server that does not start, `MissingExtra` without its package.
    """
    async with AsyncExitStack() as stack:
        servers = [await _opened(name, config, stack, environ, say, folder, paid) for name in tools_of(config)]
        for server in config.mcp_servers:
            if f"mcp:{server}" not in config.tools:
                say(f"the MCP server {server!r} is not used: tools has no mcp:{server}")
        if (isolation := await _isolation(servers)) is not None:
            say(isolation.text)
        solver = ToolLoop(
            Toolbox(servers, timeout_s=config.tool_timeout),
            calls="text" if config.tool_calls == "auto" and embedded else config.tool_calls,
            max_steps=config.max_tool_steps,
            max_tokens=config.rollout_context,
        )
        yield Agent(solver, isolation)


async def _opened(
    name: str,
    config: RunConfig,
    stack: AsyncExitStack,
    environ: Mapping[str, str] | None,
    say: Callable[[str], None],
    folder: Path | None,
    paid: "Paid | None",
) -> ToolServer:
    if name == "web":
        from gym.train.grpo.tools.web import WebTools  # a parser and more, for those who use them
        from gym.web.opened import nobody, open_web

        opened = open_web(config, folder=folder, environ=environ, paid=paid or nobody, say=say)
        web = await stack.enter_async_context(opened)
        return WebTools(web, max_visits=config.web_max_visits, part=config.web_part)
    if name.startswith("mcp:"):
        from gym.train.grpo.tools.mcp import mounted  # an extra

        server = name.removeprefix("mcp:")
        return await stack.enter_async_context(mounted(server, config.mcp_servers[server], environ))
    return Alone(tool_of(name, plugins.resolve("tool", name)))


async def _isolation(servers: Sequence[ToolServer]) -> Isolation | None:
    tools = [tool for server in servers for tool in server.tools]
    python = next((tool for tool in tools if isinstance(tool, PythonSandbox)), None)
    return await python.isolation() if python else None
