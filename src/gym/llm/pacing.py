"""When the next call may go by the clock: the server's rate limits as its headers tell them, and the pauses it asks for.

Each limit is a token bucket. Every answer anchors it anew at what the server said was left when that call was sent, less
what was sent since; from there it refills linearly to its limit within the time the server named. So calls are spread
over the minute before the server has to refuse one. Used from one event loop at a time.
"""

import math
import random as randomness
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

from gym.llm.rate_headers import DEFAULT_RESET_S, Allowance, Kind, allowances

SHARE = 0.98
"""Of a rate that is used: a refusal costs more than the rest, and neither clocks nor rounded headers are exact."""
SPREAD_S = 1.0
"""After a pause the calls that waited start within this time, or a tenth of the pause when that is more."""
FIRST_STALL_S, LONGEST_STALL_S = 1.0, 60.0


class Cost(NamedTuple):
    """What a call takes of each limit; tokens are the prompt's estimate and the longest reply."""

    requests: int = 1
    tokens: int = 0


class Ticket(NamedTuple):
    """What had been spent when a call was sent, itself included."""

    at: float
    spent: Cost


sending: ContextVar[Ticket | None] = ContextVar("sending", default=None)
"""Of the call that is being made in this context."""


@dataclass
class Bucket:
    """One limit; `credit` as of `at`, growing by `rate` a second up to `limit`."""

    limit: float
    credit: float
    rate: float
    at: float

    def ready_at(self, cost: float, now: float) -> float:
        """When `cost` is there; one above the whole limit goes when the bucket is full, since it can never wait for more."""
        lacking = min(cost, self.limit) - self.left(now)
        return now if lacking <= 1e-9 else now + lacking / self.rate

    def left(self, now: float) -> float:
        """The credit at `now`, negative when more was spent than the server knew of."""
        return min(self.limit, self.credit + self.rate * (now - self.at))

    def spend(self, cost: float, now: float) -> None:
        """Take `cost` out."""
        self.credit, self.at = self.left(now) - cost, now


class Pace:
    """The rate limits of one endpoint: the transport's observer, and what the limiter asks."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, calendar: Callable[[], float] = time.time) -> None:
        self._clock, self._calendar = clock, calendar
        self._spent = Cost(0, 0)
        self._buckets: dict[Kind, Bucket] = {}

    def spend(self, cost: Cost, now: float) -> Ticket:
        """A call of this cost goes."""
        self._spent = Cost(self._spent.requests + cost.requests, self._spent.tokens + cost.tokens)
        for kind, bucket in self._buckets.items():
            bucket.spend(getattr(cost, kind), now)
        return Ticket(now, self._spent)

    def ready_at(self, cost: Cost, now: float) -> float:
        """When a call of this cost fits into every limit; `now` while no limit is known."""
        return max((bucket.ready_at(getattr(cost, kind), now) for kind, bucket in self._buckets.items()), default=now)

    def sent(self) -> Ticket:
        """The transport sends a call now; one that holds no slot counts for nothing."""
        ticket = sending.get()
        return Ticket(self._clock(), ticket.spent if ticket else self._spent)

    def answered(self, ticket: Ticket, headers: Mapping[str, str]) -> None:
        """What the server said of its limits in an answer, errors included."""
        for told in allowances(headers, self._calendar()):
            since = getattr(self._spent, told.kind) - getattr(ticket.spent, told.kind)
            self._anchor(told, ticket.at, since)

    def _anchor(self, told: Allowance, at: float, since: float) -> None:
        known = self._buckets.get(told.kind)
        missing = told.limit - told.remaining
        usual = known.rate if known else SHARE * told.limit / DEFAULT_RESET_S
        rate = SHARE * missing / told.reset_s if missing and told.reset_s else usual
        bucket = Bucket(told.limit, told.remaining, rate, at)
        bucket.spend(since, self._clock())
        self._buckets[told.kind] = bucket


class _Stall(NamedTuple):
    """Refusals since anybody was served."""

    served: int
    since: float
    last: float
    wait_s: float


class Gate:
    """Closed while a server's Retry-After lasts; then it lets the waiting through one by one, at random distances.

    A server that refuses without saying for how long closes it too, once it has served nobody since the last refusal:
    for 1, 2, 4 … 60 s, until it serves someone again.
    """

    def __init__(self, random: Callable[[], float] = randomness.random) -> None:
        self.opens_at = -math.inf
        self._random = random
        self._reopens = self._until = -math.inf
        """The pause ends at the one; from the other on nobody is held back."""
        self._stall = _Stall(-1, 0.0, 0.0, 0.0)

    def close(self, now: float, seconds: float) -> bool:
        """Let nobody through for `seconds`; whether that is longer than what was asked before."""
        if now + seconds <= self._reopens:
            return False
        spread_s = max(SPREAD_S, seconds / 10)
        self._reopens, self._until = now + seconds, now + seconds + spread_s
        self.opens_at = self._reopens + self._random() * spread_s / 10
        return True

    def refused(self, now: float, *, sent_at: float, served: int) -> float:
        """A call sent at `sent_at` was refused, `served` are all that ever were: how long there were only refusals."""
        stall = self._stall
        if served > stall.served or now > stall.last + 2 * LONGEST_STALL_S:
            self._stall = _Stall(served, now, now, FIRST_STALL_S)
        elif sent_at >= stall.last:
            self.close(now, stall.wait_s)
            self._stall = stall._replace(last=now, wait_s=min(2 * stall.wait_s, LONGEST_STALL_S))
        return now - self._stall.since

    def passed(self, now: float, waiting: int) -> None:
        """One went through and `waiting` are left: right after a pause they share what is left of the spread."""
        if now < self._until:
            gap_s = self._random() * 2 * (self._until - now) / (waiting + 1)
            self.opens_at = min(now + gap_s, self._until)
