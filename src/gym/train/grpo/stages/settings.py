"""How to reflect: the few values the three stages need."""

from typing import Literal

from gym.core.chat import Sampling
from gym.core.value import Value
from gym.train.grpo.domains.base import StageWords

MORE_TEMPERATURE = 0.8
"""Of a critique after the first of its group, which at 0 would be the same again."""


class ReflectionSettings(Value):
    """Reflection runs at temperature 0 (SPEC 1.9), further critiques of a group apart."""

    profile: Literal["small", "large"] = "large"
    max_operations: int = 3
    max_tokens: int = 2048
    context: int = 32768
    """Tokens that a reflection prompt and its reply may take together."""
    use_groundtruth: bool = True
    feedback: bool = False
    """Whether the critic reads what the reward said of each attempt; only with ground truth, which it may name."""
    contrast: bool = False
    """Whether the critic is told how short answers differ, or the form of the right one (`contrast.py`)."""
    groups: int = 1
    """How many groups one critique sees side by side; 1 is the paper's."""
    samples: int = 1
    """How many critiques a group gets, each beside other groups."""
    words: StageWords = StageWords()
    """What the domain adds to the instructions; a small reflector is spared it."""

    def sampling(self, max_tokens: int | None = None, *, sample: int = 0, temperature: float = 0.0) -> Sampling:
        """Within `max_tokens`; `sample` tells several draws of one question apart."""
        return Sampling(
            temperature=temperature,
            max_tokens=min(max_tokens or self.max_tokens, self.max_tokens),
            sample=sample,
        )
