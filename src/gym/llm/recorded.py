"""Record, replay, resume: a model whose every call is in calls.jsonl before anyone uses it (SPEC 4.5, 4.6).

A request that the log has answered is answered from it, free; anything else is checked against brake and budget, sent,
recorded, paid, returned. Only an identical request is served: a retry of a bad reply differs in its messages,
max_tokens or `sample`, so it is a new call, and a truncated reply is never served to it (FAULTS P8).
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol, runtime_checkable

from gym.core.chat import ChatModel, Completion, Message, Sampling
from gym.errors import BudgetReached, ProviderError, RequestRejected, StorageError
from gym.llm.asked import Asked
from gym.llm.brake import Brake
from gym.llm.call_facts import Facts
from gym.llm.call_line import CallError
from gym.llm.call_log import CallLog
from gym.llm.meter import Meter

__all__ = ["CallLog", "Policy", "Recorded", "ReplayOnly", "recover"]


@runtime_checkable
class Policy(ChatModel, Protocol):
    """What decides when a call is sent, and sent again: `gym.llm.retry.Retrying`, say."""

    @property
    def inner(self) -> ChatModel:
        """The model that a single attempt goes to."""
        ...

    def over(self, attempt: ChatModel, brake: Brake) -> ChatModel:
        """The same policy over `attempt`, which is asked exactly what the policy is; its waits end with the brake."""
        ...


def _now() -> str:
    """ISO 8601 in UTC, to the millisecond."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    return f"{_second(seconds)}.{milliseconds:03d}+00:00"


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class Recorded:
    """A `ChatModel` over `inner` for one `stage`, sharing log, meter and brake with the other stages of a run.

    When `inner` is a `Policy`, each of its attempts is reserved, recorded and paid on its own (FAULTS P5). Raises what
    `inner` raises, and `gym.errors.Stopped` when the brake is pulled or a budget is reached, which pulls it.
    """

    def __init__(
        self,
        inner: ChatModel,
        log: CallLog,
        stage: str,
        meter: Meter | None = None,
        brake: Brake | None = None,
        *,
        now: Callable[[], str] = _now,
    ) -> None:
        self.inner = inner
        self.replayed = 0
        """Requests answered from the log."""
        self._log, self._stage = log, stage
        self._meter = meter or Meter()
        self._brake = brake or Brake()
        self._policy = inner if isinstance(inner, Policy) else None
        self._paid = _Paid(self._policy.inner if self._policy else inner, log, stage, self._meter, self._brake, now)

    @property
    def name(self) -> str:
        """The inner model's."""
        return self.inner.name

    @property
    def sent(self) -> int:
        """Calls sent, failed attempts included."""
        return self._paid.sent

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """The recorded completion of exactly this request, else a new one."""
        messages = tuple(messages)
        asked = Asked.of(self.name, messages, sampling)
        if (known := self._log.find(asked.key)) is not None:
            self.replayed += 1
            self._meter.count_replay(self._stage, self.name)
            return known
        attempt = _Attempt(self._paid, asked, messages, sampling)
        model = self._policy.over(attempt, self._brake) if self._policy else attempt
        return await model.complete(messages, sampling)

    def knows(self, messages: Sequence[Message], sampling: Sampling) -> bool:
        """Whether exactly this request is answered in the log."""
        return Asked.of(self.name, messages, sampling).key in self._log


class ReplayOnly:
    """A `ChatModel` that answers from a log and never calls anyone: for audits and tests."""

    def __init__(self, log: CallLog, name: str) -> None:
        self.name = name
        self._log = log

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """The recorded completion; `RequestRejected` when the log has none."""
        key = Asked.of(self.name, messages, sampling).key
        if (known := self._log.find(key)) is None:
            raise RequestRejected(f"{str(self._log.path)!r} has no completion for request {key[:12]} to {self.name!r}")
        return known


def recover(meter: Meter) -> Callable[[Facts], None]:
    """For `CallLog.open(path, on_call=recover(meter))`: the meter goes on where the run stopped."""
    return lambda call: meter.count(call.stage, call.model, call.spent)


class _Paid:
    """What the attempts of a stage have in common: brake, reservation, call, record, settlement."""

    def __init__(
        self, inner: ChatModel, log: CallLog, stage: str, meter: Meter, brake: Brake, now: Callable[[], str]
    ) -> None:
        self.sent = 0
        self._inner, self._log, self._stage, self._meter, self._brake, self._now = inner, log, stage, meter, brake, now

    async def complete(self, asked: Asked, messages: Sequence[Message], sampling: Sampling) -> Completion:
        self._brake.check()
        try:
            reserved = await self._meter.reserve(self._stage, asked.model, messages, sampling, self._brake.check)
        except BudgetReached as stop:
            self._brake.pull(stop)
            raise
        failed = "Error"
        try:
            self.sent += 1
            completion = await self._inner.complete(messages, sampling)
            self._record(asked, completion)
        except ProviderError as error:
            failed = type(error).__name__
            self._record(asked, CallError(type=failed, message=str(error), status=error.status))
            if error.fatal:
                self._brake.pull(error)
            raise
        except asyncio.CancelledError:
            failed = "Cancelled"
            self._record(asked, CallError(type=failed, message="cancelled after it was sent"))
            raise
        else:
            failed = ""
            self._meter.settle(reserved, messages, completion)
            return completion
        finally:
            if failed:
                self._meter.fail(reserved, messages, failed)

    def _record(self, asked: Asked, outcome: Completion | CallError) -> None:
        """Into the log; where it takes nothing more, no further call is bought."""
        try:
            self._log.append(asked, outcome, stage=self._stage, at=self._now())
        except StorageError as full:
            self._brake.pull(full)
            raise


class _Attempt:
    """A model for one request: each time it is asked, a paid call."""

    def __init__(self, paid: _Paid, asked: Asked, messages: Sequence[Message], sampling: Sampling) -> None:
        self._paid, self._asked, self._messages, self._sampling = paid, asked, messages, sampling

    @property
    def name(self) -> str:
        return self._asked.model

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        assert messages is self._messages and sampling is self._sampling, "a policy changed the request"  # noqa: PT018
        return await self._paid.complete(self._asked, messages, sampling)
