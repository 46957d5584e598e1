"""How a configuration has its problems answered: at once, or by an agent with tools.

One session may serve several targets, each in its own way; two that are equal here are served by the same open tools.
"""

from gym.config import EXECUTION_KEYS, RunConfig
from gym.core.value import digest

DEFAULT_TOOLS = ("python",)

AGENT_KEYS = frozenset(
    {
        "tools", "tool_calls", "max_tool_steps", "tool_timeout", "rollout_context", "mcp_servers",
        *(name for name in RunConfig.model_fields if name.startswith("web_")),
    }
)  # fmt: skip
"""What an agent is made of, beside its model."""


def tools_of(config: RunConfig) -> tuple[str, ...]:
    """What the model may call; nothing outside agent mode."""
    return (config.tools or DEFAULT_TOOLS) if config.mode == "agent" else ()


def way(config: RunConfig) -> str:
    """SHA-256 of what makes the agent's answers what they are; empty outside agent mode."""
    if config.mode != "agent":
        return ""
    return digest(config.model_dump(mode="json", include=set(AGENT_KEYS - EXECUTION_KEYS)))


def room(*configs: RunConfig) -> int | None:
    """Tokens that a server of ours keeps for the longest conversation, where the user says how many; None: its default."""
    told = [one.rollout_context for one in configs if one.mode == "agent" and "rollout_context" in one.model_fields_set]
    return max(told, default=None)
