"""How a batch draws: every row with its own temperature, top_p and random numbers, and until its own end.

A row's random numbers come from its own generator, one a token, so what is drawn does not depend on who else is in the
batch. What may still differ is the model's arithmetic: a batch of another shape rounds its logits differently.
"""

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import LogitsProcessor, StoppingCriteria

from gym.core.chat import FinishReason, Sampling

COLDEST = 1e-4
"""Below this a temperature is 0: dividing by it would overflow."""


class Draw(LogitsProcessor):
    """Leaves of each row's scores only the token that was drawn for it, so that the largest is that one."""

    def __init__(self, samplings: Sequence[Sampling]) -> None:
        """Temperature and top_p that are not given are 1: the model's plain distribution. Without a seed, chance decides."""
        warmth = [1.0 if one.temperature is None else one.temperature for one in samplings]
        self._warm = torch.tensor([value >= COLDEST for value in warmth])
        self._temperature = torch.tensor([max(value, COLDEST) for value in warmth]).unsqueeze(1)
        self._top_p = torch.tensor([one.top_p or 1.0 for one in samplings]).unsqueeze(1)
        self._generators = [torch.Generator().manual_seed(_seed(one)) for one in samplings]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        chosen = torch.where(self._warm.to(scores.device), self._drawn(scores), scores.argmax(-1))
        return torch.full_like(scores, -torch.inf).scatter_(1, chosen.unsqueeze(1), 0.0)

    def _drawn(self, scores: torch.Tensor) -> torch.Tensor:
        """(rows,) tokens, by inverse cumulative distribution in float64."""
        if not self._warm.any():
            return scores.argmax(-1)
        chances = torch.softmax(scores.double() / self._temperature.to(scores.device), dim=-1)
        if bool((self._top_p < 1).any()):
            chances = _nucleus(chances, self._top_p.to(scores.device))
        below = chances.cumsum(-1)
        numbers = torch.tensor([torch.rand((), generator=one, dtype=torch.float64) for one in self._generators])
        marks = numbers.to(scores.device).unsqueeze(1) * below[:, -1:]
        return torch.searchsorted(below, marks, right=True).squeeze(1).clamp(max=scores.shape[1] - 1)


class Row:
    """A reply while it is drawn."""

    def __init__(
        self, stop: Sequence[str], limit: int, ends: frozenset[int], text: Callable[[Sequence[int]], str]
    ) -> None:
        self.drawn = 0
        """Tokens, the one that ends the turn included."""
        self.reason: FinishReason | None = None
        """Why it is over; None while it is not."""
        self._ids: list[int] = []
        self._stop, self._limit, self._ends, self._text = stop, limit, ends, text

    def take(self, token: int) -> None:
        """One more token; what comes after the end is dropped."""
        if self.reason is not None:
            return
        self.drawn += 1
        if token in self._ends:
            self.reason = "stop"
            return
        self._ids.append(token)
        if self._stop and any(stop in self._text(self._ids) for stop in self._stop):
            self.reason = "stop"
        elif self.drawn >= self._limit:
            self.reason = "length"

    def text(self) -> str:
        """What it says, up to the first of the texts that stop it."""
        text = self._text(self._ids)
        return text[: min((text.find(stop) for stop in self._stop if stop in text), default=len(text))]


class Ends(StoppingCriteria):
    """Gives every row its token, and says which rows are over: ended, or `abandoned(place)` by whoever asked."""

    def __init__(self, rows: Sequence[Row], abandoned: Callable[[int], bool]) -> None:
        self._rows, self._abandoned = rows, abandoned

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        for row, token in zip(self._rows, input_ids[:, -1].tolist(), strict=True):
            row.take(token)
        over = [row.reason is not None or self._abandoned(place) for place, row in enumerate(self._rows)]
        return torch.tensor(over, device=input_ids.device)


def _nucleus(chances: torch.Tensor, top_p: torch.Tensor) -> torch.Tensor:
    """The likeliest tokens that together reach `top_p`, all others 0."""
    ordered, places = chances.sort(descending=True, dim=-1, stable=True)
    ordered = ordered.masked_fill(ordered.cumsum(-1) - ordered >= top_p, 0.0)
    return torch.zeros_like(chances).scatter_(1, places, ordered)


def _seed(sampling: Sampling) -> int:
    return secrets.randbits(62) if sampling.seed is None else sampling.seed % 2**63
