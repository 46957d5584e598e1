"""Models, a solver and a domain for runs whose workers import them: what a worker does is written to files.

The folder is in RAY_SCRIPT_FOLDER: `paid` has a line for each call that reached a model, `solved` the process of each solver.
"""

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from desk_script import reply  # type: ignore[import-not-found]

from gym.core.chat import ChatModel, Message, Sampling
from gym.core.problem import Trajectory
from gym.errors import ConnectionFailed
from gym.train.grpo.domains.base import Domain
from gym.train.grpo.domains.jsonl import DOMAIN as JSONL

KILLED_AT = 40
"""The call that takes its worker with it, in a folder with a file `kill paid`; `kill solved` does so for a solver."""


def note(name: str) -> int:
    """Write a line to a file of the folder; the lines it has now."""
    path = Path(os.environ["RAY_SCRIPT_FOLDER"], name)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    return len(path.read_text(encoding="utf-8").splitlines())


def die_once(count: int, what: str) -> None:
    """SIGKILL to this process when it is time and it was not done before."""
    order = Path(os.environ["RAY_SCRIPT_FOLDER"], f"kill {what}")
    if count >= KILLED_AT and order.exists():
        order.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


async def paid(messages: Sequence[Message], sampling: Sampling) -> str:
    """`reply`, counted before it is given; one of the calls may be the last thing its process does."""
    die_once(note("paid"), "paid")
    await asyncio.sleep(0.002)
    answer: str = reply(messages, sampling)
    return answer


async def slow(messages: Sequence[Message], sampling: Sampling) -> str:
    """Every answer takes as many seconds as the file `delay` says."""
    note("paid")
    await asyncio.sleep(float(Path(os.environ["RAY_SCRIPT_FOLDER"], "delay").read_text(encoding="utf-8")))
    return "always this"


def outage(messages: Sequence[Message], sampling: Sampling) -> ConnectionFailed:
    """Nobody answers."""
    return ConnectionFailed("no answer", status=503, retry_after_s=7.0)


async def twice(model: ChatModel, messages: Sequence[Message], sampling: Sampling) -> Trajectory:
    """Ask, then ask again with the draft in view; between the two its process may die."""
    count = note("solved")
    draft = await model.complete(messages, sampling)
    die_once(count, "solved")
    asked = (*messages, Message(role="assistant", content=draft.text), messages[-1])
    final = await model.complete(asked, sampling)
    return Trajectory(messages=(*asked, Message(role="assistant", content=final.text)), output=final.text)


async def broken(model: ChatModel, messages: Sequence[Message], sampling: Sampling) -> Trajectory:
    """A solver with a bug."""
    raise KeyError("the tool that is not there")


async def late(model: ChatModel, messages: Sequence[Message], sampling: Sampling) -> Trajectory:
    """A solver that gave its tool a time limit."""
    raise TimeoutError("the tool takes too long")


DOMAIN = Domain(name="twice", load=JSONL.load, reward="exact", solver=twice)
