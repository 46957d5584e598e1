"""The mock server's book: what was asked, what was given, what got lost, and when.

Invariant: every request is in exactly one of answered, faults, limited, lost and in flight.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Entry:
    """One identity: a request and all attempts at it."""

    requests: int = 0
    answered: int = 0
    faults: list[str] = field(default_factory=list)
    """Kinds given, in order; `429` also where the rate was exceeded."""


class Ledger:
    """Counts for one plan; `clock` is monotonic, the same for all processes of the machine."""

    def __init__(self, clock: Callable[[], float], cpu: Callable[[], float] = time.process_time) -> None:
        self._clock, self._cpu, self._cpu_began = clock, cpu, cpu()
        self.entries: dict[str, Entry] = {}
        self.received = self.answered = self.limited = self.lost = self.in_flight = self.most_in_flight = 0
        self.faults: Counter[str] = Counter()
        self.first_at = self.last_at = self.busy_s = 0.0

    def receive(self, identity: str) -> Entry:
        """A request has come."""
        entry = self.entries.get(identity)
        if entry is None:
            entry = self.entries[identity] = Entry()
        entry.requests += 1
        self.received += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        if not self.first_at:
            self.first_at = self._clock()
        return entry

    def answer(self, entry: Entry, began: float) -> None:
        """It got its completion."""
        entry.answered += 1
        self.answered += 1
        self._end(began)

    def fail(self, entry: Entry, began: float, kind: str) -> None:
        """It got a fault."""
        entry.faults.append(kind)
        self.faults[kind] += 1
        self._end(began)

    def limit(self, entry: Entry, began: float) -> None:
        """It came too fast."""
        entry.faults.append("429")
        self.limited += 1
        self._end(began)

    def lose(self, began: float) -> None:
        """Its client went away before the answer."""
        self.lost += 1
        self._end(began)

    def to_json(self, *, calls: bool) -> dict[str, Any]:
        """Plain numbers; times are the clock's, in seconds, `cpu_s` the server's own since the plan began.

        With `calls` a row per identity too: requests, answers, faults.
        """
        told: dict[str, Any] = {key: value for key, value in vars(self).items() if key[0] != "_" and key != "entries"}
        told |= {"identities": len(self.entries), "cpu_s": self._cpu() - self._cpu_began}
        if calls:
            told["calls"] = {name: [row.requests, row.answered, row.faults] for name, row in self.entries.items()}
        return told

    def _end(self, began: float) -> None:
        self.in_flight -= 1
        self.last_at = self._clock()
        self.busy_s += self.last_at - began
