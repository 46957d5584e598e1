"""Record, replay, resume: a model whose every call is in calls.jsonl before anyone uses it (SPEC 4.5, 4.6).

A request that the log has answered is answered from it, free; anything else is checked against brake and budget, sent,
recorded, paid, returned. Only an identical request is served: a retry of a bad reply differs in its messages,
max_tokens or `sample`, so it is a new call, and a truncated reply is never served to it (FAULTS P8).
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from gym.core.chat import ChatModel, Completion, Message, Sampling
from gym.errors import BudgetReached, ProviderError, RequestRejected
from gym.llm.brake import Brake
from gym.llm.call_log import Call, CallError, CallLog, Request, call_key
from gym.llm.meter import Meter
from gym.llm.retry import Retrying

__all__ = ["Call", "CallError", "CallLog", "Recorded", "ReplayOnly", "Request", "call_key", "recover"]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Recorded:
    """A `ChatModel` over `inner` for one `stage`, sharing log, meter and brake with the other stages of a run.

    When `inner` retries, each of its attempts is reserved, recorded and paid on its own (FAULTS P5). Raises what
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
        brake = brake or Brake()
        attempt = inner.inner if isinstance(inner, Retrying) else inner
        self._paid = _Paid(attempt, log, stage, self._meter, brake, now)
        self._ask: ChatModel = inner.over(self._paid, brake) if isinstance(inner, Retrying) else self._paid

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
        if (known := self._log.find(call_key(self.name, messages, sampling))) is not None:
            self.replayed += 1
            self._meter.count_replay(self._stage, self.name)
            return known
        return await self._ask.complete(messages, sampling)


class ReplayOnly:
    """A `ChatModel` that answers from a log and never calls anyone: for audits and tests."""

    def __init__(self, log: CallLog, name: str) -> None:
        self.name = name
        self._log = log

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """The recorded completion; `RequestRejected` when the log has none."""
        key = call_key(self.name, messages, sampling)
        if (known := self._log.find(key)) is None:
            raise RequestRejected(f"{str(self._log.path)!r} has no completion for request {key[:12]} to {self.name!r}")
        return known


def recover(meter: Meter) -> Callable[[Call], None]:
    """For `CallLog.open(path, on_call=recover(meter))`: the meter goes on where the run stopped."""

    def count(call: Call) -> None:
        if call.completion is not None:
            meter.count(call.stage, call.model, call.request.messages, call.completion)
        elif call.error is not None:
            meter.count_failure(call.stage, call.model, call.request.messages, call.error.type)

    return count


class _Paid:
    """One attempt: brake, reservation, call, record, settlement."""

    def __init__(
        self, inner: ChatModel, log: CallLog, stage: str, meter: Meter, brake: Brake, now: Callable[[], str]
    ) -> None:
        self.sent = 0
        self._inner, self._log, self._stage, self._meter, self._brake, self._now = inner, log, stage, meter, brake, now

    @property
    def name(self) -> str:
        return self._inner.name

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        self._brake.check()
        try:
            reserved = await self._meter.reserve(self._stage, self.name, messages, sampling, self._brake.check)
        except BudgetReached as stop:
            self._brake.pull(stop)
            raise
        failed = "Error"
        try:
            self.sent += 1
            completion = await self._inner.complete(messages, sampling)
            self._record(messages, sampling, completion=completion)
        except ProviderError as error:
            failed = type(error).__name__
            self._record(messages, sampling, error=CallError(type=failed, message=str(error), status=error.status))
            if error.fatal:
                self._brake.pull(error)
            raise
        except asyncio.CancelledError:
            failed = "Cancelled"
            self._record(messages, sampling, error=CallError(type=failed, message="cancelled after it was sent"))
            raise
        else:
            failed = ""
            self._meter.settle(reserved, messages, completion)
            return completion
        finally:
            if failed:
                self._meter.fail(reserved, messages, failed)

    def _record(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        completion: Completion | None = None,
        error: CallError | None = None,
    ) -> None:
        self._log.append(
            Call(
                key=call_key(self.name, messages, sampling),
                stage=self._stage,
                model=self.name,
                request=Request(messages=tuple(messages), sampling=sampling),
                completion=completion,
                error=error,
                at=self._now(),
            )
        )
