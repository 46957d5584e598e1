"""A model behind its endpoint's limiter: queueing, retries and hedging around a transport that makes one attempt."""

import random as randomness
from collections.abc import Callable, Sequence

from gym.core.chat import ChatModel, Completion, Message, Sampling
from gym.llm.brake import Brake
from gym.llm.hedged import Hedged
from gym.llm.limiter import Limiter
from gym.llm.meter import DEFAULT_MAX_TOKENS
from gym.llm.retry import Retry, Retrying
from gym.llm.spent import estimate_prompt


class Guarded:
    """A `ChatModel` over a one-attempt transport, under one `Limiter`.

    `hedge`: a second copy of a call that takes longer than this many times the median; None sends none.
    """

    def __init__(
        self,
        inner: ChatModel,
        limiter: Limiter,
        *,
        max_retries: int = 4,
        hedge: float | None = None,
        on_retry: Callable[[Retry], None] | None = None,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self.inner, self.limiter, self.max_retries, self.hedge = inner, limiter, max_retries, hedge
        self._on_retry, self._random = on_retry, random
        self._alone = self.over(inner, Brake())

    @property
    def name(self) -> str:
        """The inner model's."""
        return self.inner.name

    def over(self, attempt: ChatModel, brake: Brake) -> ChatModel:
        """The same guard over another model: `Recorded` puts its record under it, so that each attempt is logged.

        Waits end when `brake` is pulled.
        """
        first = Limited(attempt, self.limiter, brake, first=True)
        again = Limited(attempt, self.limiter, brake, first=False)
        return Retrying(
            self._hedged(first, again),
            self.max_retries,
            again=self._hedged(again, again),
            endpoint=self.limiter,
            on_retry=self._on_retry,
            patience_s=self.limiter.patience_s,
            random=self._random,
            sleep=brake.sleep,
        )

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """One completion, on no record."""
        return await self._alone.complete(messages, sampling)

    def _hedged(self, first: "Limited", second: "Limited") -> ChatModel:
        return first if self.hedge is None else Hedged(first, second, self.hedge, self.limiter.latencies_s)


class Limited:
    """A `ChatModel` that makes each attempt in a slot; `first`: it is asked for first attempts, not for retries."""

    __slots__ = ("_brake", "_first", "_limiter", "inner")

    def __init__(self, inner: ChatModel, limiter: Limiter, brake: Brake, *, first: bool) -> None:
        self.inner = inner
        self._limiter, self._brake, self._first = limiter, brake, first

    @property
    def name(self) -> str:
        """The inner model's."""
        return self.inner.name

    async def complete(
        self, messages: Sequence[Message], sampling: Sampling, *, on_start: Callable[[], None] | None = None
    ) -> Completion:
        """One attempt; `on_start` is called when it has its slot."""
        tokens = estimate_prompt(messages) + (sampling.max_tokens or DEFAULT_MAX_TOKENS)
        async with self._limiter.slot(tokens, self._brake, first=self._first):
            if on_start is not None:
                on_start()
            return await self.inner.complete(messages, sampling)
