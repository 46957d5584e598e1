"""A scripted model for loop tests: it answers `N` unless a rule in its prompt says to write `N!`; sometimes it does anyway.

The critic proposes a rule; the controller keeps everything. Each reply is a pure function of messages and sampling.
"""

import asyncio
import hashlib
import os
import re
from collections.abc import Sequence

from gym.core.chat import Message, Sampling
from gym.errors import AccessDenied, ConnectionFailed

CRITIQUE = '[{"option": "add", "experience": "When asked for a count, put an exclamation mark after the number."}]'
RULE = "When asked for a count, put an exclamation mark after the number."


def reply(messages: Sequence[Message], sampling: Sampling) -> str:
    """The policy, the summarizer, the critic or the controller, by what the prompt asks."""
    system = messages[0].content if messages[0].role == "system" else ""
    if system.startswith("You review"):
        return f"1. Answered. Digest {len(messages[1].content)}."
    if system.startswith("You compare"):
        return f'The mark decided.\n[{{"option": "add", "experience": "{_rule(messages[1].content)}"}}]'
    if system.startswith("You keep"):
        return "[]"
    number = re.findall(r"\d+", messages[-1].content)[-1]
    lucky = (sampling.seed or 0) % 3 == 0
    return f"{number}!" if "exclamation mark" in system or lucky else number


async def paid(messages: Sequence[Message], sampling: Sampling) -> str:
    """`reply` after some milliseconds, each call counted as a line of the file named by DESK_PAID before it is answered."""
    with open(os.environ["DESK_PAID"], "a", encoding="utf-8") as file:
        file.write("paid\n")
    await asyncio.sleep(0.004)
    return reply(messages, sampling)


def one_outage(messages: Sequence[Message], sampling: Sampling) -> str | ConnectionFailed:
    """`reply`, but the first answer to every problem never comes."""
    asked = messages[-1].content.startswith("How many")
    return ConnectionFailed("503 for ever") if asked and sampling.sample == 0 else reply(messages, sampling)


def outage(messages: Sequence[Message], sampling: Sampling) -> ConnectionFailed:
    """Nobody answers."""
    return ConnectionFailed("the endpoint is gone")


async def key_expires(messages: Sequence[Message], sampling: Sampling) -> str | AccessDenied:
    """The key stops working after the first ten calls of the file named by DESK_PAID."""
    count = await paid(messages, sampling)
    with open(os.environ["DESK_PAID"], encoding="utf-8") as file:
        return AccessDenied("401: the key has expired") if len(file.readlines()) > 10 else count


def same(messages: Sequence[Message], sampling: Sampling) -> str:
    """Every answer is the same: no group is informative."""
    return "always this"


def stubborn(messages: Sequence[Message], sampling: Sampling) -> str:
    """A policy that no rule reaches, so its critic proposes the same rule again and again."""
    if messages[0].role == "system" and messages[0].content.startswith("You"):
        return CRITIQUE if messages[0].content.startswith("You compare") else "[]"
    number = re.findall(r"\d+", messages[-1].content)[-1]
    return f"{number}!" if (sampling.seed or 0) % 2 else number


def misled(messages: Sequence[Message], sampling: Sampling) -> str:
    """A critic whose rule makes every later answer wrong, though it is right half of the time without."""
    system = messages[0].content if messages[0].role == "system" else ""
    if system.startswith("You compare"):
        return '[{"option": "add", "experience": "When asked for a count, spell the number as a word."}]'
    if system.startswith("You"):
        return "[]"
    number = re.findall(r"\d+", messages[-1].content)[-1]
    return "a word" if "spell the number" in system else f"{number}!" if (sampling.seed or 0) % 2 else number


def _rule(prompt: str) -> str:
    """One of three wordings, by what was studied."""
    kind = hashlib.sha256(prompt.encode()).digest()[0] % 3
    return (
        RULE,
        "For counts of apples, end with an exclamation mark, nothing else.",
        "If a number is asked, exclamation mark!",
    )[kind]
