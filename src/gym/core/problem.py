"""A problem, one attempt at it, and what a reward says of the attempt."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from pydantic import Field

from gym.core.chat import ChatModel, FinishReason, Message, Sampling, Usage
from gym.core.value import Value


class Problem(Value):
    """One training or test item."""

    id: str
    query: str
    ground_truth: str | None = None
    domain: str = ""
    metadata: Mapping[str, Any] = Field(default_factory=dict)


class ToolUse(Value):
    """How often one tool was called, and how many of these calls ended in an error."""

    calls: int = 0
    errors: int = 0
    labels: Mapping[str, int] = Field(default_factory=dict, exclude_if=lambda labels: not labels)
    """Errors by what they were: "exception", "wall", "arguments"; a tool need not have a word for each."""
    visits: int = Field(default=0, exclude_if=lambda visits: not visits)
    """Pages that were fetched for these calls."""

    def __add__(self, other: "ToolUse") -> "ToolUse":
        labels = Counter(self.labels) + Counter(other.labels)
        return ToolUse(
            calls=self.calls + other.calls,
            errors=self.errors + other.errors,
            labels=dict(sorted(labels.items())),
            visits=self.visits + other.visits,
        )


class Trajectory(Value):
    """What one attempt said, and at what price."""

    messages: tuple[Message, ...]
    """Everything sent and received, in order; the last is the assistant's when there was one."""
    output: str
    """The final text, thoughts and all, as the model wrote it."""
    usage: Usage = Usage()
    finish_reason: FinishReason | str = "stop"
    """The server's reason, or `tool_limit` when a solver ended a tool loop."""
    reasoning: str = ""
    note: str = ""
    latency_s: float = 0.0
    """Of the model's replies; time in tools is not in it."""
    tools: Mapping[str, ToolUse] = Field(default_factory=dict, exclude_if=lambda used: not used)
    """By tool name; a tool that the model made up is among them."""


def tool_use(several: Iterable[Mapping[str, ToolUse]]) -> dict[str, ToolUse]:
    """Calls and errors of each tool, summed over trajectories (or sums of them), names sorted."""
    total: dict[str, ToolUse] = {}
    for tools in several:
        for name, used in tools.items():
            total[name] = total.get(name, ToolUse()) + used
    return dict(sorted(total.items()))


class Verdict(Value):
    """A reward's judgement of one trajectory."""

    reward: float = Field(ge=0.0, le=1.0, allow_inf_nan=False)
    answer: str | None = None
    """The answer that was found in the output, when the reward extracts one."""
    feedback: str = ""
    """Why, in words, when the reward can say; it goes to the reflector."""


class Failure(Value):
    """Something of the world broke, at a named boundary. Never a wrong answer (SPEC 1.2)."""

    boundary: str
    """`generate`, `reward`, `summarize`, `critique` or `consolidate`."""
    type: str
    message: str


class Reward(Protocol):
    """Scores a whole group at once, so that majority vote, judges and verifiers share one interface."""

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        """One verdict or failure per trajectory, in order."""
        ...

    def unscorable(self, problem: Problem) -> str | None:
        """Why this problem cannot be scored at all (no ground truth, unreadable gold), or None (FAULTS G2)."""
        ...


class Solver(Protocol):
    """Turns prompt messages into a trajectory with as many model calls as it needs."""

    async def __call__(self, model: ChatModel, messages: Sequence[Message], sampling: Sampling) -> Trajectory: ...
