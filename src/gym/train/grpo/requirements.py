"""What a training-free run asks of its settings, said before anything is spent."""

from gym.config import RunConfig
from gym.errors import ConfigError
from gym.train.grpo.gate import cautions, is_on


def require_training_free(config: RunConfig) -> None:
    """Raise `ConfigError` for settings that ask for another method than this one."""
    if not config.model_name_or_path:
        raise ConfigError(
            "no model: give --model NAME (with --base-url for your own endpoint), local:NAME, a GGUF file or hf:FOLDER"
        )
    if config.gate == "paired" and not (config.val or config.val_fraction):
        raise ConfigError("gate: paired needs validation problems: give --val FILE or --val-fraction 0.3")
    if config.descent == "pool" and (config.gate == "none" or not (config.val or config.val_fraction)):
        raise ConfigError(
            "descent: pool draws by validation answers: give --val FILE or --val-fraction 0.3, and a gate"
        )
    require_sizes(config)
    if not config.continuous_learning_grpo:
        raise ConfigError(
            f"continuous_learning_grpo: false trains weights: use `gym baseline {config.finetuning_type}` with the same "
            "arguments, or set it to true to learn a library"
        )
    if config.finetuning_type != "grpo":
        raise ConfigError(
            f"finetuning_type: {config.finetuning_type} trains weights, `gym train` none: use `gym baseline "
            f"{config.finetuning_type}` with the same arguments, or leave it out"
        )


def require_sizes(config: RunConfig) -> None:
    """Raise `ConfigError` for group sizes that contradict each other or cannot be graded one by one."""
    size, least, most = config.grpo_group_size, config.group_size_min, config.group_size_max
    if (least or size) > size:
        raise ConfigError(f"group_size_min: {least} is more than a group's {size} answers: raise --group-size")
    if (most or size) < size:
        raise ConfigError(f"group_size_max: {most} is fewer than a group's {size} answers: lower --group-size")
    if (least or most) and not config.use_groundtruth:
        raise ConfigError(
            "use_groundtruth: false takes a majority of the whole group, so a group cannot stop or go on by its rewards: "
            "leave out group_size_min and group_size_max"
        )


def before_spending(config: RunConfig, validation: int) -> tuple[str, ...]:
    """What the user should hear before the first call."""
    notes = cautions(config, validation)
    if config.screen_when == "after_gate" and config.screen_answers and not is_on(config, validation):
        notes.append("screen_when: after_gate finds no gate, so every experience is tried before it enters the library")
    if config.grpo_group_size == 1:
        notes.append("a group size of 1 has no attempts to compare, so nothing can be learned: use --group-size 5")
    return tuple(notes)
