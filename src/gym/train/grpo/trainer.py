"""GRPOTrainer: TRL's, which with `continuous_learning_grpo=True` learns a library and leaves every weight as it is (SPEC 3.10).

The training-free step is the method's own (`loop.Loop`), its rollouts the trainer's model's. What belongs to a training loop is
TRL's and transformers': data, accumulation, processes, callbacks, logs, checkpoints, resuming (arXiv:2402.03300, 2510.08191).
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, cast

import torch
from peft import LoraConfig
from transformers import Trainer
from trl import GRPOConfig
from trl import GRPOTrainer as TrlGRPOTrainer

from gym.config import RunConfig
from gym.core.chat import ChatModel
from gym.core.experience import Library
from gym.core.problem import Problem
from gym.errors import ConfigError
from gym.llm.hf.opening import Loaded
from gym.train.grpo.task import load_domain
from gym.train.grpo.trl.arguments import FinetuningArguments
from gym.train.grpo.trl.free import Order, TrainingFree
from gym.train.grpo.trl.learner import State
from gym.train.grpo.trl.opening import arguments_of, data_of, weights_of
from gym.train.grpo.trl.order import CaughtUp
from gym.train.grpo.trl.rewards import AsTrl, RewardFunction, is_ours, listed
from gym.train.grpo.trl.rows import Row
from gym.train.grpo.trl.settings import apply, figures, idle_optimizer, require_free

__all__ = ["FinetuningArguments", "GRPOTrainer"]


class GRPOTrainer(TrlGRPOTrainer):
    """TRL's `GRPOTrainer`; `reward_funcs` may hold our rewards beside its functions.

    With `continuous_learning_grpo` (or `training_free`, or `finetuning_args` that say so) `train()` learns a library:
    `reflector` says who reflects, a `ChatModel` or a model id (default: the model itself), `config` sets everything else of the
    method. `library` is what it learned; checkpoints hold it in place of weights.
    """

    def __init__(
        self,
        model: Any,
        reward_funcs: RewardFunction | Sequence[RewardFunction] | None = None,
        args: GRPOConfig | None = None,
        train_dataset: Any = None,
        *,
        continuous_learning_grpo: bool | None = None,
        training_free: bool | None = None,
        finetuning_args: FinetuningArguments | None = None,
        reflector: ChatModel | str | None = None,
        config: RunConfig | None = None,
        problems: Mapping[str, Problem] | None = None,
        peft_config: Any = None,
        **more: Any,
    ) -> None:
        """`problems`: what is known of rows, by id, beyond their columns. Raises `ConfigError` for settings that clash."""
        self.finetuning_args = finetuning_args or FinetuningArguments()
        asked = [one for one in (continuous_learning_grpo, training_free) if one is not None]
        free = asked[0] if asked else self.finetuning_args.continuous_learning_grpo
        args = args or GRPOConfig("trainer_output")
        apply(self.finetuning_args, args)
        self.rewards = listed(reward_funcs)
        if free:
            require_free(self.rewards, args, peft_config, self.finetuning_args)
            more.setdefault("optimizers", (idle_optimizer(), None))
        elif self.finetuning_args.finetuning_type == "lora" and peft_config is None:
            peft_config = LoraConfig(task_type="CAUSAL_LM", target_modules="all-linear")
        known = problems or {}
        functions = [AsTrl(one, known, self._finished) if is_ours(one) else one for one in self.rewards]
        super().__init__(model, functions, args, train_dataset, peft_config=peft_config, **more)
        self.training_free = TrainingFree(self, reflector, config, known) if free else None

    @classmethod
    def of(
        cls,
        config: RunConfig,
        problems: Sequence[Problem],
        reward: RewardFunction,
        *,
        folder: str | Path,
        held_out: Sequence[Problem] = (),
        loaded: Loaded | None = None,
        training: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Self:
        """The trainer that a run's settings mean: gradient GRPO, LoRA or training-free, on the same problems and reward.

        `loaded`: a model that is in memory already (default: the one that `config` names, `hf:FOLDER`); `training`: settings
        of `GRPOConfig` that ours have no name for (learning_rate, save_strategy …); `more` goes to the constructor.
        """
        instructions = config.system_prompt or load_domain(config).prompts.solve
        model, tokenizer = loaded or weights_of(config)
        return cls(
            model,
            reward,
            arguments_of(config, len(problems), Path(folder), **(training or {})),
            data_of(problems, instructions),
            finetuning_args=FinetuningArguments.of(config),
            config=config,
            problems={problem.id: problem for problem in (*problems, *held_out)},
            processing_class=tokenizer,
            eval_dataset=data_of(held_out, instructions) if held_out else None,
            **more,
        )

    @property
    def library(self) -> Library:
        """What the training-free mode has learned so far; empty before its first step."""
        state = self.training_free.learner.state if self.training_free else None
        return state.library if state else Library()

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """TRL's; a training-free run ends with proof that the weights stayed, or raises `WeightsChanged`."""
        try:
            return super().train(*args, **kwargs)
        finally:
            self.close()

    def close(self) -> None:
        """Close what the training-free mode has open; `train` does it itself. Raises `WeightsChanged` like it."""
        if self.training_free is not None:
            self.training_free.close()

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        """One micro-step of TRL's, or of the training-free mode."""
        if self.training_free is None:
            return super().training_step(model, inputs, num_items_in_batch)
        return self.training_step_free(model, inputs)

    def training_step_free(self, model: Any, inputs: Sequence[Row]) -> Any:
        """A zero loss without a gradient; the library learns once the micro-steps of an optimizer step are together."""
        if self.training_free is None:
            raise ConfigError("training_step_free needs GRPOTrainer(…, continuous_learning_grpo=True)")
        model.train()  # as every step leaves it; answering needs it otherwise and puts it back
        began = time.perf_counter()
        told = self.training_free.collect(inputs, whole=self.accelerator.sync_gradients)
        if told is not None:
            for name, value in figures(told).items():
                self._metrics["train"][name].append(value)
            self._metrics["train"]["step_time"].append(time.perf_counter() - began)
        return torch.zeros((), device=self.args.device)

    def evaluate(self, eval_dataset: Any = None, ignore_keys: Any = None, metric_key_prefix: str = "eval") -> Any:
        """TRL's metrics; in the training-free mode the rewards of answers with the library as it is."""
        dataset = self.eval_dataset if eval_dataset is None else eval_dataset
        if self.training_free is None or isinstance(dataset, dict):
            return super().evaluate(eval_dataset, ignore_keys, metric_key_prefix)
        if isinstance(dataset, str):
            dataset = self.eval_dataset[dataset]
        found = self.training_free.evaluated(dataset)
        if not self.is_in_train:
            self.close()
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in found.items()}
        Trainer.log(self, metrics)
        self.control: Any = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """The weights; in the training-free mode the library and its journal, since the weights are where they were."""
        if self.training_free is None:
            super().save_model(output_dir, _internal_call)
        elif self.args.should_save:
            (self.training_free.learner.state or State()).save(Path(output_dir or self.args.output_dir))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        if self.training_free is None:
            super()._load_from_checkpoint(resume_from_checkpoint, model)
        else:
            self.training_free.learner.state = State.load(Path(resume_from_checkpoint))

    def _load_best_model(self) -> None:
        if self.training_free is None:
            super()._load_best_model()
        else:
            self.training_free.learner.state = State.load(Path(cast(str, self.state.best_model_checkpoint)))

    def _get_train_sampler(self, dataset: Any = None) -> Any:
        """TRL's order, in the training-free mode one of its own in each later epoch; either is found again by a resumed run."""
        repeats = super()._get_train_sampler(dataset)
        if self.training_free is None:
            return CaughtUp(repeats, lambda: self.state.epoch or 0.0)
        return Order(repeats, lambda: int(self.state.epoch or 0))

    def _finished(self, ids: Sequence[int]) -> bool:
        return bool(ids) and ids[-1] in self.eos_token_ids

    def _send_telemetry(self) -> None:
        """Nobody is told of a run."""
