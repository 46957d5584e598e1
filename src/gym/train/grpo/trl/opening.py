"""From a run's settings and problems to what TRL's trainer is made of."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from trl import GRPOConfig

from gym.config import RunConfig
from gym.core.problem import Problem
from gym.errors import ConfigError
from gym.llm.hf.opening import Loaded, load
from gym.llm.hf.place import is_hf, locate
from gym.train.grpo.trl.rows import as_row


def weights_of(config: RunConfig) -> Loaded:
    """The model that a configuration names, and its tokenizer; raises `ConfigError` when it is behind an API."""
    model = config.model_name_or_path
    if not is_hf(model):
        raise ConfigError(f"a trainer needs weights of this machine: give --model hf:FOLDER, not {model!r}")
    return load(locate(model))


def data_of(problems: Sequence[Problem], instructions: str) -> Dataset:
    """The problems as rows, in their order, prompts laid out as in every other run."""
    return Dataset.from_list([as_row(problem, instructions) for problem in problems])


def arguments_of(config: RunConfig, problems: int, folder: Path, **training: Any) -> GRPOConfig:
    """One optimizer step a batch of `batch_size` problems, G answers each; `training` are TRL's own settings, and win.

    Raises `ConfigError` for groups of one.
    """
    gpu = torch.cuda.is_available()
    size, batch = config.grpo_group_size, min(config.batch_size, problems)
    if size < 2:
        raise ConfigError("grpo_group_size: one answer has no other to compare it with; gradient GRPO needs 2 or more")
    settings = {
        "per_device_train_batch_size": size,
        "per_device_eval_batch_size": size,
        "gradient_accumulation_steps": batch,
        "num_generations": size,
        "num_train_epochs": config.epochs,
        "temperature": config.rollout_temperature,
        "max_completion_length": config.rollout_max_tokens,
        "seed": config.seed,
        "logging_steps": config.logging_steps,
        "save_strategy": "no",
        "report_to": [],
        "bf16": gpu and torch.cuda.is_bf16_supported(),
        "use_cpu": not gpu,
        "disable_tqdm": True,
    }
    return GRPOConfig(str(folder), **{**settings, **training})
