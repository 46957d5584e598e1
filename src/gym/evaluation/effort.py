"""What learning took, and what it changed: the same figures for a library, for adapters and for weights.

Energy is not among them: it cannot be measured on most machines, so calls, tokens, seconds and memory stand in for it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from gym.core.value import Value
from gym.evaluation.metrics import Score

Way = Literal["library", "lora", "grpo"]


class Changed(Value):
    """Numbers of a model's parameters."""

    parameters: int
    """Of the model as it was."""
    changed: int
    """Of these, the ones that have another value now."""
    added: int = 0
    """Of adapters beside them."""
    tensors: int = 0
    changed_tensors: int = 0

    @property
    def share(self) -> float:
        """Parameters that are not what they were, those that were added too, over those of the model; 0 for none."""
        return (self.changed + self.added) / self.parameters if self.parameters else 0.0


class Effort(Value):
    """What one run took to learn; its held-out answers are left out of calls, tokens, dollars and `learning_s`."""

    way: Way
    learning_s: float = Field(ge=0)
    seconds: float = Field(ge=0)
    """Of the whole run, with its evaluations."""
    calls: int | None = Field(default=None, ge=0)
    """Answers drawn, reflections and judgements; None in agent mode, where an answer takes several."""
    tokens: int = Field(ge=0)
    """Prompts and replies."""
    usd: float | None
    """None when unknown."""
    peak_bytes: int | None = None
    """Resident memory of the process and those it started."""
    weights: Literal["unchanged", "changed", "unknown"] = "unknown"
    """Unchanged is proven by their digest; unknown for a model behind an API."""
    changed: Changed | None = None
    """None where weights were not counted."""


def told_effort(report: object) -> Effort | None:
    """What a run's report.json tells of it; None in one that is older, or an evaluation's. Raises `ValidationError`."""
    effort = report.get("effort") if isinstance(report, Mapping) else None
    return Effort.model_validate(effort) if effort else None


def learned_with(
    total: Mapping[str, Any], measured: Sequence[Score], usd: Iterable[float | None], *, chat: bool
) -> dict[str, Any]:
    """Calls, tokens and dollars of a run (`total` of `Meter.snapshot()`) without those of its held-out answers.

    `measured`: evaluations of which each was asked once; `usd`: what each came to. With `chat` an answer is one call.
    """
    tokens = sum(one.tokens.total for one in measured)
    calls = sum(one.n_answers + one.failed for one in measured)
    paid = [total["usd"], *usd]
    return {
        "calls": max(total["calls"] - calls, 0) if chat else None,
        "tokens": max(total["prompt_tokens"] + total["completion_tokens"] - tokens, 0),
        "usd": None if None in paid else max(paid[0] - sum(paid[1:]), 0.0),
    }
