"""A gradient baseline at work: before, training, after, and what all of it took, changed and forgot."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gym.config import RunConfig
from gym.core.experience import Library
from gym.core.problem import Reward
from gym.errors import WeightsChanged
from gym.evaluation.compare import Comparison, compare
from gym.evaluation.compare import Named as Labelled
from gym.evaluation.effort import Changed, Effort, learned_with
from gym.evaluation.instrument import Instrument, Taken
from gym.evaluation.measure import keep
from gym.evaluation.target import Target
from gym.llm.brake import Brake
from gym.llm.hf.opening import Loaded
from gym.llm.hf.place import locate
from gym.memory import peak_bytes
from gym.train.grpo.frozen import Weights
from gym.train.grpo.gradient.checkpoints import (
    FOLDER,
    forget_optimizer,
    is_finished,
    last_whole,
    set_broken_aside,
    steps,
)
from gym.train.grpo.gradient.models import Models, Named
from gym.train.grpo.gradient.plan import steps_of
from gym.train.grpo.gradient.report import BaselineReport, Step, write_report
from gym.train.grpo.gradient.settings import Training
from gym.train.grpo.manifest import manifest
from gym.train.grpo.reporting import earlier_effort, peak_of
from gym.train.grpo.run_dir import RunDir
from gym.train.grpo.task import Task, train_reward
from gym.train.grpo.watch import Watch


class Baseline(NamedTuple):
    """What a baseline leaves in the caller's hands; the same and more is in its folder."""

    folder: Path
    report: BaselineReport


class Sides(NamedTuple):
    """One set before and after training."""

    before: Taken
    after: Taken


class Work(NamedTuple):
    """The open parts of a baseline."""

    config: RunConfig
    training: Training
    task: Task
    targets: tuple[Target, ...]
    folder: RunDir
    models: Models
    weights: Weights
    watch: Watch
    brake: Brake
    notes: tuple[str, ...]

    async def done(self, loaded: Loaded) -> Baseline:
        """Before, training, after, and the report."""
        began, kept = time.monotonic(), self.kept()
        resumed, was = steps(kept), self.trained_before(kept)
        name = f"hf:{locate(self.config.model_name_or_path).name}"
        self.write_manifest(self.weights, was, None)
        before = await self.measured(Named(loaded.model, name), "before", "plain")
        trained, course = await self.trained(loaded)
        peak = peak_bytes()
        model = Named.trained(trained, name, self.training.way)
        if was not in (None, model.weights):
            raise WeightsChanged(
                f"what was trained is not what it was: {was} then, {model.weights} now; give {str(kept)!r} back, or remove it "
                "to train again"
            )
        after = await self.measured(model, "after", "after")
        changed = await asyncio.to_thread(self.changes, trained)
        checked = await asyncio.to_thread(self.weights.read_again)
        self.write_manifest(checked, model.weights, changed)
        keep(self.folder.root, [*before, *after])
        sides = [Sides(*pair) for pair in zip(before, after, strict=True)]
        seconds = time.monotonic() - began + sum(one.seconds for one in course[:resumed])
        effort = self.effort(sides, course, changed, peak, seconds)
        report = self.report(sides, course, effort, checked)
        write_report(self.folder, report)
        checked.require_unchanged()
        forget_optimizer(self.folder.root)
        return Baseline(self.folder.root, report)

    def kept(self) -> Path | None:
        """The checkpoint to go on from; what a kill or a fault left above it is set aside, and told."""
        for aside in set_broken_aside(self.folder.root):
            self.watch.say(f"a checkpoint is not whole: it is called {aside.name} now, and nothing goes on from it")
        return last_whole(self.folder.root)

    def trained_before(self, kept: Path | None) -> str | None:
        """The digest of what a finished training left, as its manifest has it; None of one that goes on."""
        saved = self.folder.read_json("manifest.json")
        trained = saved.get("trained") if isinstance(saved, dict) and kept and is_finished(kept) else None
        return trained.get("weights") if isinstance(trained, dict) else None

    async def measured(self, model: Named, own: str, also: str) -> list[Taken]:
        """Every target, asked of the model as it is."""
        async with self.models.asked(model) as instrument:
            names = [own, *(f"also-{place}-{also}" for place in range(1, len(self.targets)))]
            return [
                await self.taken(instrument, model, name, target)
                for name, target in zip(names, self.targets, strict=True)
            ]

    async def taken(self, instrument: Instrument, model: Named, name: str, target: Target) -> Taken:
        """One measurement, named after the weights that answered."""
        found = await instrument.take(name, target, Library())
        return found._replace(made=found.made.model_copy(update={"weights": model.weights}))

    async def trained(self, loaded: Loaded) -> tuple[Any, tuple[Step, ...]]:
        """The model as training left it."""
        from gym.train.grpo.gradient.training import OnLoop, open_trainer, train

        reward = OnLoop(self.reward(), asyncio.get_running_loop())
        trainer = await asyncio.to_thread(
            lambda: open_trainer(self.config, self.task, reward, self.training, folder=self.folder.root, loaded=loaded)
        )
        self.watch.phase("training", steps_of(self.config, len(self.task.train)), self.models.session.meter)
        self.watch.advance(steps(last_whole(self.folder.root)))
        return await train(trainer, self.brake, self.watch.advance)

    def reward(self) -> Reward:
        """What scores the training answers."""
        return train_reward(self.config, self.models.session.model("judge"))

    def changes(self, model: Any) -> Changed:
        """Against the model's files."""
        from gym.train.grpo.gradient.changes import changes

        return changes(model, locate(self.config.model_name_or_path))

    def effort(
        self, sides: Sequence[Sides], course: Sequence[Step], changed: Changed, peak: int | None, seconds: float
    ) -> Effort:
        """What training took; a run that was continued keeps what it took before."""
        taken = [one for pair in sides for one in pair]
        judged = learned_with(
            self.models.session.meter.snapshot()["total"],
            [one.found.score for one in taken],
            [one.usd for one in taken],
            chat=True,
        )
        earlier = earlier_effort(self.folder)
        drawn = len(course) * min(self.config.batch_size, len(self.task.train)) * self.config.grpo_group_size
        return Effort(
            way=self.training.way,
            learning_s=sum(one.seconds for one in course),
            seconds=max(seconds, earlier.seconds if earlier else 0.0),
            calls=judged["calls"] + drawn,
            tokens=judged["tokens"] + (course[-1].tokens if course else 0),
            usd=judged["usd"],
            peak_bytes=peak_of(peak, earlier),
            weights="changed" if changed.changed or changed.added else "unchanged",
            changed=changed,
        )

    def report(
        self, sides: Sequence[Sides], course: tuple[Step, ...], effort: Effort, weights: Weights
    ) -> BaselineReport:
        """Everything that is known at the end."""
        task, inputs = self.task, self.task.inputs()
        own, *others = (_compared(one, self.config.seed) for one in sides)
        return BaselineReport(
            name=self.folder.root.name,
            model=self.config.model_name_or_path,
            training=self.training.told(),
            weights=weights.story,
            checkpoint=f"{FOLDER}/checkpoint-{steps(last_whole(self.folder.root))}",
            problems={"training": len(task.train), "validation": len(task.val), "held-out": len(task.test)},
            comparison=own,
            elsewhere=tuple(others),
            effort=effort,
            steps=course,
            spent=self.models.session.meter.snapshot(),
            seconds=effort.seconds,
            config=self.config.public(),
            digests={"config": self.config.digest(), **{f"{role} data": value for role, value in inputs.items()}},
            notes=self.notes,
        )

    def write_manifest(self, weights: Weights, trained: str | None, changed: Changed | None) -> None:
        """As every run's, with what was trained."""
        content = manifest(self.config, self.task.inputs(), weights, self.models.session.log)
        told: Mapping[str, Any] = {
            "training": self.training.model_dump(mode="json"),
            "weights": trained,
            "changed": changed.model_dump(mode="json") if changed else None,
        }
        self.folder.write_json("manifest.json", {**content, "trained": told})
        weights.keep(self.folder.root, self.config.model_name_or_path)


def _compared(sides: Sides, seed: int) -> Comparison:
    named = (Labelled("before", sides.before.record()), Labelled("after", sides.after.record()))
    return compare(*named, seed=seed)
