"""What goes to a model and what comes back, independent of any provider."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from pydantic import Field

from gym.core.value import Value

FinishReason = Literal["stop", "length", "content_filter", "tool_calls", "unknown"]

OMITTED_WHEN_EMPTY = frozenset({"tool_calls", "tool_call_id", "reasoning", "tools"})
"""Fields of messages and samplings that are not written when empty: without tools, requests and their keys stay as they
were before there were tools."""


def _empty(value: object) -> bool:
    return not value


class ToolSpec(Value):
    """A tool as the model is told of it."""

    name: str = Field(pattern="^[a-zA-Z0-9_-]{1,64}$")
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of the arguments, an object."""


class ToolCall(Value):
    """A model's wish to run a tool."""

    id: str
    name: str
    arguments: str
    """JSON as the model wrote it: it may be broken."""


class Message(Value):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = Field(default=(), exclude_if=_empty)
    """What an assistant's turn asks for."""
    tool_call_id: str = Field(default="", exclude_if=_empty)
    """The call that a tool's turn answers."""
    reasoning: str = Field(default="", exclude_if=_empty)
    """What the server sent as reasoning beside a turn with calls: some want it back while the tools run."""


class Sampling(Value):
    """How a reply is drawn. `None` means: the parameter is not sent; 0 is a temperature like any other (SPEC 1.9)."""

    temperature: float | None = Field(default=None, ge=0.0)
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    top_p: float | None = Field(default=None, gt=0.0, le=1.0)
    stop: tuple[str, ...] = ()
    json_schema: Mapping[str, Any] | None = None
    """A JSON schema that the reply must satisfy, where the server can constrain it."""
    tools: tuple[ToolSpec, ...] = Field(default=(), exclude_if=_empty)
    """What the model may call."""
    sample: int = 0
    """Which of several draws of one request: part of its identity, never sent (FAULTS P9)."""


class Usage(Value):
    """Tokens of one call. Cached is part of prompt, reasoning is part of completion (SPEC 5.1)."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0
    known: bool = True
    """False: the server did not say, or what it said could not be read."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage.sum((self, other))

    @classmethod
    def sum(cls, usages: Iterable["Usage"]) -> "Usage":
        """All of them together; known when each is."""
        found = tuple(usages)
        return cls(
            prompt=sum(usage.prompt for usage in found),
            cached=sum(usage.cached for usage in found),
            completion=sum(usage.completion for usage in found),
            reasoning=sum(usage.reasoning for usage in found),
            known=all(usage.known for usage in found),
        )

    @property
    def total(self) -> int:
        """Prompt plus completion tokens."""
        return self.prompt + self.completion


class Completion(Value):
    """A finished call. `text` may be empty: that is an answer nobody gave, not an error (SPEC 1.2)."""

    text: str
    reasoning: str = ""
    """What the server sent as reasoning beside the text: kept, never graded."""
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    model: str = ""
    """The model the server says it used."""
    system_fingerprint: str | None = None
    latency_s: float = 0.0
    note: str = ""
    """Why the text is empty, when the reply's shape says so (`choices: []`, `content: null`)."""
    tool_calls: tuple[ToolCall, ...] = Field(default=(), exclude_if=_empty)


class ChatModel(Protocol):
    """Anything that completes a conversation. Raises `gym.errors.ProviderError` or `gym.errors.Stopped`."""

    @property
    def name(self) -> str:
        """The model id as requested."""
        ...

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """One completion of `messages`, drawn as `sampling` says."""
        ...
