"""How to reflect: the few values the three stages need."""

from collections.abc import Mapping
from typing import Any, Literal

from gym.core.chat import Sampling
from gym.core.value import Value
from gym.train.grpo.domains.base import StageWords


class ReflectionSettings(Value):
    """Reflection runs at temperature 0 (SPEC 1.9)."""

    profile: Literal["small", "large"] = "large"
    max_operations: int = 3
    max_tokens: int = 2048
    context: int = 32768
    """Tokens that a reflection prompt and its reply may take together."""
    use_groundtruth: bool = True
    feedback: bool = False
    """Whether the critic reads what the reward said of each attempt; only with ground truth, which it may name."""
    words: StageWords = StageWords()
    """What the domain adds to the instructions; a small reflector is spared it."""

    def sampling(
        self, max_tokens: int | None = None, schema: Mapping[str, Any] | None = None, sample: int = 0
    ) -> Sampling:
        """Greedy, within `max_tokens`; constrained to `schema` where the server can."""
        return Sampling(
            temperature=0.0,
            max_tokens=min(max_tokens or self.max_tokens, self.max_tokens),
            json_schema=schema,
            sample=sample,
        )
