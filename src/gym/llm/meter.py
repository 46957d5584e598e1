"""Tokens, dollars and calls by stage and model, and the budgets on them (SPEC 5.1, 5.2).

A call is reserved before it is sent, at the most it may cost, and settled at what it did cost. A call that fits into
the budget only when those in flight turn out cheaper waits for them; one that cannot fit is the end: `BudgetReached`.
The call log rebuilds the meter on open, so that a budget spans every resume of a run.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from gym.core.chat import Completion, Message, Sampling, Usage
from gym.core.text import count
from gym.errors import BudgetReached, ConfigError
from gym.llm.prices import Overrides, Price, price
from gym.llm.spent import Row, Spent, answered, estimate_prompt, unanswered

DEFAULT_MAX_TOKENS = 4096
"""Reserved for a reply whose length is not limited by the request."""
PICO = 10**12


class Budget(NamedTuple):
    """Limits on a whole run; None is no limit."""

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Reservation:
    """One call in flight, at the most it may cost."""

    stage: str
    model: str
    tokens: int
    usd: float

    @property
    def pico_usd(self) -> int:
        """Dollars in whole trillionths: they add, and subtract again, exactly."""
        return round(self.usd * PICO)


class Queries(NamedTuple):
    """What was asked of a search service."""

    paid: int = 0
    replayed: int = 0
    """Answered from the record, free."""
    each_usd: float | None = 0.0

    @property
    def usd(self) -> float | None:
        """Dollars of the paid ones; None when unknown."""
        return 0.0 if not self.paid else None if self.each_usd is None else self.paid * self.each_usd

    def plain(self) -> dict[str, Any]:
        """For stats.json."""
        return {
            "queries": self.paid,
            "replayed": self.replayed,
            "usd": None if self.usd is None else round(self.usd, 6),
        }


class Meter:
    """Counts every call of a run. Used from one event loop at a time.

    Invariant: `_calls` and `_tokens` are the sums over `_rows`, `_flying_tokens` and `_flying_pico_usd` over `_flying`.
    """

    def __init__(self, budget: Budget = Budget(), prices: Overrides | None = None) -> None:  # noqa: B008 - a frozen value
        self.budget = budget
        self._prices = prices
        self._known: dict[str, Price | None] = {}
        self._rows: defaultdict[tuple[str, str], Row] = defaultdict(Row)
        self._calls = self._tokens = 0
        self._flying: set[Reservation] = set()
        self._flying_tokens = self._flying_pico_usd = 0
        self._waiting: set[asyncio.Future[None]] = set()
        self._queries: dict[str, Queries] = {}

    @property
    def in_flight(self) -> int:
        """Calls reserved and not yet settled."""
        return len(self._flying)

    @property
    def calls(self) -> int:
        """Calls sent so far."""
        return self._calls

    @property
    def calls_left(self) -> int | None:
        """Calls that the budget still allows, those in flight taken off; None without a limit."""
        return None if self.budget.calls is None else max(0, self.budget.calls - self._calls - len(self._flying))

    @property
    def usage(self) -> Usage:
        """Tokens of all calls."""
        return sum((row.usage for row in self._rows.values()), Usage())

    @property
    def usd(self) -> float | None:
        """Dollars of all calls and queries; None when a model with spent tokens, or a service, has no price."""
        models = (self._usd(model, row) for (_, model), row in self._rows.items())
        return _sum(chain(models, (asked.usd for asked in self._queries.values())))

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
            if over := self._over(wanted, 0, 0):
                raise BudgetReached(self._story(over))
            if not self._over(wanted, self._flying_tokens, self._flying_pico_usd):
                self._flying.add(wanted)
                self._flying_tokens += wanted.tokens
                self._flying_pico_usd += wanted.pico_usd
                return wanted
            await self._next_settlement()
            check()

    def settle(self, reservation: Reservation, messages: Sequence[Message], completion: Completion) -> None:
        """The call was answered."""
        self._release(reservation)
        self.count(reservation.stage, reservation.model, answered(messages, completion))

    def fail(self, reservation: Reservation, messages: Sequence[Message], error_type: str) -> None:
        """The call was not answered; `error_type` is the class name of the error."""
        self._release(reservation)
        self.count(reservation.stage, reservation.model, unanswered(messages, error_type))

    def count(self, stage: str, model: str, spent: Spent) -> None:
        """One call, paid now or (from the log) before."""
        self._rows[stage, model].add(spent)
        self._calls += 1
        self._tokens += spent.prompt + spent.completion

    def count_replay(self, stage: str, model: str) -> None:
        """One call answered from the log."""
        self._rows[stage, model].replayed += 1

    def count_queries(self, service: str, usd: float | None, *, paid: int = 0, replayed: int = 0) -> None:
        """More queries to a search service at `usd` each (None: unknown): paid now or before, or answered from the record."""
        known = self._queries.get(service, Queries())
        self._queries[service] = Queries(known.paid + paid, known.replayed + replayed, usd)

    def snapshot(self) -> dict[str, Any]:
        """Plain numbers for stats.json: `total`, `stages` → stage → model, and `queries` by service where any were asked.

        `usd` is None where unknown; the total's holds the queries', its calls do not.
        """
        stages: dict[str, dict[str, Any]] = {}
        total = Row()
        for (stage, model), row in sorted(self._rows.items(), key=itemgetter(0)):
            stages.setdefault(stage, {})[model] = row.plain(self._usd(model, row))
        for row in self._rows.values():
            total.merge(row)
        queries = {service: asked.plain() for service, asked in sorted(self._queries.items())}
        return {"total": total.plain(self.usd), "stages": stages} | ({"queries": queries} if queries else {})

    def _usd(self, model: str, row: Row) -> float | None:
        if not row.prompt and not row.completion:
            return 0.0
        known = self._price(model)
        return None if known is None else known.usd(row)

    def _price(self, model: str) -> Price | None:
        if model not in self._known:
            self._known[model] = price(model, self._prices)
        return self._known[model]

    def _most_usd(self, model: str, messages: Sequence[Message], tokens: int) -> float:
        if self.budget.usd is None:
            return 0.0
        if (known := self._price(model)) is None:
            raise ConfigError(f"budget_usd: {model!r} has no price; give it in prices: or use budget_tokens instead")
        prompt = estimate_prompt(messages)
        return known.usd(Spent(prompt, completion=tokens - prompt))

    def _over(self, wanted: Reservation, flying_tokens: int, flying_pico_usd: int) -> str:
        """The limit that `wanted` breaks on top of what is spent and what may be in flight; empty when it fits."""
        usd, tokens, calls = self.budget
        if calls is not None and self._calls + len(self._flying) + 1 > calls:  # a call never turns out cheaper
            return f"budget of {count(calls, 'call')}"
        if tokens is not None and self._tokens + flying_tokens + wanted.tokens > tokens:
            return f"budget of {tokens:,} tokens"
        if usd is not None and (self.usd or 0.0) + flying_pico_usd / PICO + wanted.usd > usd:
            return f"budget of ${usd:g}"
        return ""

    def _story(self, over: str) -> str:
        usd = self.usd
        dollars = "dollars unknown" if usd is None else f"${usd:.4f}" if usd >= 0.01 else f"${usd:.6f}"
        flying = f" ({len(self._flying)} of them in flight then)" if self._flying else ""
        spent = f"{self._tokens:,} tokens" + (f", {dollars}" if self._tokens else "")
        room = (
            ""
            if "calls" in over
            else "; each reserves its prompt and rollout_max_tokens, so fewer of these let more fit"
        )
        return (
            f"{over} reached: {count(self._calls + len(self._flying), 'call')}{flying}, {spent} paid for by then, and the next "
            f"call may not fit{room}. Everything is saved: raise the budget and run the same command to go on"
        )

    def _release(self, reservation: Reservation) -> None:
        self._flying.remove(reservation)
        self._flying_tokens -= reservation.tokens
        self._flying_pico_usd -= reservation.pico_usd
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


def _sum(values: Any) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
