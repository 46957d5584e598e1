"""Keys and values of how prompts begin, kept from batch to batch.

Instructions and library stand first and byte-identical in every prompt of a step, and the G answers to one problem share all
of theirs. So a beginning is run through the model once, at one row, and copied to the rows. The last few are kept, since the
stages begin differently; one that goes on from a kept one takes its place.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

KEPT = 4
LEAST = 16
"""Tokens: two prompts that share fewer only have the template's first words in common."""


class Beginning(NamedTuple):
    """Tokens and, for each layer, their keys and values, (1, heads, tokens, dim)."""

    ids: tuple[int, ...]
    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]

    def first(self, length: int) -> "Beginning":
        """The same up to `length` tokens."""
        cut = tuple((keys[..., :length, :], values[..., :length, :]) for keys, values in self.layers)
        return Beginning(self.ids[:length], cut)

    def cache(self, rows: int) -> DynamicCache:
        """For as many rows, ready to go on."""
        copies = ((keys.expand(rows, -1, -1, -1), values.expand(rows, -1, -1, -1)) for keys, values in self.layers)
        return DynamicCache(tuple(copies))


class Reused(NamedTuple):
    """A beginning in a model's cache, once for each row."""

    cache: DynamicCache
    length: int
    """Tokens of it."""
    known: int
    """Those that were kept from an earlier batch."""


class Prefixes:
    """The beginnings that were used last, for one model whose weights do not change; used from one thread."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._kept: list[Beginning] = []
        layers = DynamicCache(config=model.config).layers
        self.possible = bool(layers) and all(type(layer) is DynamicLayer for layer in layers)
        """Not where a layer forgets (sliding windows) or sums up (linear attention) what went before."""

    def of(self, prompts: Sequence[Sequence[int]]) -> Reused | None:
        """What the prompts have in common, at least a token less than the shortest; None when that is too little."""
        length = min(overlap(prompts), min(map(len, prompts)) - 1)
        if not self.possible or length < LEAST:
            return None
        ids = tuple(prompts[0][:length])
        nearest = max(self._kept, key=lambda one: overlap((one.ids, ids)), default=Beginning((), ()))
        known = overlap((nearest.ids, ids))
        if known < LEAST:
            known, nearest = 0, Beginning((), ())
        found = self._extended(nearest.first(known), ids)
        self._kept = [found, *(one for one in self._kept if one is not nearest)][:KEPT]
        return Reused(found.cache(len(prompts)), length, known)

    def _extended(self, start: Beginning, ids: tuple[int, ...]) -> Beginning:
        """`start` and the rest of `ids`, which the model reads now."""
        if len(start.ids) == len(ids):
            return start
        device = self._model.device
        rest = torch.tensor([ids[len(start.ids) :]], device=device)
        mask = torch.ones(1, len(ids), dtype=torch.long, device=device)
        cache = start.cache(1) if start.ids else DynamicCache(config=self._model.config)
        cache = self._model(input_ids=rest, attention_mask=mask, cache=cache, use_cache=True, logits_to_keep=1).cache
        return Beginning(ids, tuple((layer.keys, layer.values) for layer in cache.layers))


def overlap(several: Sequence[Sequence[int]]) -> int:
    """Tokens that all begin with.

    >>> overlap([(1, 2, 3), (1, 2, 4), (1, 2)]), overlap([(1, 2)])
    (2, 2)
    """
    first, *others = several
    length = len(first)
    for other in others:
        length = min(length, len(other))
        length = next((place for place in range(length) if first[place] != other[place]), length)
    return length
