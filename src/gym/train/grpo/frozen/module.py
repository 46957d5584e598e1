"""The fingerprint of a live torch module: every parameter and buffer, also those that no checkpoint keeps."""

import hashlib
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from gym.errors import ConfigError
from gym.train.grpo.frozen.parts import Fingerprint, Kind, Part

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


def of_module(module: "Module") -> Fingerprint:
    """Names, types, shapes and bytes, on whatever device they are; two names of one memory are both told, and the tie.

    Raises `ConfigError` for a tensor without bytes (on torch's meta device).
    """
    return Fingerprint.of("module", tuple(_parts(module)))


def _parts(module: "Module") -> Iterator[Part]:
    seen: dict[object, Part] = {}
    named: Iterator[tuple[Kind, str, Tensor]] = chain(
        (("parameter", name, tensor) for name, tensor in module.named_parameters(remove_duplicate=False)),
        (("buffer", name, tensor) for name, tensor in module.named_buffers(remove_duplicate=False)),
    )
    for kind, name, tensor in named:
        twin = seen.get(memory := _memory(name, tensor))
        part = Part(
            kind=kind,
            name=name,
            dtype=str(tensor.dtype).removeprefix("torch."),
            shape=tuple(tensor.shape),
            size=tensor.numel() * tensor.element_size(),
            sha256=twin.sha256 if twin else _sha256(name, tensor),
            tied_to=twin.name if twin else "",
        )
        seen.setdefault(memory, part)
        yield part


def _memory(name: str, tensor: "Tensor") -> object:
    """Equal for two tensors exactly when they are the same values in the same place."""
    if tensor.is_meta or not tensor.numel():
        return name
    return (tensor.device, tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride())


def _sha256(name: str, tensor: "Tensor") -> str:
    import torch

    if tensor.is_meta:
        raise ConfigError(f"the tensor {name!r} has no bytes yet (torch's meta device): load the model first")
    flat = tensor.detach().cpu().contiguous().reshape(-1)  # as bytes, since NumPy has no bfloat16
    return hashlib.sha256(flat.view(torch.uint8).numpy().data).hexdigest()
