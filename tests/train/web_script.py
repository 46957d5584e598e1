"""A scripted agent that reads the answer on a page; half of its rollouts guess instead."""

import json
import re
from collections.abc import Sequence

from gym.core.chat import Completion, Message, Sampling, ToolCall

RULE = "Read the page of the number before you answer, and copy what it says."


def reply(messages: Sequence[Message], sampling: Sampling) -> Completion | str:
    """What the page says, or the number that was asked for."""
    system = messages[0].content if messages[0].role == "system" else ""
    if system.startswith("You review"):
        return messages[1].content
    if system.startswith("You compare"):
        return json.dumps([{"option": "add", "experience": RULE}])
    if system.startswith("You keep"):
        return "[]"
    if messages[-1].role == "tool":
        return str(re.findall(r"it is (\d+!)", messages[-1].content)[0])
    number = re.findall(r"\d+", messages[-1].content)[-1]
    if (sampling.seed or 0) % 2 or "Read the page" in system:
        call = ToolCall(id="c1", name="open", arguments=json.dumps({"url": f"apples.example/{number}.html"}))
        return Completion(text="", tool_calls=(call,), finish_reason="tool_calls")
    return str(number)
