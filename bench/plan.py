"""What the mock server shall do: how fast, how much, what it gets wrong, and how its models answer.

Every choice is a hash of what was asked and how often, so a run is repeatable and a bench knows what to expect.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal, Self

Fault = Literal["429", "500", "hang", "reset", "truncated"]
MODEL = "bench-model"
FAULTS: tuple[Fault, ...] = ("429", "500", "hang", "reset", "truncated")


@dataclass(frozen=True)
class Plan:
    """Everything about a mock server; JSON carries it to the server's process."""

    latency_s: float = 0.5
    capacity: int | None = None
    """Requests worked on at once; others queue."""
    rate: float | None = None
    """Requests a second, with a burst of one second; what is beyond gets 429."""
    rate_headers: bool = False
    """Whether replies carry `x-ratelimit-*`."""
    faults: Mapping[Fault, float] = field(default_factory=dict)
    """Share of attempts that end in each fault, in [0, 1]; together at most 1."""
    always_500: float = 0.0
    """Share of problems whose every attempt gets 500."""
    retry_after_s: float = 1.0
    """What a 429 asks to wait; fractions go into `retry-after-ms`, as OpenAI's do."""
    halt_after: int | None = None
    """Requests beyond so many are never answered: the moment to kill a client."""
    right: Literal["mixed", "always"] = "mixed"
    """mixed: 37 answers in 100 are right, so that nine groups of five in ten are informative."""
    reflector: Literal["none", "few", "many"] = "few"
    """Which critiques propose an experience: none, 9 in 100 (one consolidation call), all (map-reduce)."""

    def to_json(self) -> str:
        """One line that `from_json` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The plan of `to_json`; an unknown field raises `TypeError`."""
        return cls(**json.loads(text))

    def fault(self, identity: str, attempt: int, problem: int | None) -> Fault | None:
        """What goes wrong with this attempt (1 for the first) at a request, if anything."""
        if self.refuses(problem):
            return "500"
        if not self.faults:
            return None
        at = _share(f"{identity}#{attempt}")
        for kind in FAULTS:
            at -= self.faults.get(kind, 0.0)
            if at < 0.0:
                return kind
        return None

    def refuses(self, problem: int | None) -> bool:
        """Whether every answer to this problem is 500."""
        return problem is not None and self.always_500 > 0.0 and _share(f"refused/{problem}") < self.always_500

    def is_right(self, seed: int) -> bool:
        """Whether the answer drawn with this seed is right."""
        return self.right == "always" or seed % 100 < 37

    def proposes(self, problem: int) -> bool:
        """Whether the critique of this problem proposes an experience."""
        return self.reflector == "many" or (self.reflector == "few" and problem % 12 == 0)


def _share(text: str) -> float:
    """A number in [0, 1) that is the same for the same text in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big") / 2**48
