"""Tool calls as the OpenAI API has them: `tools` in the request, `tool_calls` in the reply, turns of the role `tool`."""

import re
from collections.abc import Sequence

from gym.core.chat import Completion, Message, Sampling, ToolCall, ToolSpec
from gym.core.value import canonical_json
from gym.train.grpo.solvers.dialect import CUT, Said, noted
from gym.train.grpo.tools.arguments import json_object
from gym.train.grpo.tools.base import ToolResult


class NativeCalls:
    """The dialect of servers that know tools."""

    def __init__(self, specs: Sequence[ToolSpec]) -> None:
        self._specs = tuple(specs)

    def opening(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The prompt as it is: the server tells the model of its tools."""
        return tuple(messages)

    def sampling(self, sampling: Sampling) -> Sampling:
        """With the tools in it."""
        return sampling.model_copy(update={"tools": self._specs})

    def read(self, completion: Completion) -> Said:
        """The calls as they came, and a turn whose calls every server takes back."""
        calls = () if completion.finish_reason in CUT else completion.tool_calls
        turn = Message(
            role="assistant",
            content=completion.text,
            tool_calls=tuple(_sendable(call) for call in calls),
            reasoning=completion.reasoning if calls else "",
        )
        return Said(turn, calls)

    def answers(self, calls: Sequence[ToolCall], results: Sequence[ToolResult], note: str) -> tuple[Message, ...]:
        """A `tool` turn for each call. The note is behind the last: some chat templates take no user turn here."""
        notes = [""] * (len(calls) - 1) + [note]
        return tuple(
            Message(role="tool", content=noted(result.text, note), tool_call_id=call.id)
            for call, result, note in zip(calls, results, notes, strict=True)
        )


def _sendable(call: ToolCall) -> ToolCall:
    """The call with a legal name and arguments that are a JSON object: servers refuse a conversation that holds others."""
    arguments = json_object(call.arguments)
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", call.name)[:64]
    return call.model_copy(update={"name": name, "arguments": canonical_json(arguments or {})})
