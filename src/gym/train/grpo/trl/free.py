"""The training-free mode of a trainer: its rows as problems, its model as a `ChatModel`, its steps those of the learner."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from accelerate.utils import gather_object
from torch.utils.data import Sampler

from gym.config import RunConfig
from gym.core.chat import ChatModel
from gym.core.problem import Problem
from gym.errors import ConfigError, WeightsChanged
from gym.llm.hf.adapter import HFAdapter
from gym.train.grpo.frozen import Fingerprint, differences, named, of_module
from gym.train.grpo.task import Task, load_domain
from gym.train.grpo.trl.learner import Learner, Parts, State, Told, open_parts
from gym.train.grpo.trl.ranks import Ranks
from gym.train.grpo.trl.rewards import FromTrl
from gym.train.grpo.trl.rows import Row
from gym.train.grpo.trl.settings import read, settings


class TrainingFree:
    """What the training-free mode has beside TRL's: problems, a learner in process 0, and the model as a `ChatModel`."""

    def __init__(
        self,
        trainer: Any,
        reflector: ChatModel | str | None,
        config: RunConfig | None,
        known: Mapping[str, Problem],
    ) -> None:
        if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
            raise ConfigError(
                "the training-free mode keeps a whole model in each process: run without FSDP or DeepSpeed"
            )
        self.trainer, self.ranks = trainer, Ranks()
        labelled = trainer.finetuning_args.use_groundtruth and (config is None or config.use_groundtruth)
        self.rows = read(trainer.train_dataset, known, labelled=labelled)
        self._known, self._rows = known, dict(self.rows.rows)
        self.config = settings(trainer, config, reflector, self.rows.instructions)
        self.learner = Learner(lambda: open_parts(self._parts(None if isinstance(reflector, str) else reflector)))
        self._adapter: HFAdapter | None = None
        self._waiting: list[Row] = []
        self._began: Fingerprint | None = None

    @property
    def adapter(self) -> HFAdapter:
        """The trainer's model, made when it is where it computes; named after its weights, which the record's answers hang on."""
        if self._adapter is None:
            model, tokenizer = self.trainer.model, self.trainer.processing_class
            self._began = of_module(model)
            name = f"hf:{Path(str(model.config.name_or_path or type(model).__name__)).name}@{self._began.whole[:12]}"
            self._adapter = HFAdapter(model, tokenizer, name=name, batch_size=self.width, shared=self.ranks.shared)
        return self._adapter

    @property
    def width(self) -> int:
        """Answers at once: as many as TRL generates for a step."""
        args = self.trainer.args
        return int(args.per_device_train_batch_size * args.steps_per_generation * self.ranks.size)

    def collect(self, inputs: Sequence[Row], *, whole: bool) -> Told | None:
        """Keep a micro-step's rows, of every process; learn from them when the step is `whole`."""
        self._waiting += inputs
        if not whole:
            return None
        everyone = gather_object(self._waiting) if self.ranks.size > 1 else self._waiting
        problems, self._waiting = self.rows.of(everyone), []
        state = self.trainer.state
        epoch, step = int(state.epoch or 0), state.global_step

        def learned() -> tuple[Told, State | None]:
            return self.learner.step(problems, epoch=epoch, step=step), self.learner.state

        told, self.learner.state = self.ranks.lead(learned, self.adapter.generator.generate)
        return told

    def evaluated(self, dataset: Any) -> dict[str, float]:
        """Mean reward and what went wrong, over answers to each row."""
        rows = read(dataset, self._known)
        self._rows |= rows.rows
        problems = tuple(rows.problems.values())
        began = time.perf_counter()
        score = self.ranks.lead(lambda: self.learner.evaluate(problems).score, self.adapter.generator.generate)
        mean = float("nan") if score.mean is None else score.mean
        return {"reward": mean, "failed": float(score.failed), "runtime": time.perf_counter() - began}

    def close(self) -> None:
        """Let the record and the reflector go; raises `WeightsChanged` when the weights are not those it began with."""
        self.learner.close()
        if self._adapter is None:
            return
        self._adapter.close()
        self._adapter = None
        began, now = self._began, of_module(self.trainer.model)
        if began is not None and began.whole != now.whole:
            raise WeightsChanged(f"weights changed while the library learned: {named(differences(began, now))}")

    def _parts(self, reflector: ChatModel | None) -> Parts:
        trainer, adapter = self.trainer, self.adapter
        domain = load_domain(self.config)
        reward = FromTrl(
            trainer.rewards,
            [float(weight) for weight in trainer.reward_weights],
            self._rows.__getitem__,
            self._tokens,
            self._more,
        )
        task = Task(domain, tuple(self.rows.problems.values()), (), (), ())
        return Parts(self.config, task, reward, adapter, reflector, Path(trainer.args.output_dir), self.width)

    def _tokens(self, text: str) -> Sequence[int]:
        return list(self.trainer.processing_class(text, add_special_tokens=False)["input_ids"])

    def _more(self) -> Mapping[str, Any]:
        """What TRL passes to every reward function."""
        trainer = self.trainer
        return {
            "trainer_state": trainer.state,
            "log_extra": trainer._log_completion_extra,
            "log_metric": trainer._log_metric,
        }


class Order(Sampler):
    """What TRL's sampler repeats, in an order that is a function of seed and epoch alone."""

    def __init__(self, repeats: Any, epoch: Callable[[], int]) -> None:
        self._repeats, self._epoch = repeats, epoch

    def __iter__(self) -> Iterator[int]:
        if self._repeats.shuffle:
            self._repeats.generator.manual_seed((self._repeats.seed or 0) + self._epoch())
        return iter(self._repeats)

    def __len__(self) -> int:
        return len(self._repeats)
