"""A tiny random language model for tests, and the mark of those that need the extra [train]."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from bench.random_model import random_model

if TYPE_CHECKING:
    from gym.llm.hf.adapter import HFAdapter

NEEDED = ("torch", "transformers", "trl", "peft", "gguf")
TRAIN = pytest.mark.skipif(
    not os.environ.get("CI") and any(find_spec(name) is None for name in NEEDED), reason="needs the extra [train]"
)
"""On the gate's machine nothing is skipped: there a missing package fails the test."""


class Tiny(NamedTuple):
    """A causal model of some 25,000 parameters and its tokenizer of letters."""

    model: Any
    tokenizer: Any

    def adapter(self, **settings: Any) -> "HFAdapter":
        """The model behind `ChatModel`."""
        from gym.llm.hf.adapter import HFAdapter

        return HFAdapter(self.model, self.tokenizer, name="hf:tiny", **settings)

    def saved(self, folder: Path) -> Path:
        """The folder, with both as `save_pretrained` leaves them."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        return folder


def tiny(seed: int = 0, *, architecture: str = "llama") -> Tiny:
    """The same for the same seed."""
    return Tiny(*random_model(seed, architecture=architecture))
