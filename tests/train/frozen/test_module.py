"""What changed in a module that is in memory, told by name."""

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from gym.errors import ConfigError
from gym.train.grpo.frozen import Fingerprint, differences, of_module

pytestmark = pytest.mark.skipif(not os.environ.get("CI") and find_spec("torch") is None, reason="no extra [train]")

if TYPE_CHECKING:
    from torch.nn import Module


def model() -> "Module":
    """An embedding tied to the head, in bfloat16, and buffers of both kinds."""
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(11, 4, dtype=torch.bfloat16)
            self.norm = nn.BatchNorm1d(4)
            self.head = nn.Linear(4, 11, bias=False, dtype=torch.bfloat16)
            self.head.weight = self.embed.weight
            self.register_buffer("angles", torch.arange(3.0), persistent=False)
            self.register_buffer("nothing", torch.zeros(0, 3))

    return Model()


def after(module: "Module", change: Any) -> list[str]:
    import torch

    before = of_module(module)
    with torch.no_grad():
        change(module)
    return [str(one) for one in differences(before, of_module(module))]


def test_every_parameter_and_buffer_is_there_with_type_and_shape() -> None:
    found = of_module(model())
    told = {part.name: (part.kind, part.dtype, part.shape, part.size) for part in found.parts}
    assert told["embed.weight"] == ("parameter", "bfloat16", (11, 4), 88)
    assert told["norm.running_mean"] == ("buffer", "float32", (4,), 16)
    assert told["norm.num_batches_tracked"] == ("buffer", "int64", (), 8)
    assert told["angles"] == ("buffer", "float32", (3,), 12)
    assert told["nothing"] == ("buffer", "float32", (0, 3), 0)
    assert found.tensors == len(found.parts) == 9
    assert of_module(model()) == found
    assert Fingerprint.model_validate_json(found.model_dump_json()) == found


def test_one_changed_parameter_and_one_changed_buffer_are_named() -> None:
    module = model()
    assert after(module, lambda m: m.norm.weight.view(-1)[2].add_(1e-7)) == ["parameter 'norm.weight' changed"]
    assert after(module, lambda m: m.angles.add_(1)) == ["buffer 'angles' changed"]
    assert after(module, lambda m: m.requires_grad_(False)) == []


def test_a_tied_weight_changes_under_both_names_and_a_broken_tie_is_seen() -> None:
    module = model()
    assert after(module, lambda m: m.embed.weight.zero_()) == [
        "parameter 'embed.weight' changed",
        "parameter 'head.weight' changed",
    ]
    import torch

    (broken,) = after(module, lambda m: setattr(m.head, "weight", torch.nn.Parameter(m.embed.weight.clone())))
    assert broken == "parameter 'head.weight' changed: it is a tensor of its own instead of one with 'embed.weight'"


def test_a_type_is_a_change_even_where_the_values_are_the_same() -> None:
    found = after(model(), lambda m: m.norm.half())
    assert "parameter 'norm.weight' changed: it is float16 4 instead of float32 4" in found


def test_views_that_share_memory_but_not_layout_are_not_tied() -> None:
    import torch

    module = torch.nn.Module()
    square = torch.arange(4.0).reshape(2, 2)
    module.register_buffer("one", square)
    module.register_buffer("turned", square.T)
    one, turned = of_module(module).parts
    assert turned.tied_to == ""
    assert one.sha256 != turned.sha256


def test_a_module_without_bytes_is_a_clear_error() -> None:
    import torch

    with pytest.raises(ConfigError, match=r"'weight' has no bytes yet"):
        of_module(torch.nn.Linear(2, 2, device="meta"))
