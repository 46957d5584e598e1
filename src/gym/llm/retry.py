"""What to do after a failed call: wait and ask again, as often as `max_retries` says, and only where it can help.

A server's Retry-After is honoured anew each time, with a little spread so that many workers do not wake together;
without one, exponential backoff with full jitter (FAULTS P3). What is the endpoint's state and not the call's fault uses up
no retry: a 429 while the endpoint serves others, anything while it is down. Randomness and sleep are parameters.
"""

import asyncio
import random as randomness
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from gym.core.chat import ChatModel, Completion, Message, Sampling
from gym.errors import ProviderError, RateLimited
from gym.llm.brake import Brake

Sleep = Callable[[float], Awaitable[None]]

MOST_REFUSALS = 50
"""429s of one call from which on it is the call that is refused (too large for the limit, say), not the moment."""


class Retry(NamedTuple):
    """A failed attempt that will be followed by another."""

    attempt: int
    """1 for the first."""
    error: ProviderError
    wait_s: float


def pause_s(
    error: ProviderError,
    used: int,
    *,
    base_s: float = 1.0,
    cap_s: float = 60.0,
    random: Callable[[], float] = randomness.random,
) -> float:
    """Seconds to wait after the attempt number `used`: as long as the server asks and a little more, else full jitter."""
    if (asked := error.retry_after_s) is not None:
        return asked + random() * max(1.0, asked / 10)
    return random() * min(cap_s, base_s * 2.0 ** max(0, used - 1))


class Served(Protocol):
    """What a retry asks of the endpoint's limiter, when there is one."""

    @property
    def served(self) -> int:
        """Calls it has answered, of anyone."""
        ...

    @property
    def down(self) -> bool:
        """Whether it answers nobody."""
        ...

    def pauses_for(self, error: ProviderError) -> bool:
        """Whether the next attempt is held back as long as the error asks, so that nobody need sleep for it."""
        ...


class Retrying:
    """A `ChatModel` that asks `inner` again after retryable errors; the last error is raised as it came.

    `again` is asked instead of `inner` from the second attempt on. `patience_s`: a server that asks to wait longer than
    this is not waited for.
    """

    def __init__(
        self,
        inner: ChatModel,
        max_retries: int = 4,
        *,
        again: ChatModel | None = None,
        endpoint: Served | None = None,
        on_retry: Callable[[Retry], None] | None = None,
        base_s: float = 1.0,
        cap_s: float = 60.0,
        patience_s: float = 600.0,
        random: Callable[[], float] = randomness.random,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.inner = inner
        self.max_retries = max_retries
        self._again = again or inner
        self._endpoint = endpoint
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
            endpoint=self._endpoint,
            on_retry=self._on_retry,
            base_s=self._base_s,
            cap_s=self._cap_s,
            patience_s=self._patience_s,
            random=self._random,
            sleep=brake.sleep,
        )

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """One completion. A stop, a cancellation and an error that a retry cannot cure pass through at once."""
        served = self._endpoint.served if self._endpoint else 0
        try:
            return await self.inner.complete(messages, sampling)  # nearly all; tenacity alone would cost them 30 µs
        except ProviderError as error:
            failed = error
        return await self._repeat(_Tries(self._endpoint, failed, served), messages, sampling)

    async def _repeat(self, tries: "_Tries", messages: Sequence[Message], sampling: Sampling) -> Completion:
        """The attempts from the first one's error on."""

        async def attempt() -> Completion:
            if (first := tries.take_first()) is not None:
                raise first
            try:
                return await self._again.complete(messages, sampling)
            except ProviderError as error:
                tries.failed(error)
                raise

        loop = AsyncRetrying(
            stop=lambda state: tries.used > self.max_retries,
            retry=retry_if_exception(self._worth_retrying),
            wait=lambda state: self._wait_s(tries, _error(state)),
            before_sleep=lambda state: self._report(tries, state),
            sleep=self._sleep,
            reraise=True,
        )
        return await loop(attempt)

    def _worth_retrying(self, error: BaseException) -> bool:
        return isinstance(error, ProviderError) and error.retryable and (error.retry_after_s or 0.0) <= self._patience_s

    def _wait_s(self, tries: "_Tries", error: ProviderError) -> float:
        if self._endpoint and self._endpoint.pauses_for(error):
            return 0.0
        return pause_s(error, tries.used, base_s=self._base_s, cap_s=self._cap_s, random=self._random)

    def _report(self, tries: "_Tries", state: RetryCallState) -> None:
        if self._on_retry is not None and not tries.excused:
            error = _error(state)
            wait_s = max(state.upcoming_sleep, error.retry_after_s or 0.0)
            self._on_retry(Retry(state.attempt_number, error, wait_s))


class _Tries:
    """One call's failed attempts: `used` are those that count, `excused` says that the last one does not."""

    def __init__(self, endpoint: Served | None, first: ProviderError, served: int) -> None:
        self.used = 0
        self.excused = False
        self._endpoint = endpoint
        self._first: ProviderError | None = first
        self._served = served
        self._refused = 0
        self.failed(first)

    def take_first(self) -> ProviderError | None:
        """The error of the attempt that was made before the loop; once."""
        first, self._first = self._first, None
        return first

    def failed(self, error: ProviderError) -> None:
        """One more attempt failed."""
        self._refused += isinstance(error, RateLimited)
        self.excused = self._endpoint is not None and self._is_excused(error, self._endpoint)
        self.used += not self.excused

    def _is_excused(self, error: ProviderError, endpoint: Served) -> bool:
        before, self._served = self._served, endpoint.served
        progress = self._served > before and self._refused < MOST_REFUSALS
        return endpoint.down or (isinstance(error, RateLimited) and progress)


def _error(state: RetryCallState) -> ProviderError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, ProviderError)
    return error
