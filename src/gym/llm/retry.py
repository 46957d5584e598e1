"""What to do after a failed call: wait and ask again, as often as `max_retries` says, and only where it can help.

A server's Retry-After is honoured anew each time, with a little spread so that many workers do not wake together;
without one, exponential backoff with full jitter (FAULTS P3). Randomness and sleep are parameters.
"""

import asyncio
import random as randomness
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from gym.core.chat import ChatModel, Completion, Message, Sampling
from gym.errors import ProviderError
from gym.llm.brake import Brake

Sleep = Callable[[float], Awaitable[None]]


class Retry(NamedTuple):
    """A failed attempt that will be followed by another."""

    attempt: int
    """1 for the first."""
    error: ProviderError
    wait_s: float


class Retrying:
    """A `ChatModel` that asks `inner` again after retryable errors; the last error is raised as it came.

    `patience_s`: a server that asks to wait longer than this is not waited for.
    """

    def __init__(
        self,
        inner: ChatModel,
        max_retries: int = 4,
        *,
        on_retry: Callable[[Retry], None] | None = None,
        base_s: float = 1.0,
        cap_s: float = 60.0,
        patience_s: float = 600.0,
        random: Callable[[], float] = randomness.random,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.inner = inner
        self.max_retries = max_retries
        self._on_retry = on_retry
        self._base_s, self._cap_s, self._patience_s = base_s, cap_s, patience_s
        self._random = random
        self._sleep = sleep

    @property
    def name(self) -> str:
        """The inner model's."""
        return self.inner.name

    def over(self, attempt: ChatModel, brake: Brake) -> "Retrying":
        """The same policy over another model: `Recorded` puts its record between the two, so each attempt is logged.

        Waits end when `brake` is pulled.
        """
        return Retrying(
            attempt,
            self.max_retries,
            on_retry=self._on_retry,
            base_s=self._base_s,
            cap_s=self._cap_s,
            patience_s=self._patience_s,
            random=self._random,
            sleep=brake.sleep,
        )

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """One completion. A stop, a cancellation and an error that a retry cannot cure pass through at once."""
        attempts = AsyncRetrying(
            stop=stop_after_attempt(self.max_retries + 1),
            retry=retry_if_exception(self._worth_retrying),
            wait=self._wait_s,
            before_sleep=self._report,
            sleep=self._sleep,
            reraise=True,
        )
        return await attempts(self.inner.complete, messages, sampling)

    def _worth_retrying(self, error: BaseException) -> bool:
        return isinstance(error, ProviderError) and error.retryable and (error.retry_after_s or 0.0) <= self._patience_s

    def _wait_s(self, state: RetryCallState) -> float:
        asked = _error(state).retry_after_s
        if asked is not None:
            return asked + self._random() * max(1.0, asked / 10)
        return self._random() * min(self._cap_s, self._base_s * 2.0 ** (state.attempt_number - 1))

    def _report(self, state: RetryCallState) -> None:
        if self._on_retry is not None:
            self._on_retry(Retry(state.attempt_number, _error(state), state.upcoming_sleep))


def _error(state: RetryCallState) -> ProviderError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, ProviderError)
    return error
