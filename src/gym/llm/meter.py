"""Tokens, dollars and calls by stage and model, and the budgets on them (SPEC 5.1, 5.2).

A call is reserved before it is sent, at the most it may cost, and settled at what it did cost. A call that fits into
the budget only when those in flight turn out cheaper waits for them; one that cannot fit is the end: `BudgetReached`.
The call log rebuilds the meter on open, so that a budget spans every resume of a run.
"""

import asyncio
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gym.core.chat import Completion, Message, Sampling, Usage
from gym.errors import BudgetReached, ConfigError
from gym.llm.prices import Overrides, price

CHARACTERS_PER_TOKEN = 4
DEFAULT_MAX_TOKENS = 4096
"""Reserved for a reply whose length is not limited by the request."""
BILLED_FAILURES = frozenset({"TimedOut", "Cancelled"})
"""Calls without an answer that the server may have worked on: their prompt is counted (FAULTS P5)."""


class Budget(NamedTuple):
    """Limits on a whole run; None is no limit."""

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None


@dataclass
class Row:
    """What one stage spent on one model."""

    calls: int = 0
    """Sent and paid, successful or not."""
    replayed: int = 0
    """Answered from the call log, free."""
    failed: int = 0
    estimated: int = 0
    """Calls whose tokens are our estimate, because the server did not say."""
    latency_s: float = 0.0
    """Sum over the calls that were answered."""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, eq=False)
class Reservation:
    """One call in flight, at the most it may cost."""

    stage: str
    model: str
    tokens: int
    usd: float


class Meter:
    """Counts every call of a run. Used from one event loop at a time."""

    def __init__(self, budget: Budget = Budget(), prices: Overrides | None = None) -> None:  # noqa: B008 - a frozen value
        self.budget = budget
        self._prices = prices
        self._rows: defaultdict[tuple[str, str], Row] = defaultdict(Row)
        self._flying: set[Reservation] = set()
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def in_flight(self) -> int:
        """Calls reserved and not yet settled."""
        return len(self._flying)

    @property
    def calls(self) -> int:
        """Calls sent so far."""
        return sum(row.calls for row in self._rows.values())

    @property
    def usage(self) -> Usage:
        """Tokens of all calls."""
        return sum((row.usage for row in self._rows.values()), Usage())

    @property
    def usd(self) -> float | None:
        """Dollars of all calls; None when a model with spent tokens has no price."""
        return _sum(self._usd(model, row) for (_, model), row in self._rows.items())

    async def reserve(
        self,
        stage: str,
        model: str,
        messages: Sequence[Message],
        sampling: Sampling,
        check: Callable[[], None] = lambda: None,
    ) -> Reservation:
        """Room for one more call; waits while only the calls in flight stand against it.

        `check` is asked after each wait. Raises `BudgetReached`, and `ConfigError` for a dollar budget on a model
        without a price.
        """
        tokens = estimate_prompt(messages) + (sampling.max_tokens or DEFAULT_MAX_TOKENS)
        wanted = Reservation(stage, model, tokens, self._most_usd(model, messages, tokens))
        while True:
            if over := self._over(wanted, frozenset()):
                raise BudgetReached(self._story(over))
            if not self._over(wanted, self._flying):
                self._flying.add(wanted)
                return wanted
            await self._next_settlement()
            check()

    def settle(self, reservation: Reservation, messages: Sequence[Message], completion: Completion) -> None:
        """The call was answered."""
        self._release(reservation)
        self.count(reservation.stage, reservation.model, messages, completion)

    def fail(self, reservation: Reservation, messages: Sequence[Message], error_type: str) -> None:
        """The call was not answered; `error_type` is the class name of the error."""
        self._release(reservation)
        self.count_failure(reservation.stage, reservation.model, messages, error_type)

    def count(self, stage: str, model: str, messages: Sequence[Message], completion: Completion) -> None:
        """One answered call, paid now or (from the log) before."""
        row = self._rows[stage, model]
        row.calls += 1
        row.latency_s += completion.latency_s
        row.estimated += not completion.usage.known
        row.usage += completion.usage if completion.usage.known else _estimate(messages, completion)

    def count_failure(self, stage: str, model: str, messages: Sequence[Message], error_type: str) -> None:
        """One call without an answer."""
        row = self._rows[stage, model]
        row.calls += 1
        row.failed += 1
        if error_type in BILLED_FAILURES:
            row.estimated += 1
            row.usage += Usage(prompt=estimate_prompt(messages), known=False)

    def count_replay(self, stage: str, model: str) -> None:
        """One call answered from the log."""
        self._rows[stage, model].replayed += 1

    def snapshot(self) -> dict[str, Any]:
        """Plain numbers for stats.json: `total`, and `stages` → stage → model. `usd` is None where unknown."""
        stages: dict[str, dict[str, Any]] = {}
        for (stage, model), row in sorted(self._rows.items()):
            stages.setdefault(stage, {})[model] = _plain(row, self._usd(model, row))
        total = Row(usage=self.usage)
        for row in self._rows.values():
            for name in ("calls", "replayed", "failed", "estimated", "latency_s"):
                setattr(total, name, getattr(total, name) + getattr(row, name))
        return {"total": _plain(total, self.usd), "stages": stages}

    def _usd(self, model: str, row: Row) -> float | None:
        if not row.usage.total:
            return 0.0
        known = price(model, self._prices)
        return None if known is None else known.usd(row.usage)

    def _most_usd(self, model: str, messages: Sequence[Message], tokens: int) -> float:
        known = price(model, self._prices)
        if known is None and self.budget.usd is not None:
            raise ConfigError(f"budget_usd: {model!r} has no price; give it in prices: or use budget_tokens instead")
        prompt = estimate_prompt(messages)
        return known.usd(Usage(prompt=prompt, completion=tokens - prompt)) if known else 0.0

    def _over(self, wanted: Reservation, flying: set[Reservation] | frozenset[Reservation]) -> str:
        """The limit that `wanted` breaks on top of what is spent and `flying`; empty when it fits."""
        usd, tokens, calls = self.budget
        if calls is not None and self.calls + len(self._flying) + 1 > calls:  # a call never turns out cheaper
            return f"budget of {calls} calls"
        if tokens is not None and self.usage.total + sum(call.tokens for call in flying) + wanted.tokens > tokens:
            return f"budget of {tokens:,} tokens"
        if usd is not None and (self.usd or 0.0) + math.fsum(call.usd for call in flying) + wanted.usd > usd:
            return f"budget of ${usd:g}"
        return ""

    def _story(self, over: str) -> str:
        usd = self.usd
        dollars = "dollars unknown" if usd is None else f"${usd:.4f}" if usd >= 0.01 else f"${usd:.6f}"
        return (
            f"{over} reached: {self.calls + len(self._flying):,} calls ({len(self._flying)} still in flight), "
            f"{self.usage.total:,} tokens, {dollars} spent so far, and the next call may not fit. "
            "Everything is saved: raise the budget and run the same command to go on"
        )

    def _release(self, reservation: Reservation) -> None:
        self._flying.discard(reservation)
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def _next_settlement(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)


def estimate_prompt(messages: Sequence[Message]) -> int:
    """Tokens of a prompt, at four characters a token."""
    return sum(len(message.content) for message in messages) // CHARACTERS_PER_TOKEN + 4 * len(messages)


def _estimate(messages: Sequence[Message], completion: Completion) -> Usage:
    """What the server said, or our estimate where that is more."""
    said = completion.usage
    spoken = (len(completion.text) + len(completion.reasoning)) // CHARACTERS_PER_TOKEN
    return said.model_copy(
        update={"prompt": said.prompt or estimate_prompt(messages), "completion": said.completion or spoken}
    )


def _plain(row: Row, usd: float | None) -> dict[str, Any]:
    tokens = row.usage
    return {
        "calls": row.calls,
        "replayed": row.replayed,
        "failed": row.failed,
        "estimated": row.estimated,
        "prompt_tokens": tokens.prompt,
        "cached_tokens": tokens.cached,
        "completion_tokens": tokens.completion,
        "reasoning_tokens": tokens.reasoning,
        "latency_s": round(row.latency_s, 3),
        "usd": None if usd is None else round(usd, 6),
    }


def _sum(values: Any) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
