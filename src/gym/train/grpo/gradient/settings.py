"""What a gradient baseline is told beside a run's settings, and what it asks of these. Free of torch."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field

from gym.config import RunConfig
from gym.core.value import Value
from gym.errors import ConfigError
from gym.llm.hf.place import PREFIX, is_hf, locate, require_extra
from gym.train.grpo.task import Task

GradientWay = Literal["grpo", "lora"]
LEARNING_RATES: Mapping[GradientWay, float] = {"grpo": 1e-6, "lora": 1e-5}
"""TRL's own for all weights; ten times that for adapters (Schulman et al. 2025, "LoRA without regret")."""
RANK = 8
NEEDED = ("trl", "peft", "accelerate", "datasets")
OURS: Mapping[str, str] = {
    "output_dir": "--experiment-name", "seed": "--seed", "num_train_epochs": "--epochs", "num_generations": "--group-size",
    "temperature": "--temperature", "max_completion_length": "--rollout-max-tokens", "learning_rate": "--learning-rate",
    "logging_steps": "", "report_to": "", "save_strategy": "--save-steps", "save_steps": "--save-steps",
    "gradient_accumulation_steps": "--batch-size", "max_steps": "--epochs", "load_best_model_at_end": "",
    **dict.fromkeys(("per_device_train_batch_size", "generation_batch_size", "steps_per_generation"), "--batch-size"),
    **dict.fromkeys(
        (
            "num_iterations", "use_vllm", "use_transformers_paged", "model_init_kwargs", "include_num_input_tokens_seen",
            "save_only_model", "save_total_limit", "save_on_each_node", "ignore_data_skip", "resume_from_checkpoint",
            "restore_callback_states_from_checkpoint", "logging_strategy", "logging_first_step", "log_completions",
            "log_level", "disable_tqdm", "do_eval", "eval_strategy", "deepspeed", "fsdp", "fsdp_config", "push_to_hub",
            "torch_compile",
        ),
        "",
    ),
}  # fmt: skip
"""Settings of TRL's that have a name of ours; none: steps, counts, checkpoints and output rest on what they are."""


class Training(Value):
    """How gradients learn."""

    way: GradientWay
    learning_rate: float = Field(gt=0)
    rank: int = Field(default=RANK, ge=1)
    """Of LoRA's adapters, which stand beside every linear layer; their scale is twice the rank."""
    more: Mapping[str, Any] = Field(default_factory=dict)
    """Further settings of TRL's `GRPOConfig`."""

    @classmethod
    def of(
        cls,
        way: GradientWay,
        *,
        learning_rate: float | None = None,
        rank: int | None = None,
        settings: tuple[str, ...] = (),
    ) -> "Training":
        """From the command line: `settings` are `KEY=VALUE`, a value in YAML; raises `ConfigError` for a key of ours."""
        if way == "grpo" and rank is not None:
            raise ConfigError("--rank is of LoRA's adapters, and grpo trains all weights: leave it out, or train lora")
        more = dict(map(_setting, settings))
        rate = LEARNING_RATES[way] if learning_rate is None else learning_rate
        if not (math.isfinite(rate) and rate > 0):
            raise ConfigError(f"--learning-rate {rate}: expected a number above 0, e.g. {LEARNING_RATES[way]:g}")
        return cls(way=way, learning_rate=rate, rank=RANK if rank is None else rank, more=more)

    def told(self) -> str:
        """In one line, for the run's identity."""
        adapters = f", rank {self.rank}" if self.way == "lora" else ""
        more = "".join(f", {key}: {value}" for key, value in sorted(self.more.items()))
        return f"{self.way}, learning rate {self.learning_rate:g}{adapters}{more}"


def _setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise ConfigError(f"--set {text!r}: expected KEY=VALUE with a setting of TRL's GRPOConfig, e.g. warmup_steps=2")
    if (ours := OURS.get(key)) is not None:
        raise ConfigError(f"--set {key}: " + (f"give {ours} instead" if ours else "it cannot be changed here"))
    try:
        found = yaml.safe_load(value)
        json.dumps(found, allow_nan=False)
    except (yaml.YAMLError, TypeError, ValueError) as error:
        raise ConfigError(f"--set {text!r}: the value is no number, word, list or mapping in YAML") from error
    return key, found


def gradient_config(config: RunConfig, way: GradientWay) -> RunConfig:
    """The same settings with the keys that select this way, in a folder of its own unless one is named.

    Raises `ConfigError` for what only the training-free method can do.
    """
    if not config.model_name_or_path:
        raise ConfigError("no model: give --model hf:FOLDER, a transformers model whose weights can be trained")
    if not is_hf(config.model_name_or_path):
        raise ConfigError(
            f"gradients need weights of this machine: give --model hf:FOLDER or hf:FILE.gguf, not {config.model_name_or_path!r}"
        )
    if config.mode != "chat":
        raise ConfigError(
            f"mode: {config.mode} is for the training-free method; a gradient baseline answers at once (chat)"
        )
    if config.executor != "local":
        raise ConfigError("executor: a gradient baseline trains in this process; leave it at local")
    if (config.reward == "judge") and not (config.judge_model or config.judge_base_url):
        raise ConfigError(
            "reward: judge without --judge-model would be judged by the model that is trained: name another one"
        )
    if config.rollout_temperature == 0:
        raise ConfigError(
            "rollout_temperature: at 0 all answers to a problem are one, and nothing is learned from them; give --temperature 1"
        )
    if config.grpo_group_size < 2:
        raise ConfigError(
            "grpo_group_size: one answer has no other to compare it with; a gradient baseline needs 2 or more"
        )
    named = config.experiment_name or ("" if "output_dir" in config.model_fields_set else default_name(config, way))
    return config.model_copy(
        update={"continuous_learning_grpo": False, "finetuning_type": way, "experiment_name": named}
    )


def default_name(config: RunConfig, way: GradientWay) -> str:
    """Of the run's folder, beside that of `gym train`."""
    return f"{way}-{Path(config.dataset).stem}-{Path(config.model_name_or_path.removeprefix(PREFIX)).name}"


def require_held_out(task: Task) -> None:
    """Raise `ConfigError` when nothing would be measured."""
    if not task.test:
        raise ConfigError(
            "no held-out problems, so nothing would say what training is worth: give --test FILE or --test-fraction 0.3"
        )


def require_packages(config: RunConfig) -> None:
    """Raise `MissingExtra` unless everything that trains is installed."""
    path = locate(config.model_name_or_path)
    require_extra("gym baseline", *NEEDED, *(["gguf"] if path.is_file() else []))


def without_effect(config: RunConfig) -> tuple[str, ...]:
    """Settings that a user gave and gradients have no use for, in one line."""
    unused = sorted(UNUSED & config.model_fields_set)
    return (f"of no use to gradients: {', '.join(unused)}",) if unused else ()


UNUSED = frozenset(
    {
        "experience_lib_path", "gate", "gate_error", "gate_margin", "descent", "inclusion", "screen_answers", "screen_keep",
        "screen_when", "learn_from", "curriculum", "critique_groups", "critique_samples", "critique_feedback",
        "critique_contrast", "group_size_min", "group_size_max",
    }
)  # fmt: skip
"""Levers of the training-free method. What names its reflector is left out: one file serves both commands."""
