"""One gradient baseline's training: TRL's loop in a thread, stopped cleanly by the run's brake, continued from its checkpoint."""

import asyncio
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from peft import LoraConfig
from transformers import PrinterCallback, TrainerCallback

from gym.config import RunConfig
from gym.core.problem import Failure, Problem, Reward, Trajectory, Verdict
from gym.errors import ConfigError, GymError, RunFailed, StorageError
from gym.llm.brake import Brake
from gym.llm.hf.opening import Loaded, quiet
from gym.train.grpo.gradient.checkpoints import FOLDER, last_whole
from gym.train.grpo.gradient.report import Step
from gym.train.grpo.gradient.settings import Training
from gym.train.grpo.task import Task
from gym.train.grpo.trainer import GRPOTrainer

_UNWRITTEN = re.compile(r"(?:I/O error: |PytorchStreamWriter |unexpected pos )")
"""How safetensors and torch, which do not raise `OSError`, say that a file could not be written."""


class Trained(NamedTuple):
    """What came of it."""

    model: Any
    steps: tuple[Step, ...]


class Halted(Exception):
    """Training was told to stop at once."""


class OnLoop:
    """A reward that runs on the event loop of the run's own models and workers, whichever loop asks it."""

    def __init__(self, reward: Reward, loop: asyncio.AbstractEventLoop) -> None:
        self._reward, self._loop = reward, loop

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        """As the reward itself."""
        asked = self._asked(problem, trajectories)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked, self._loop))

    async def _asked(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        return await self._reward(problem, trajectories)

    def unscorable(self, problem: Problem) -> str | None:
        """As the reward itself."""
        return self._reward.unscorable(problem)


class Course(TrainerCallback):
    """Tells of every step, and stops: after the step when the brake is pulled, after its part when halted."""

    def __init__(self, brake: Brake, advance: Callable[[], object]) -> None:
        self.halted = threading.Event()
        self._brake, self._advance = brake, advance
        self._began = 0.0
        self._took = 0.0

    def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """The step's clock starts."""
        self._began = time.perf_counter()

    def on_substep_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """A part of a step is done."""
        if self.halted.is_set():
            raise Halted

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """A step is done: saved, when it is the last for now."""
        self._took = time.perf_counter() - self._began
        self._advance()
        if self.halted.is_set():
            raise Halted
        if self._brake.reason is not None:
            control.should_save = control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """The step's seconds stand beside its other figures, in the checkpoint too."""
        if "reward" in (last := state.log_history[-1]):
            last["seconds"] = self._took


def open_trainer(
    config: RunConfig, task: Task, reward: Reward, training: Training, *, folder: Path, loaded: Loaded
) -> GRPOTrainer:
    """The trainer of the way that `config` names, which saves every epoch, or every `save_steps` where they are given.

    Raises `ConfigError` for a setting that TRL does not know or take.
    """
    every = (
        {"save_strategy": "steps", "save_steps": config.save_steps} if "save_steps" in config.model_fields_set else {}
    )
    settings = {
        "save_strategy": "epoch", **every, "save_total_limit": 1, "logging_steps": 1, "learning_rate": training.learning_rate,
        "gradient_checkpointing": False, **training.more,
    }  # fmt: skip
    adapters = LoraConfig(
        r=training.rank, lora_alpha=2 * training.rank, task_type="CAUSAL_LM", target_modules="all-linear"
    )
    try:
        with quiet():
            return GRPOTrainer.of(
                config,
                task.train,
                reward,
                folder=folder / FOLDER,
                loaded=loaded,
                training=settings,
                **({"peft_config": adapters} if training.way == "lora" else {}),
            )
    except GymError:
        raise
    except Exception as error:  # a setting may be anything, and TRL has no error of its own
        raise ConfigError(f"TRL refuses the settings of this training: {_first_line(error)}") from error


async def train(trainer: GRPOTrainer, brake: Brake, advance: Callable[[], None]) -> Trained:
    """Train to the end, from the last checkpoint where there is one.

    Raises the brake's reason after the step in which it was pulled, its checkpoint written; `RunFailed` for whatever breaks
    in TRL, `StorageError` when a checkpoint cannot be written.
    """
    loop = asyncio.get_running_loop()
    course = Course(brake, lambda: loop.call_soon_threadsafe(advance))
    trainer.add_callback(course)
    trainer.remove_callback(PrinterCallback)  # standard output is for the result
    work = asyncio.ensure_future(asyncio.to_thread(_train, trainer))
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        course.halted.set()
        await _ended(work)
        raise
    if trainer.state.global_step < trainer.state.max_steps:
        brake.check()
    return Trained(trainer.model, tuple(map(_step, (one for one in trainer.state.log_history if "reward" in one))))


async def _ended(work: "asyncio.Future[None]") -> None:
    """The thread's end, however often this is cancelled meanwhile: until then the models are its own."""
    while not work.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({work})
    if not work.cancelled():
        work.exception()  # heard, or asyncio would print it


def _train(trainer: GRPOTrainer) -> None:
    last = last_whole(Path(trainer.args.output_dir).parent)
    with quiet(), _told():
        trainer.train(resume_from_checkpoint=str(last) if last else None)


@contextmanager
def _told() -> Iterator[None]:
    """What breaks inside the training loop, in one line: settings, a model and a disk may break it anywhere."""
    try:
        yield
    except (GymError, Halted):
        raise
    except Exception as error:
        told = f"{type(error).__name__}: {_first_line(error)}"
        if isinstance(error, OSError) or _UNWRITTEN.search(str(error)):
            raise StorageError(f"the training cannot be saved ({told}); the checkpoint before is intact") from error
        raise RunFailed(
            f"the training failed ({told}); its last checkpoint is intact. Too high a --learning-rate, a --set, the model or the "
            "memory may be the cause"
        ) from error


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _step(entry: dict[str, Any]) -> Step:
    """Of a line of TRL's log."""
    return Step(
        step=entry["step"],
        reward=entry["reward"],
        alike=entry.get("frac_reward_zero_std"),
        loss=entry.get("loss", 0.0),
        grad_norm=entry.get("grad_norm"),
        seconds=entry.get("seconds", entry.get("step_time", 0.0)),
        tokens=int(entry.get("num_tokens", 0)),
    )
