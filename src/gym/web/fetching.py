"""What gets pages: over plain HTTP, with a browser, or out of a run's record.

A page that cannot be had is a value, told to the model in words: the world is full of them, and none may cost a rollout.
"""

from typing import Literal, Protocol

from gym.core.value import Value
from gym.web.page import Page

Why = Literal[
    "address",
    "scheme",
    "host",
    "private",
    "blocked",
    "robots",
    "status",
    "redirects",
    "type",
    "size",
    "timeout",
    "connection",
    "script",
]
"""`address`: no readable URL; `script`: the browser failed; the others are what their names say."""


class Refusal(Value):
    """Why there is no page."""

    url: str
    """Where the way ended: after redirects the last address."""
    reason: str
    """A sentence for the model."""
    label: Why
    status: int = 0
    """Of the server's answer, when there was one."""


def too_slow(url: str, seconds: float) -> Refusal:
    """A page that is not there in time."""
    return Refusal(url=url, label="timeout", reason=f"the page was not there after {seconds:g} s")


class Fetcher(Protocol):
    """Gets pages; one of it serves all rollouts of a run at once."""

    async def fetch(self, url: str) -> Page | Refusal:
        """The page at an absolute URL; what the world or a model is to blame for is a `Refusal`, never raised."""
        ...
