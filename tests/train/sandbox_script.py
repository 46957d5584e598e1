"""Scripted agents for the real Python sandbox: one that breaks things, one that holds on to what is its own."""

import asyncio
import json
import re
from collections.abc import Sequence

from gym.core.chat import Completion, Message, Sampling, ToolCall

AT_ONCE = 64
_all_hold = asyncio.Barrier(AT_ONCE)


def careless(messages: Sequence[Message], sampling: Sampling) -> Completion | str:
    """Three calls, of which one raises and one ends the interpreter; then an answer."""
    told = [turn.content for turn in messages if turn.role == "tool"]
    codes = ("1 / 0", "import os\nos._exit(3)", "6 * 7")
    return _python(codes[len(told)]) if len(told) < len(codes) else told[-1]


async def holding(messages: Sequence[Message], sampling: Sampling) -> Completion | str:
    """Keeps a mark of its own in a variable and a file, waits until all others do, then says what it holds."""
    told = [turn.content for turn in messages if turn.role == "tool"]
    if not told:
        mark = f"{messages[-1].content.split()[1]}{sampling.seed}-{sampling.sample}"
        return _python(f"mine = {mark!r}\nopen('mine.txt', 'w').write(mine)\nprint(mine)")
    if len(told) == 1:
        await _all_hold.wait()
        return _python("import os\nprint(mine, open('mine.txt').read(), os.listdir())")
    return told[-1]


def boxed(messages: Sequence[Message], sampling: Sampling) -> str:
    """The last number of the question, as a mathematician writes it."""
    return rf"\boxed{{{re.findall(r'[0-9]+', messages[-1].content)[-1]}}}"


def _python(code: str) -> Completion:
    call = ToolCall(id="c", name="python", arguments=json.dumps({"code": code}))
    return Completion(text="", tool_calls=(call,), finish_reason="tool_calls")
