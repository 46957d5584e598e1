"""FinetuningArguments: what of a configuration says how a trainer trains (SPEC 4.2). Free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self

from gym.config import RunConfig, load_config


@dataclass(frozen=True)
class FinetuningArguments:
    """The keys of the seeds' YAML; a dataclass, so that `HfArgumentParser` reads it too."""

    finetuning_type: Literal["grpo", "lora"] = "grpo"
    """What gradients change: every weight, or adapters beside them."""
    continuous_learning_grpo: bool = False
    """True: no gradient at all, a library learns instead."""
    grpo_group_size: int | None = None
    """Answers to each prompt; None: as `GRPOConfig` says."""
    grpo_normalize_advantages: bool | None = None
    """Whether advantages are divided by the group's spread; None: as `GRPOConfig` says. The training-free mode has none."""
    experience_lib_path: str = ""
    """Library to start from."""
    experience_max_size: int = 100
    semantic_max_operations: int = 3
    use_groundtruth: bool = True
    """False: no reference answer stands in any prompt of the reflection."""

    @classmethod
    def of(cls, config: RunConfig | str | Path | Mapping[str, Any]) -> Self:
        """From a run's settings, its YAML file, or a mapping under any of the keys' names (`training_free`, say).

        As for a run, what says nothing of `continuous_learning_grpo` is training-free.

        Raises `ConfigError` for an unknown key, naming the nearest.
        """
        if isinstance(config, str | Path):
            config = load_config(config)
        elif not isinstance(config, RunConfig):
            config = load_config(None, config, environ={})
        told = config.model_fields_set
        unsaid = {"grpo_group_size", "grpo_normalize_advantages"} - told
        return cls(**{one.name: getattr(config, one.name) for one in fields(cls) if one.name not in unsaid})

    def settings(self) -> dict[str, Any]:
        """As keys of a `RunConfig`; what is not said is left out."""
        named = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in named.items() if value is not None}
