"""What calls cost, as plain numbers: one call (`Spent`) and the sum of many (`Row`).

Where a server does not say how many tokens it used, they are estimated here, and counted as estimates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from gym.core.chat import Completion, Message, Usage

CHARACTERS_PER_TOKEN = 4
BILLED_FAILURES = frozenset({"TimedOut", "Cancelled", "WorkerLost"})
"""Calls without an answer that the server may have worked on: their prompt is counted (FAULTS P5)."""


class Spent(NamedTuple):
    """What one call came to: plain numbers, whether it was made now or is read from the log."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0
    estimated: bool = False
    """The server did not say, so the tokens are our estimate."""
    latency_s: float = 0.0
    failed: bool = False


def answered(messages: Sequence[Message], completion: Completion) -> Spent:
    """A call with an answer: the tokens the server named, and our estimate of those it kept to itself."""
    said, latency_s = completion.usage, completion.latency_s
    if said.known:
        return Spent(said.prompt, said.cached, said.completion, said.reasoning, latency_s=latency_s)
    prompt = said.prompt or estimate_prompt(messages)
    spoken = said.completion or (len(completion.text) + len(completion.reasoning)) // CHARACTERS_PER_TOKEN
    return Spent(prompt, said.cached, spoken, said.reasoning, estimated=True, latency_s=latency_s)


def unanswered(messages: Sequence[Message], error_type: str) -> Spent:
    """A call without an answer; `error_type` is the class name of the error."""
    if error_type in BILLED_FAILURES:
        return Spent(estimate_prompt(messages), estimated=True, failed=True)
    return Spent(failed=True)


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
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0

    @property
    def usage(self) -> Usage:
        """The tokens as one value."""
        return Usage(
            prompt=self.prompt,
            cached=self.cached,
            completion=self.completion,
            reasoning=self.reasoning,
            known=not self.estimated,
        )

    def add(self, spent: Spent) -> None:
        """One more call."""
        self.calls += 1
        self.failed += spent.failed
        self.estimated += spent.estimated
        self.latency_s += spent.latency_s
        self.prompt += spent.prompt
        self.cached += spent.cached
        self.completion += spent.completion
        self.reasoning += spent.reasoning

    def merge(self, other: "Row") -> None:
        """All of another row's calls."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def plain(self, usd: float | None) -> dict[str, Any]:
        """For stats.json."""
        return {
            "calls": self.calls,
            "replayed": self.replayed,
            "failed": self.failed,
            "estimated": self.estimated,
            "prompt_tokens": self.prompt,
            "cached_tokens": self.cached,
            "completion_tokens": self.completion,
            "reasoning_tokens": self.reasoning,
            "latency_s": round(self.latency_s, 3),
            "usd": None if usd is None else round(usd, 6),
        }


def estimate_prompt(messages: Sequence[Message]) -> int:
    """Tokens of a prompt, at four characters a token."""
    return sum([len(message.content) for message in messages]) // CHARACTERS_PER_TOKEN + 4 * len(messages)
