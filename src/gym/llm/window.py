"""How many calls may be in flight at an endpoint: a fixed number, or as many as still make it faster.

Adaptive: throughput is measured over rounds of about as many answers as are in flight, and only while the limit is what
holds calls back. It doubles (TCP's slow start, RFC 5681) for as long as that clearly raises the throughput; then it tries
a fifth less and a quarter more in turn and keeps what the measurements speak for. By Little's law this is the gradient of
latency that Netflix's concurrency-limits use, but a mean over answers of very different lengths needs no minimum to compare
with. Once refusals are many, each shrinks either kind by a factor, once a round trip (additive increase, multiplicative
decrease: Chiu & Jain 1989); a fixed one then recovers to its number. Pure: times are given.
"""

import math
from dataclasses import dataclass

START, MOST = 16, 1024
SHRINK = 0.7
RECOVER, CAREFULLY, NEAR = 1.1, 1.02, 0.9
"""Growth, for every round, of a limit that had to shrink; carefully near where the server refused."""
MORE, LESS, CAUTIOUS = 1.25, 0.8, 1.1
"""Steps of a trial up, down, and up to where the server may refuse again."""
MARGIN = 0.5
"""Share of a change in the limit that must be seen in the throughput to be believed."""
FEWEST = 32
"""Answers of the shortest round; between two steady limits it takes three times as many."""
STEADY_ROUNDS = 6
"""Rounds from one trial to the next; fewer where the limit is low and a round therefore long."""
FIRST_LATENCY_S = 1.0
"""Of a round trip, until there was one."""
TROUBLED = 0.3
"""Share of recent calls refused, or without an answer (timeouts, 503), from which on the server counts as overloaded."""


@dataclass
class Round:
    """A measurement: `skip` answers from before the last change, then `need` answers."""

    skip: int
    need: int
    began: float = 0.0
    done: int = 0
    saturated: int = 0
    extended: bool = False

    def extend(self) -> None:
        """Once more as long, since what was seen may be chance."""
        self.need, self.extended = 2 * self.need, True

    def answered(self, now: float, saturated: bool) -> bool:
        """Whether the round is whole."""
        if self.skip:
            self.skip, self.began = self.skip - 1, now
            return False
        self.done += 1
        self.saturated += saturated
        return self.done >= self.need

    def rate(self, now: float) -> float | None:
        """Answers a second; None when something else than the limit held calls back."""
        if now <= self.began or self.saturated < 0.9 * self.done:
            return None
        return self.done / (now - self.began)


class Window:
    """The limit of one endpoint; `limit` None: adaptive, from `START` up to `most`."""

    def __init__(self, limit: int | None = None, most: int = MOST) -> None:
        self.adaptive = limit is None
        self._most = most if limit is None else limit
        self._limit = float(min(START, most) if limit is None else limit)
        self._base = self._limit
        """The limit to go back to when a trial of another does not pay."""
        self._base_rate: float | None = None
        self._more, self._rest, self._up = 2.0, 0, True
        self._shrunk_at, self._refused_at = -math.inf, 0.0
        self._latency_s, self._trouble = FIRST_LATENCY_S, 0.0
        self._refusals, self._overloaded = 0.0, False
        self._round = self._new_round(0)

    @property
    def limit(self) -> int:
        """Calls that may be in flight now, 1 or more."""
        return max(1, int(self._limit))

    def answered(self, now: float, *, sent_at: float, in_flight: int) -> None:
        """A call was answered; `in_flight` counts it still."""
        self._latency_s += ((now - sent_at) - self._latency_s) / 16
        self.heard()
        if self._round.answered(now, in_flight >= 0.9 * self.limit):
            if self.adaptive and self._limit >= NEAR * self._refused_at:
                self._measured(self._round.rate(now))
            else:
                self._recover()

    def heard(self) -> None:
        """A call ended in whatever is no sign of too much to do."""
        self._trouble -= self._trouble / max(FEWEST, self.limit)
        self._refusals -= self._refusals / max(FEWEST, self.limit)

    def refused(self, now: float, *, sent_at: float, in_flight: int) -> None:
        """The server has too much to do (429); `in_flight` counts this call no more.

        Few refusals may have nothing to do with what is in flight. Once many had, each one is heeded.
        """
        self.heard()
        self._refusals += 1 / max(FEWEST, self.limit)
        self._overloaded |= self._refusals > TROUBLED
        if not self._overloaded:
            return
        if sent_at <= self._shrunk_at <= now < self._shrunk_at + self._latency_s:
            self._shrink(min(self._limit, in_flight))  # of the calls sent together, this many were accepted
        else:
            self._shrink_once(now, sent_at)

    def troubled(self, now: float, *, sent_at: float) -> None:
        """A call had no answer (timeout, 503): one means little, many are an overload."""
        self.heard()
        self._trouble += 1 / max(FEWEST, self.limit)
        if self._trouble > TROUBLED:
            self._trouble = TROUBLED / 2
            self._shrink_once(now, sent_at)

    def _recover(self) -> None:
        """Fast up to a little below where the server refused, carefully from there, fast again well above."""
        low, high = NEAR * self._refused_at, self._refused_at / NEAR
        if self._limit < low:
            self._set(min(self._limit * RECOVER, low))
        else:
            self._set(self._limit * (CAREFULLY if self._limit <= high else RECOVER))
        self._base = self._limit

    def _shrink_once(self, now: float, sent_at: float) -> None:
        """A call sent before the last shrinking tells nothing of what is left, nor does one within a round trip of it."""
        if sent_at > self._shrunk_at and now >= self._shrunk_at + self._latency_s:
            self._shrunk_at, self._refused_at = now, self._limit
            self._shrink(self._limit * SHRINK)

    def _shrink(self, limit: float) -> None:
        self._set(limit)
        self._base, self._base_rate = self._limit, None
        self._more, self._rest, self._up = CAUTIOUS, self._pause(), True

    def _measured(self, rate: float | None) -> None:
        if rate is None:
            self._round = self._new_round(0)
        elif self._limit == self._base:
            self._base_rate = rate if self._base_rate is None else self._base_rate + (rate - self._base_rate) / 3
            self._rest -= 1
            self._try_another()
        else:
            self._judge(rate)

    def _try_another(self) -> None:
        """Another limit once the rest is over, the other way round where there is no room; else the same once more."""
        if self._rest >= 0:
            self._set(self._base)
            return
        if self._base == (self._most if self._up else 1.0):
            self._up = not self._up
        more, less = math.ceil(self._base * self._more), math.floor(self._base * LESS)
        self._set(max(more, self._base + 1) if self._up else min(less, self._base - 1))

    def _judge(self, rate: float) -> None:
        """Keep the limit that was tried, and go on in its direction, or go back and rest before trying the other one."""
        assert self._base_rate is not None
        factor, grown = self._limit / self._base, rate / self._base_rate
        if grown >= 1 + MARGIN * (factor - 1):
            self._base, self._base_rate, self._rest = self._limit, rate, -1
            if self._limit > self._refused_at / NEAR:
                self._refused_at = 0.0
            if self._up and not self._refused_at:
                self._more = min(2.0, 1.2 * self._more)
            self._try_another()
        elif not self._round.extended:
            self._round.extend()
        elif self._more > MORE:
            self._settle(self._base * max(1.0, grown))
        else:
            self._rest, self._up = self._pause() if self._up else 0, not self._up
            self._set(self._base)

    def _settle(self, limit: float) -> None:
        """The end of doubling: what fits lies below, and trying less comes first."""
        self._set(limit)
        self._base, self._base_rate = self._limit, None
        self._more, self._rest, self._up = MORE, 0, False

    def _pause(self) -> int:
        return math.ceil(min(1.0, self.limit / (3 * FEWEST)) * STEADY_ROUNDS)

    def _set(self, limit: float) -> None:
        before, self._limit = self.limit, min(max(1.0, limit), float(self._most))
        self._round = self._new_round(before)

    def _new_round(self, skip: int) -> Round:
        if not self.adaptive or self._limit < NEAR * self._refused_at:
            return Round(0, self.limit)
        fewest = FEWEST if self._more > MORE else 3 * FEWEST
        return Round(skip, self.limit * math.ceil(fewest / self.limit))
