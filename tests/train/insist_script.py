"""A reflector that proposes the planted harmful sentence again and again, and in other words."""

import json
from collections.abc import Sequence

from bench.planted import fruit
from gym.core.chat import Message, Sampling

HARMFUL = fruit(1).harmful
REWORDED = HARMFUL.replace("as a word", "as one word")


def reply(messages: Sequence[Message], sampling: Sampling) -> str:
    """The summarizer, the critic, or a controller that turns nothing down."""
    if messages[0].content.startswith("You compare"):
        return json.dumps([{"option": "add", "experience": text} for text in (HARMFUL, REWORDED)])
    return "[]" if messages[0].content.startswith("You keep") else "1. Counted."
