"""Robust aggregation: one file a rule, `AGGREGATOR = …`, found by name; or one of your own, `pkg.mod:fn`.

A rule is a function `(vectors, *, f)` of the base's `Aggregator`. No rule sees what a text does: a negated advice lies
nearer to its original than an honest paraphrase, so what is published is decided by measured utility
(docs/federation.md).
"""

from functools import cache

from gym import plugins
from gym.federated.aggregators.base import Aggregator


@cache
def resolve_aggregator(name: str) -> Aggregator:
    """The rule called `name`; raises `ConfigError` with the nearest known name."""
    found: Aggregator = plugins.resolve("aggregator", name)
    return found
