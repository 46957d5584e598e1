"""Scripted models for the gate: one rule is learned, and it helps, harms a little, or does nothing."""

import hashlib
import re
from collections.abc import Sequence

from gym.core.chat import Message, Sampling

RULE = "When asked for a count, end with an exclamation mark."
SPOILS = "When fruit is counted, answer in Roman numerals."
FRUIT = ("apple", "pear", "plum", "cherry", "fig", "quince", "medlar", "lemon")


def helps(messages: Sequence[Message], sampling: Sampling) -> str:
    """With the rule nearly every answer is right, without it one in three."""
    return _reply(messages, sampling, without=33, given=95)


def harms_a_little(messages: Sequence[Message], sampling: Sampling) -> str:
    """Six in ten are right without the rule, and five in ten with it."""
    return _reply(messages, sampling, without=60, given=50)


def does_nothing(messages: Sequence[Message], sampling: Sampling) -> str:
    """Half are right, whatever is said."""
    return _reply(messages, sampling, without=50, given=50)


def ruins(messages: Sequence[Message], sampling: Sampling) -> str:
    """Most are right without the rule, none with it."""
    return _reply(messages, sampling, without=80, given=0)


def spoils_one(messages: Sequence[Message], sampling: Sampling) -> str:
    """As `helps`, but every other problem teaches a sentence that ruins all answers."""
    system = messages[0].content if messages[0].role == "system" else ""
    if system.startswith("You compare"):
        number = int(re.findall(r"(\d+) apples", messages[-1].content)[0])
        return f'[{{"option": "add", "experience": "{(RULE, SPOILS)[number % 2]}"}}]'
    return "IV" if "Roman" in system else helps(messages, sampling)


def turns(messages: Sequence[Message], sampling: Sampling) -> str:
    """Every critique has another rule, and each helps with some questions and harms with others."""
    system = messages[0].content if messages[0].role == "system" else ""
    if system.startswith("You compare"):
        fruit = FRUIT[_luck(messages[1].content) % len(FRUIT)]
        return f'[{{"option": "add", "experience": "When asked for a count, think first of one {fruit} alone."}}]'
    if system.startswith("You"):
        return "[]"
    number = re.findall(r"\d+", messages[-1].content)[-1]
    rules = sorted(re.findall(r"one (\w+) alone", system))
    chance = 35 + sum((50, -12, 8)[_luck(f"{rule}/{number}") % 3] for rule in rules)
    return f"{number}!" if _luck(f"{sampling.seed}/{number}/{rules}") % 100 < chance else number


def _luck(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])


def _reply(messages: Sequence[Message], sampling: Sampling, *, without: int, given: int) -> str:
    system = messages[0].content if messages[0].role == "system" else ""
    if system.startswith("You compare"):
        return f'[{{"option": "add", "experience": "{RULE}"}}]'
    if system.startswith("You"):
        return "[]"
    number = re.findall(r"\d+", messages[-1].content)[-1]
    ruled = "exclamation mark" in system
    luck = _luck(f"0/{sampling.seed}/{number}/{ruled}")
    return f"{number}!" if luck % 100 < (given if ruled else without) else number
