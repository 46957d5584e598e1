"""A scripted model for the bench of learning: it lists values with blanks, or without when its prompt says so.

It critiques, and it reflects for gepa; each reply is a pure function of messages and sampling.
"""

import re
from collections.abc import Sequence

from gym.core.chat import Message, Sampling

RULE = "When asked for several values, write them separated by commas without spaces."


def reply(messages: Sequence[Message], sampling: Sampling) -> str:
    """The policy, the critic or gepa's reflector, by what the prompt asks."""
    system = messages[0].content if messages[0].role == "system" else ""
    if system.startswith("You find the unwritten rule"):
        return RULE
    if messages[-1].content.startswith("I provided an assistant"):
        return f"```\n{RULE}\n```"
    lucky = (sampling.seed or 0) % 4 == 0
    bare = "without spaces" in system or lucky
    return ("," if bare else ", ").join(re.findall(r"\d{4,}", messages[-1].content))
