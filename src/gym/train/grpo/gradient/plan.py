"""What a gradient baseline would do, from the data and the model's headers alone: nothing is loaded, and torch not needed."""

from gym.config import RunConfig
from gym.core.value import Value
from gym.evaluation.figures import count, size
from gym.llm.hf.place import locate
from gym.train.grpo.frozen.count import adapter_parameters, stored_tensors
from gym.train.grpo.gradient.sets import Also, targets_of
from gym.train.grpo.gradient.settings import Training, gradient_config, require_held_out
from gym.train.grpo.task import held_out_reward, load_task, run_folder, train_reward

WEIGHT, GRADIENT, MOMENTS = 4, 4, 8
"""Bytes of one parameter in float32: itself, its gradient, AdamW's two moments."""


class Plan(Value):
    """The counts that decide what training takes."""

    training: str
    folder: str
    problems: int
    held_out: int
    steps: int
    answers: int
    """Drawn in training."""
    longest: int
    """Tokens of them at most."""
    measured: int
    """Answers to held-out problems and other sets, before and after."""
    parameters: int
    trained: int
    """Of them, or of the adapters beside them."""
    memory: int
    """Bytes of weights, gradients and optimizer, without activations, in float32."""

    def told(self) -> tuple[str, ...]:
        """In words."""
        return (
            f"{self.training}; into {self.folder}",
            f"{count(self.problems, 'training problem')}, {self.steps:,} optimizer steps, {count(self.answers, 'answer')} of "
            f"at most {self.longest:,} tokens together; {count(self.held_out, 'held-out problem')}, "
            f"{count(self.measured, 'answer')} before and after in all",
            f"{self.trained:,} parameters are trained, the model has {self.parameters:,}; at least {size(self.memory)} of "
            "memory in float32, activations not counted",
        )


def plan(config: RunConfig, training: Training, also: Also = Also()) -> Plan:  # noqa: B008 - a frozen value
    """Raises `ConfigError` for whatever the training itself would refuse before it loads a model."""
    config = gradient_config(config, training.way)
    task = load_task(config, train_reward(config), held_out_reward(config))
    require_held_out(task)
    targets = targets_of(config, task, also, [])
    tensors = stored_tensors(locate(config.model_name_or_path))
    parameters = sum(one.parameters for one in tensors)
    trained = parameters if training.way == "grpo" else adapter_parameters(tensors, training.rank)
    steps, batch = steps_of(config, len(task.train)), min(config.batch_size, len(task.train))
    answers = steps * batch * config.grpo_group_size
    beside = trained if training.way == "lora" else 0
    return Plan(
        training=training.told(),
        folder=str(run_folder(config)),
        problems=len(task.train),
        held_out=len(task.test),
        steps=steps,
        answers=answers,
        longest=answers * config.rollout_max_tokens,
        measured=2 * sum(one.answers for one in targets),
        parameters=parameters,
        trained=trained,
        memory=WEIGHT * (parameters + beside) + (GRADIENT + MOMENTS) * trained,
    )


def steps_of(config: RunConfig, problems: int) -> int:
    """Optimizer steps of a whole training; a last batch that is not full is left out, as in TRL."""
    return config.epochs * (problems // min(config.batch_size, problems))
