"""Dollars: three hand-computed vectors, what is free and what is unknown."""

import pytest

from gym.core.chat import Usage
from gym.errors import ConfigError
from gym.llm.prices import FREE, PRICES, Price, price

VECTORS = [
    # FAULTS S3: 100 full + 900 cached + 500 out; reasoning is inside the 500
    (Price(0.15, 0.075, 0.60), Usage(prompt=1000, cached=900, completion=500, reasoning=400), 382.5e-6),
    (Price(0.28, 0.028, 0.42), Usage(prompt=1_000_000, completion=1_000_000), 0.70),
    (Price(2.0, 0.5, 8.0), Usage(prompt=10, cached=10, completion=0), 5e-6),
]


@pytest.mark.parametrize(("cost", "usage", "usd"), VECTORS)
def test_cached_and_reasoning_tokens_are_billed_once(cost: Price, usage: Usage, usd: float) -> None:
    assert cost.usd(usage) == pytest.approx(usd, rel=1e-12)
    # a second formula: everything at the full rate, minus the discount on what was cached
    full = usage.prompt * cost.prompt + usage.completion * cost.completion
    assert cost.usd(usage) * 1e6 == pytest.approx(full - usage.cached * (cost.prompt - cost.cached), rel=1e-12)


def test_an_unknown_model_has_no_price() -> None:
    assert price("some-model") is None
    assert price("o3-mega-large") is None


@pytest.mark.parametrize("model", ["local:qwen", "mine.gguf", "MINE.GGUF", "scripted", "scripted:pkg.mod:fn"])
def test_what_runs_here_is_free(model: str) -> None:
    assert price(model) == FREE


def test_a_name_that_only_looks_local_is_not_free() -> None:
    assert price("localhost-model") is None


def test_a_dated_model_is_priced_as_its_family() -> None:
    assert price("gpt-4o-2024-08-06") == PRICES["gpt-4o"]


def test_the_config_overrides_the_table() -> None:
    mine = {"gpt-4o": {"prompt": 1.0, "completion": 2.0}, "mine": {"prompt": 1, "cached": 0.5, "completion": 2}}
    assert price("gpt-4o", mine) == Price(1.0, 1.0, 2.0)
    assert price("mine", mine) == Price(1, 0.5, 2)


@pytest.mark.parametrize("given", [{"prompt": 1.0}, {"prompt": 1.0, "completion": 1.0, "input": 3.0}])
def test_a_malformed_override_is_the_users_error(given: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="'mine' needs"):
        price("mine", {"mine": given})
