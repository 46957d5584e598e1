"""A trainer's settings as the method's, what the training-free mode cannot do, and a step's figures under TRL's names."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from trl import GRPOConfig

from gym.config import RunConfig
from gym.core.chat import ChatModel
from gym.core.problem import Problem
from gym.errors import ConfigError
from gym.llm.hf.adapter import window
from gym.train.grpo.trl.arguments import FinetuningArguments
from gym.train.grpo.trl.learner import Told
from gym.train.grpo.trl.rewards import RewardFunction
from gym.train.grpo.trl.rows import Row, Rows

SMALL = 7_000_000_000
"""Parameters below which a model that reflects on itself gets the small profile: worked examples, one sentence a critique."""
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "top_p": (1.0,), "top_k": (0, None), "min_p": (0.0, None), "repetition_penalty": (1.0,), "num_iterations": (1,),
    "use_vllm": (False,),
}  # fmt: skip
"""Settings of `GRPOConfig` that the training-free mode has no use for, and what they must be."""


def apply(finetuning: FinetuningArguments, args: GRPOConfig) -> None:
    """Write what the arguments say of gradient GRPO into TRL's; raises `ConfigError` for a size that does not fit."""
    size = finetuning.grpo_group_size
    if size is not None:
        if args.generation_batch_size % size:
            raise ConfigError(
                f"grpo_group_size: {size} answers do not divide the {args.generation_batch_size} completions of a step "
                "(per_device_train_batch_size x processes x steps_per_generation)"
            )
        args.num_generations = size
    if finetuning.grpo_normalize_advantages is not None:
        args.scale_rewards = "group" if finetuning.grpo_normalize_advantages else "none"


def require_free(
    rewards: Sequence[RewardFunction], args: GRPOConfig, peft_config: Any, finetuning: FinetuningArguments
) -> None:
    """Raise `ConfigError` for what asks for gradients, or for a way of drawing that the training-free mode has not."""
    if finetuning.finetuning_type == "lora":
        raise ConfigError(
            "finetuning_type: lora asks for adapters that learn, continuous_learning_grpo for none: set one of them otherwise"
        )
    if peft_config is not None:
        raise ConfigError("peft_config asks for adapters that learn, continuous_learning_grpo for none: leave one out")
    if odd := [one for one in rewards if not callable(one) or isinstance(one, torch.nn.Module)]:
        raise ConfigError(
            f"the training-free mode scores with functions, not with a reward model ({type(odd[0]).__name__})"
        )
    if not rewards:
        raise ConfigError("the training-free mode needs reward_funcs")
    for name, wanted in NEUTRAL.items():
        if (found := getattr(args, name, wanted[0])) not in wanted:
            raise ConfigError(f"{name}: {found} means nothing to the training-free mode; leave it at {wanted[0]}")
    if args.steps_per_generation != args.gradient_accumulation_steps:
        raise ConfigError("steps_per_generation: the training-free mode answers anew at every step; leave it out")


def settings(trainer: Any, base: RunConfig | None, reflector: ChatModel | str | None, instructions: str) -> RunConfig:
    """The method's settings: those of `base`, the trainer's own over them."""
    args, config = trainer.args, base or RunConfig()
    named = reflector if isinstance(reflector, str) else config.reflector_model
    itself = reflector is None and not (named or config.reflector_base_url)
    told = (
        {}
        if base is not None and trainer.finetuning_args == FinetuningArguments()
        else trainer.finetuning_args.settings()
    )
    return config.model_copy(
        update={
            **told,
            "continuous_learning_grpo": True,
            "model_name_or_path": "model",
            "reflector_model": named,
            "reflector_profile": _profile(config, trainer.model, itself=itself, named=bool(named)),
            "reflector_context": min(config.reflector_context, window(trainer.model))
            if itself
            else config.reflector_context,
            "grpo_group_size": args.num_generations,
            "rollout_temperature": args.temperature,
            "rollout_max_tokens": args.max_completion_length,
            "eval_k": args.num_generations_eval or args.num_generations,
            "eval_temperature": args.temperature,
            "system_prompt": instructions or config.system_prompt,
            "seed": args.seed,
        }
    )


def read(dataset: Any, known: Mapping[str, Problem], *, labelled: bool = True) -> Rows:
    """A data set as problems, `known` ones as they are known; raises `ConfigError` for one that only streams."""
    if not hasattr(dataset, "__len__"):
        raise ConfigError(
            "the training-free mode needs a data set of known length: the gate against leaked answers must know every label"
        )
    found = Rows.read(_each(dataset))
    problems = {name: known.get(name, item) for name, item in found.problems.items()}
    if not labelled:
        problems = {name: item.model_copy(update={"ground_truth": None}) for name, item in problems.items()}
    return found._replace(problems=problems)


def figures(told: Told) -> dict[str, float]:
    """A step in TRL's names where it has one."""
    stats = told.stats
    return {
        "reward": float("nan") if stats.mean is None else stats.mean,
        "reward_std": told.spread,
        "frac_reward_zero_std": stats.homogeneous / stats.problems,
        "groups/informative": float(stats.informative),
        "rollouts/failed": float(stats.failed),
        "rollouts/no_answer": float(stats.no_answer),
        "operations/accepted": float(sum(stats.accepted.values())),
        "operations/rejected": float(stats.rejected),
        "library/size": float(stats.library_size),
        "library/tokens": float(stats.library_tokens),
    }


def idle_optimizer() -> torch.optim.Optimizer:
    """An optimizer without any of the model's parameters: a training loop wants one, and may step it."""
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.0)


def _profile(config: RunConfig, model: Any, *, itself: bool, named: bool) -> str:
    """A reflector that is named is judged by its name; of the model itself the size is known."""
    if config.reflector_profile != "auto" or named:
        return config.reflector_profile
    small = itself and sum(parameter.numel() for parameter in model.parameters()) < SMALL
    return "small" if small else "large"


def _each(dataset: Any) -> Iterable[Row]:
    return (dataset[place] for place in range(len(dataset)))
