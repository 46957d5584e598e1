"""How a model is told of its tools, asks for them and hears their results: by the server's tool calls, or in plain text."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from gym.core.chat import Completion, Message, Sampling, ToolCall
from gym.train.grpo.tools.base import ToolResult

CUT = frozenset({"length", "content_filter"})
"""Finish reasons of a reply whose last call may be half a call: none of its calls is run."""

LAST_STEP = "No tool calls are left. Give your final answer now, without a tool call."


class Said(NamedTuple):
    """A reply, read."""

    message: Message
    """As it goes back to the model and into the trajectory."""
    calls: tuple[ToolCall, ...]


class Dialect(Protocol):
    """One way to speak of tools."""

    def opening(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The prompt, with whatever the model must be told in words."""
        ...

    def sampling(self, sampling: Sampling) -> Sampling:
        """How each reply is drawn."""
        ...

    def read(self, completion: Completion) -> Said:
        """What the model said and what it wants done."""
        ...

    def answers(self, calls: Sequence[ToolCall], results: Sequence[ToolResult], note: str) -> tuple[Message, ...]:
        """The results as turns for the model, in the calls' order, `note` behind the last."""
        ...


def noted(text: str, note: str) -> str:
    """The text with a note behind it."""
    return f"{text}\n\n{note}" if note else text
