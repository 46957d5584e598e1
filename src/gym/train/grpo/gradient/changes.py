"""How many numbers of a model training changed: compared one by one with the model as its files have it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from gym.evaluation.effort import Changed
from gym.llm.hf.opening import load

WRAPPED, INNER = "base_model.model.", ".base_layer"
"""What PEFT puts around the names of a model's own tensors."""


def changes(model: Any, path: Path) -> Changed:
    """Parameters of the trained `model` against those at `path`, which are read again; a tied one counts once."""
    original = dict(load(path).model.named_parameters())
    changed = tensors = added = 0
    for name, tensor in _own_names(model):
        if (was := original.get(name)) is None:
            added += tensor.numel()
            continue
        differ = int((tensor.detach().to("cpu") != was.detach().to("cpu", tensor.dtype)).sum())
        changed, tensors = changed + differ, tensors + (differ > 0)
    return Changed(
        parameters=sum(one.numel() for one in original.values()),
        changed=changed,
        added=added,
        tensors=len(original),
        changed_tensors=tensors,
    )


def _own_names(model: Any) -> Iterator[tuple[str, torch.Tensor]]:
    for name, tensor in model.named_parameters():
        yield name.removeprefix(WRAPPED).replace(INNER, ""), tensor
