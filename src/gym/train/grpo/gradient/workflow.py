"""The whole of a gradient baseline: measure, train, measure again, and leave what `gym compare` puts beside a library.

Data, split, rewards, prompts, seeds and the way of measuring are those of `gym train` with the same configuration; so the
held-out answers before training are its own. What training changed is counted against the model's files.
"""

import asyncio

from gym.collector import rare_collections
from gym.config import RunConfig
from gym.embedding.encoders import resolved
from gym.llm import blocking
from gym.llm.brake import Brake
from gym.llm.hf.opening import load
from gym.llm.hf.place import locate
from gym.train.grpo.frozen import Weights
from gym.train.grpo.gradient.models import open_models
from gym.train.grpo.gradient.sets import Also, targets_of
from gym.train.grpo.gradient.settings import (
    Training,
    gradient_config,
    require_held_out,
    require_packages,
    without_effect,
)
from gym.train.grpo.gradient.work import Baseline, Work
from gym.train.grpo.rewards.base import self_test
from gym.train.grpo.run_dir import RunDir
from gym.train.grpo.task import held_out_reward, load_task, run_folder, train_reward
from gym.train.grpo.watch import Silent, Watch

__all__ = ["Also", "Baseline", "abaseline", "baseline"]


def baseline(
    config: RunConfig,
    training: Training,
    *,
    also: Also = Also(),  # noqa: B008 - a frozen value
    watch: Watch | None = None,
) -> Baseline:
    """Train as `training` says and measure it; the same call continues a run that was stopped.

    Raises `ConfigError` for what the user must mend (`MissingExtra` without torch), `Stopped` for a clean stop.
    """
    return blocking.run(abaseline(config, training, also=also, watch=watch))


async def abaseline(
    config: RunConfig,
    training: Training,
    *,
    also: Also = Also(),  # noqa: B008 - a frozen value
    watch: Watch | None = None,
    brake: Brake | None = None,
) -> Baseline:
    """The async twin of `baseline`; pulling `brake` stops it after the step in hand."""
    watch, brake = watch or Silent(), brake or Brake()
    config = gradient_config(config, training.way)
    task = load_task(config, train_reward(config), held_out_reward(config))
    require_held_out(task)
    require_packages(config)
    notes = [*task.notes, *without_effect(config)]
    targets = targets_of(config, task, also, notes)
    with RunDir(run_folder(config)) as folder, rare_collections():
        config = folder.begun(config)
        config = config.model_copy(update={"encoder": resolved(config.encoder)})
        folder.accept_config(config, {**task.inputs(), "training": training.told()})
        for note in notes:
            watch.say(note)
        for target in targets:
            await self_test(held_out_reward(target.config))
        weights = await asyncio.to_thread(Weights.of, config.model_name_or_path)
        if folder.has_calls():
            weights.require_begun(folder.root, config.model_name_or_path)
        loaded = await asyncio.to_thread(load, locate(config.model_name_or_path))
        async with open_models(config, loaded, folder.root, brake, watch) as models:
            work = Work(config, training, task, targets, folder, models, weights, watch, brake, tuple(notes))
            return await work.done(loaded)
