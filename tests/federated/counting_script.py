"""A scripted model: it answers `N` unless a rule in its prompt says to write `N!`; one time in three it does anyway."""

import re
from collections.abc import Sequence

from gym.core.chat import Message, Sampling


def reply(messages: Sequence[Message], sampling: Sampling) -> str:
    """A pure function of what is asked."""
    system = messages[0].content if messages[0].role == "system" else ""
    number = re.findall(r"\d+", messages[-1].content)[-1]
    lucky = (sampling.seed or 0) % 3 == 0
    return f"{number}!" if "exclamation mark" in system or lucky else number
