"""The circuit breaker of one endpoint (Nygard, Release It!, 2007): while nobody answers, wait instead of failing calls.

It opens when the first attempts of eight calls in a row got no answer. Retries do not count: at the end of a run only the
prompts that always fail are left, and those must not look like an outage. While it is open one call at a time probes,
after 5, 10, 20, 40, 60, 60 … seconds; any answer closes it; after `patience_s` it gives up. Pure: the limiter has the clock.
"""

import math
from typing import NamedTuple

from gym.errors import ProviderError

TRIPS_AT = 8
FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 60.0


class Paused(NamedTuple):
    """The endpoint is not answering; the next probe is in `wait_s`."""

    error: ProviderError
    wait_s: float


class GaveUp(NamedTuple):
    """… and it was waited for long enough."""

    error: ProviderError
    after_s: float


class _Outage(NamedTuple):
    since: float
    error: ProviderError
    wait_s: float


class Breaker:
    """`patience_s` of 0: it never opens, so every call fails by itself."""

    def __init__(self, patience_s: float) -> None:
        self.opens_at = -math.inf
        """When the next call may go; infinite while a probe is under way."""
        self._patience_s = patience_s
        self._failed = 0
        self._outage: _Outage | None = None

    @property
    def open(self) -> bool:
        """Whether the endpoint counts as down."""
        return self._outage is not None

    def sent(self) -> bool:
        """A call goes; whether it is a probe, which no other call may follow before it ends."""
        if self.open:
            self.opens_at = math.inf
        return self.open

    def answered(self) -> bool:
        """The endpoint said something; whether that ended an outage."""
        ended, self._outage, self._failed, self.opens_at = self.open, None, 0, -math.inf
        return ended

    def failed(self, error: ProviderError, now: float, *, first: bool, probe: bool) -> Paused | GaveUp | None:
        """Nobody answered a call; what that changed, if anything."""
        if self._outage is not None:
            return self._probed(self._outage, error, now) if probe else None
        self._failed += first
        if not self._patience_s or self._failed < TRIPS_AT:
            return None
        return self._pause(_Outage(now, error, FIRST_WAIT_S), now)

    def unprobed(self, now: float) -> GaveUp | None:
        """A probe was cancelled, as a call that hangs is in the end: the next call probes."""
        if self._outage is None:
            return None
        self.opens_at = now
        return self._gave_up(self._outage, now)

    def _probed(self, outage: _Outage, error: ProviderError, now: float) -> Paused | GaveUp:
        longer = outage._replace(error=error, wait_s=min(2 * outage.wait_s, LONGEST_WAIT_S))
        return self._gave_up(longer, now) or self._pause(longer, now)

    def _pause(self, outage: _Outage, now: float) -> Paused:
        """The last probe comes when the patience ends."""
        wait_s = min(outage.wait_s, outage.since + self._patience_s - now)
        self._outage, self.opens_at = outage, now + wait_s
        return Paused(outage.error, wait_s)

    def _gave_up(self, outage: _Outage, now: float) -> GaveUp | None:
        after_s = now - outage.since
        return GaveUp(outage.error, after_s) if after_s >= self._patience_s else None
