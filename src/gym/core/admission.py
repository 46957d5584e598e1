"""The one gate for every experience text, wherever it comes from (SPEC 2.3).

Texts pass in this order: length, injection screen, answer leak, copy, contradiction, near-copy, measured harm, room. The
answer is a value with a reason; nothing raises. Similarity is injected, so that the gate stays pure.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gym.core.leak import Leaks
from gym.core.operation import MAX_WORDS, Admitted, Experience, Refused
from gym.core.polarity import contradict, contradictions
from gym.core.screen import injection
from gym.core.text import count_words, normalise_text, shown

__all__ = ["NEAR_DUPLICATE", "Admission", "Similarity", "contradictions", "estimate_tokens", "no_similarity"]

NEAR_DUPLICATE = 0.9
"""A cosine above this to any other entry makes a text a near-duplicate."""

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""Cosines of one text to each of several, in order."""

_CONDITION = re.compile(r"(?:when|whenever|for|if|in|before|after)\b", re.IGNORECASE)


def estimate_tokens(text: str) -> int:
    """Tokens of a text without its tokenizer: four characters each, rounded up; wider scripts a token a character."""
    wide = count_wide(text)
    return wide + -(-(len(text) - wide) // 4)


def count_wide(text: str) -> int:
    """Characters of scripts that take a token each."""
    return 0 if text.isascii() else sum(character > "\u2e7f" for character in text)


def no_similarity(text: str, others: Sequence[str]) -> Sequence[float]:
    """Nothing resembles anything: only exact copies are found."""
    return [0.0] * len(others)


@dataclass(frozen=True)
class Admission:
    """The gate, with what it must know; calling it is `gym.core.experience.Admit`."""

    similarity: Similarity = no_similarity
    max_size: int = 100
    token_budget: int = 4000
    """Tokens that the rendered library may take."""
    count_tokens: Callable[[str], int] = estimate_tokens
    ground_truths: Mapping[str, str] = field(default_factory=dict)
    """By training problem id."""
    queries: Mapping[str, str] = field(default_factory=dict)
    """By training problem id."""
    injected: frozenset[str] = frozenset()
    """Texts that stood in the prompts of the rollouts: learning them again is an echo, not news."""
    refuted: Sequence[Experience] = ()
    """Entries that left because they were measured to harm: what says the same stays out."""

    def __call__(self, text: str, others: Sequence[Experience], origin: Sequence[str]) -> Admitted | Refused:
        """Whether `text`, learned from the problems `origin`, may stand beside `others`."""
        line = normalise_text(text)
        refused = (
            self._screened(line) or self._compared(line, others) or self._refuted(line) or self._placed(line, others)
        )
        if refused is not None:
            return refused
        open_ended = () if _CONDITION.match(line) else ("no condition in front: When, For, If, In, Before or After",)
        return Admitted(text=line, warnings=open_ended)

    def excess(self, entries: Sequence[Experience]) -> str | None:
        """Why `entries` are more than fits, or None."""
        if len(entries) > self.max_size:
            return f"the library has room for {self.max_size} entries, not {len(entries)}"
        tokens = self.count_tokens("\n".join(entry.line for entry in entries))
        if entries and tokens > self.token_budget:
            return f"the library has room for {self.token_budget} tokens, not {tokens}"
        return None

    @cached_property
    def _leaks(self) -> Leaks:
        return Leaks(self.ground_truths, self.queries)

    def _screened(self, line: str) -> Refused | None:
        words = count_words(line)
        if words == 0:
            return Refused(reason="the text is empty")
        if words > MAX_WORDS:
            return Refused(reason=f"{words} words, at most {MAX_WORDS} are allowed")
        if steering := injection(line):
            return Refused(reason=f"looks like an injected instruction: {steering}")
        if leak := self._leaks.find(line):
            return Refused(reason=f"leaks an answer: {leak}")
        return None

    def _compared(self, line: str, others: Sequence[Experience]) -> Refused | None:
        for other in others:
            if line.casefold() == other.text.casefold():
                return self._repeated(other, f"is a copy of {other.id}")
        for other in others:
            if contradict(line, other.text):
                reason = f"contradicts {other.id} ({shown(other.text)}): modify or delete that one to decide"
                return Refused(reason=reason, contradicts=other.id)
        cosines = self.similarity(line, [other.text for other in others]) if others else ()
        closest, cosine = max(zip(others, cosines, strict=True), key=lambda pair: pair[1], default=(None, 0.0))
        if closest is not None and cosine > NEAR_DUPLICATE:
            return self._repeated(closest, f"is nearly {closest.id} ({shown(closest.text)}, cosine {cosine:.2f})")
        return None

    def _refuted(self, line: str) -> Refused | None:
        past = [entry for entry in self.refuted if not contradict(line, entry.text)]
        cosines = self.similarity(line, [entry.text for entry in past]) if past else ()
        for entry, cosine in zip(past, cosines, strict=True):
            if line.casefold() == entry.text.casefold() or cosine > NEAR_DUPLICATE:
                return Refused(reason=f"says what {entry.id} said, which was removed: {_measured(entry)}")
        return None

    def _repeated(self, other: Experience, reason: str) -> Refused:
        if other.text in self.injected:
            reason = f"{other.id} learned again: it stood in the prompt"
            return Refused(reason=reason, echo_of=other.id, duplicate_of=other.id)
        return Refused(reason=reason, duplicate_of=other.id)

    def _placed(self, line: str, others: Sequence[Experience]) -> Refused | None:
        number = max(99_999, *(other.number for other in others), 0)
        if excess := self.excess([*others, Experience(id=f"G{number}", text=line)]):
            return Refused(reason=f"no room: {excess}")
        return None


def _measured(entry: Experience) -> str:
    return f"measured effect {entry.effect}" if entry.effect else "it did harm"
