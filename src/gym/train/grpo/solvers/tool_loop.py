"""The agent: a model that calls tools until it answers, within limits that are outcomes with a name.

A step is a reply that calls tools, with its results. After `max_steps` of them the results say that none is left, and one
more reply may answer; if it calls again, the rollout ends as `tool_limit`. A conversation that reaches `max_tokens` (or the
model's own context) ends as `length`. Both are no answer, never a failure (SPEC 1.2).
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gym.core.chat import ChatModel, Completion, Message, Sampling
from gym.core.problem import ToolUse, Trajectory
from gym.errors import ContextExceeded, ToolsRefused
from gym.train.grpo.solvers.dialect import LAST_STEP, Dialect
from gym.train.grpo.solvers.native_calls import NativeCalls
from gym.train.grpo.solvers.text_calls import TextCalls
from gym.train.grpo.tools.toolbox import Desk, Toolbox

log = logging.getLogger(__name__)

LEAST_REPLY = 64
"""With less room than this (tokens) the model is not asked again."""
CHARS_PER_TOKEN = 4


class ToolLoop:
    """A `Solver` over the tools of a run, the same for training and evaluation (SPEC 1.11).

    `calls`: `native` sends the tools to the server, `text` describes them in the prompt, `auto` is native until the server
    refuses. Raises what the model raises.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        calls: Literal["auto", "native", "text"] = "auto",
        max_steps: int = 8,
        max_tokens: int = 32_768,
    ) -> None:
        self._toolbox, self._calls, self._max_steps, self._max_tokens = toolbox, calls, max_steps, max_tokens

    async def __call__(self, model: ChatModel, messages: Sequence[Message], sampling: Sampling) -> Trajectory:
        """The trajectory of one rollout, with sessions of its own."""
        if self._calls != "text":
            try:
                return await self._solve(NativeCalls(self._toolbox.specs), model, messages, sampling)
            except ToolsRefused as error:
                self._refused(error, model.name)
        return await self._solve(TextCalls(self._toolbox.specs), model, messages, sampling)

    def _refused(self, error: ToolsRefused, name: str) -> None:
        if self._calls == "native":
            raise error
        if self._calls == "auto":  # and not already told by a rollout that ran beside this one
            log.warning("%s takes no tools: describing them in the prompt from now on (%s)", name, error)
        self._calls = "text"

    async def _solve(
        self, dialect: Dialect, model: ChatModel, messages: Sequence[Message], sampling: Sampling
    ) -> Trajectory:
        course = _Course(list(dialect.opening(messages)))
        async with self._toolbox.desk() as desk:
            for left in range(self._max_steps, -1, -1):
                if not await self._ask(course, dialect, model, sampling):
                    break
                if not await self._step(course, dialect, desk, left):
                    break
        return course.trajectory(desk.used)

    async def _ask(self, course: "_Course", dialect: Dialect, model: ChatModel, sampling: Sampling) -> bool:
        """One reply; False when there is no room for it."""
        room = self._max_tokens - course.tokens()
        if course.replies and room < LEAST_REPLY:
            return course.ends("length", f"the conversation reached its {self._max_tokens:,} tokens")
        room = max(room, LEAST_REPLY)
        drawn = dialect.sampling(sampling.model_copy(update={"max_tokens": min(sampling.max_tokens or room, room)}))
        try:
            course.hear(await model.complete(course.turns, drawn))
        except ContextExceeded as error:
            if not course.replies:
                raise
            return course.ends("length", str(error))
        return True

    async def _step(self, course: "_Course", dialect: Dialect, desk: Desk, left: int) -> bool:
        """The reply's calls, run; False when it is the last."""
        said = dialect.read(course.replies[-1])
        course.turns.append(said.message)
        if not said.calls:
            return False
        if not left:
            return course.ends("tool_limit", f"all {self._max_steps} tool steps were used")
        results = await desk.run(said.calls)
        course.turns += dialect.answers(said.calls, results, LAST_STEP if left == 1 else "")
        return True


@dataclass
class _Course:
    """A conversation as it grows."""

    turns: list[Message]
    replies: list[Completion] = field(default_factory=list)
    finish_reason: str = ""
    note: str = ""
    _heard: int = 0
    """Turns in front of the last reply."""

    def hear(self, reply: Completion) -> None:
        self.replies.append(reply)
        self._heard = len(self.turns)

    def ends(self, finish_reason: str, note: str) -> bool:
        """False, so that the loop ends with it."""
        self.finish_reason, self.note = finish_reason, note
        return False

    def tokens(self) -> int:
        """Of the conversation so far: as the server counted, and four characters each for what it has not seen."""
        if not self.replies or not self.replies[-1].usage.known:
            return _estimate(self.turns)
        return self.replies[-1].usage.total + _estimate(self.turns[self._heard + 1 :])

    def trajectory(self, used: Mapping[str, ToolUse]) -> Trajectory:
        last = self.replies[-1]
        return Trajectory(
            messages=tuple(self.turns),
            output=last.text,
            usage=sum((reply.usage for reply in self.replies[1:]), self.replies[0].usage),
            finish_reason=self.finish_reason or last.finish_reason,
            reasoning=last.reasoning,
            note=self.note or last.note,
            latency_s=sum(reply.latency_s for reply in self.replies),
            tools=used,
        )


def _estimate(turns: Sequence[Message]) -> int:
    characters = sum(len(turn.content) + sum(len(call.arguments) for call in turn.tool_calls) for turn in turns)
    return characters // CHARS_PER_TOKEN
