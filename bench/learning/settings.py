"""What every method is told: the sizes of a cell, and the keys of a run for our settings and for the plain loop.

A key that this version of the product does not know is left out, and said: the bench may be ahead of a branch.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.tasks.family import FULL, Sizes
from gym.config import RunConfig

MODEL = "qwen2.5-coder-1.5b"
INSTRUCTIONS = "Answer the question briefly."
"""In front of every problem, for every method; where `gepa` starts from."""
REFLECTION_TOKENS = 260

Keys = Mapping[str, object]

SHARED: Keys = {
    "rollout_concurrency": 4,
    "rollout_temperature": 0.7,
    "grpo_group_size": 5,
    "batch_size": 16,
    "reflector_profile": "small",
    "reflector_context": 4096,
    "reflection_max_tokens": REFLECTION_TOKENS,
    "experience_max_size": 12,
    "system_prompt": INSTRUCTIONS,
}
"""The same for both of our loops."""

ZOO: Keys = {
    **SHARED,
    "epochs": 2,
    "learn_from": "mixed+all_wrong",
    "screen_answers": 3,
    "screen_keep": 2,
    "screen_when": "after_gate",
    "gate": "auto",
    "gate_margin": 0.1,
    "eval_k": 2,
    "critique_groups": 3,
    "critique_samples": 1,
    "critique_contrast": True,
    "group_size_min": 3,
    "curriculum": True,
    "inclusion": 1.0,
}
"""Our settings."""

PLAIN: Keys = {
    **SHARED,
    "epochs": 1,
    "learn_from": "mixed",
    "screen_answers": 0,
    "screen_keep": 0,
    "gate": "none",
    "critique_feedback": False,
    "critique_contrast": False,
    "critique_groups": 1,
    "critique_samples": 1,
    "group_size_min": None,
    "group_size_max": None,
    "curriculum": False,
    "inclusion": 1.0,
    "retrieval": "all",
    "encoder": "hashing",
}
"""The three stages alone, as the paper has them: every lever is off."""


@dataclass(frozen=True)
class Scale:
    """How large a cell is."""

    sizes: Sizes = FULL
    held_out_k: int = 3
    """Answers to each held-out problem."""

    @property
    def name(self) -> str:
        """For the folder of its results.

        >>> Scale().name
        '16-20-24x3'
        """
        return f"{self.sizes.train}-{self.sizes.val}-{self.sizes.test}x{self.held_out_k}"


QUICK = Scale(Sizes(train=8, val=8, test=8), held_out_k=1)


def scaled(share: float) -> Scale:
    """The full scale with a share of its problems, six of each part at least.

    >>> scaled(0.5).name
    '8-10-12x3'
    """
    full = Scale()
    return Scale(Sizes(*(max(6, round(share * size)) for size in full.sizes)), full.held_out_k)


def known(keys: Keys) -> dict[str, object]:
    """Those that `RunConfig` has."""
    return {key: value for key, value in keys.items() if key in RunConfig.model_fields}


def missing() -> tuple[str, ...]:
    """Keys of our settings that this version does not know."""
    return tuple(key for key in ZOO if key not in RunConfig.model_fields)
