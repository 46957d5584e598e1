"""Tokens to dollars: one dated table of list prices, overridden by `prices:` in the config (SPEC 5.1).

The figures are the providers' public list prices of December 2025, without discounts; they change, so set your own
where it matters. A model that is not listed has no price: its dollars are unknown, never 0. What runs on this machine
because we started it (`local:NAME`, a GGUF file, `hf:FOLDER`) or is a function (`scripted`) costs 0.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from gym.errors import ConfigError

PRICES_DATE = "2025-12"
MILLION = 1_000_000


class Tokens(Protocol):
    """What a price is asked for: a `gym.core.chat.Usage`, or plain counts."""

    @property
    def prompt(self) -> int: ...
    @property
    def cached(self) -> int: ...
    @property
    def completion(self) -> int: ...


class Price(NamedTuple):
    """Dollars per million tokens."""

    prompt: float
    cached: float
    completion: float

    def usd(self, usage: Tokens) -> float:
        """Dollars for `usage`: cached tokens are part of the prompt, reasoning part of the completion (FAULTS S3).

        >>> from gym.core.chat import Usage
        >>> Price(1.0, 0.1, 2.0).usd(Usage(prompt=1000, cached=900, completion=500, reasoning=400)) * 1_000_000
        1190.0
        """
        fresh = usage.prompt - usage.cached
        return (fresh * self.prompt + usage.cached * self.cached + usage.completion * self.completion) / MILLION


FREE = Price(0.0, 0.0, 0.0)

PRICES: Mapping[str, Price] = {
    "deepseek-chat": Price(0.28, 0.028, 0.42),
    "deepseek-reasoner": Price(0.28, 0.028, 0.42),
    "gpt-4o": Price(2.50, 1.25, 10.00),
    "gpt-4o-mini": Price(0.15, 0.075, 0.60),
    "gpt-4.1": Price(2.00, 0.50, 8.00),
    "gpt-4.1-mini": Price(0.40, 0.10, 1.60),
    "gpt-4.1-nano": Price(0.10, 0.025, 0.40),
    "gpt-5": Price(1.25, 0.125, 10.00),
    "gpt-5-mini": Price(0.25, 0.025, 2.00),
    "gpt-5-nano": Price(0.05, 0.005, 0.40),
    "o3": Price(2.00, 0.50, 8.00),
    "o3-mini": Price(1.10, 0.55, 4.40),
    "o4-mini": Price(1.10, 0.275, 4.40),
}

_FREE = re.compile(r"^(local|hf|scripted)(:|$)|\.gguf$", re.I)
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")

Overrides = Mapping[str, Mapping[str, float]]


def price(model: str, overrides: Overrides | None = None) -> Price | None:
    """The price of a model: the override, the table's (a date suffix counts as the same model), or None: unknown."""
    if overrides and model in overrides:
        return _override(model, overrides[model])
    if _FREE.search(model):
        return FREE
    return PRICES.get(model) or PRICES.get(_DATED.sub("", model))


def _override(model: str, given: Mapping[str, float]) -> Price:
    if "prompt" not in given or "completion" not in given or not given.keys() <= set(Price._fields):
        raise ConfigError(f"prices: {model!r} needs 'prompt' and 'completion', and may have 'cached', in $ per million")
    return Price(given["prompt"], given.get("cached", given["prompt"]), given["completion"])
