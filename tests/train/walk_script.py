"""A scripted agent for a small site: half of its rollouts walk to the answer, the others guess, and it knows nothing by heart.

With KILL_AT=N in the environment its process dies, as by kill -9, when the Nth call arrives.
"""

import json
import os
import re
import signal
from collections.abc import Sequence
from itertools import count

from gym.core.chat import Completion, Message, Sampling, ToolCall
from gym.llm.scripted import Reply

RULE = "When a start page is given, open it and search for the name before you answer."
_calls = count(1)


def reply(messages: Sequence[Message], sampling: Sampling) -> Reply:
    """The policy, the summarizer, the critic or the controller, by what the prompt asks."""
    if next(_calls) == int(os.environ.get("KILL_AT", 0)):
        os.kill(os.getpid(), signal.SIGKILL)
    system = messages[0].content
    if system.startswith("You review"):
        return f"1. Walked. {len(messages[1].content)} characters were seen."
    if system.startswith("You compare"):
        return json.dumps([{"option": "add", "experience": RULE}, {"option": "add", "experience": ADDRESS}])
    if system.startswith("You keep"):
        return "[]"
    if "mathematics" in system:
        return r"\boxed{2}"
    if "you cannot look anything up" in system:
        return "I do not know.\nAnswer: nobody"
    walks = RULE in system or (sampling.seed or 0) % 2
    return _walk(messages) if walks else "A guess.\nAnswer: Jon Aas"


ADDRESS = "When someone is sought, open http://halden.example/people.html at once."


def _walk(messages: Sequence[Message]) -> Reply:
    """Start page, search, the best hit, and the name that the page puts behind the pump's."""
    question = next(turn.content for turn in messages if turn.role == "user")
    pump, start = re.findall(r"the (\w+) pump", question)[0], question.rpartition("Start page: ")[2]
    heard = [turn.content for turn in messages if turn.role == "tool"]
    if not heard:
        return _call("open", url=start)
    if len(heard) == 1:
        return _call("search", query=f"Who leads the {pump} pump?")
    if len(heard) == 2:
        return _call("open", url=re.findall(r"http://halden\.example/teams/\S+\.html", heard[-1])[0])
    name = re.search(rf"The {pump} pump is led by ([A-Z]\w+ [A-Z]\w+)", heard[-1])
    return f"Answer: {name[1] if name else 'unknown'}"


def _call(tool: str, **arguments: str) -> Completion:
    made = ToolCall(id=f"c-{tool}", name=tool, arguments=json.dumps(arguments))
    return Completion(text="", tool_calls=(made,), finish_reason="tool_calls")
