"""What the methods work with: one model server for all of them, and runs whose settings do not tell where it listens."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.learning.cell import Cell, Learned
from bench.learning.settings import MODEL, Keys, known
from bench.tasks.grading import REWARD
from gym.config import RunConfig
from gym.evaluation.evaluate import Evaluation, evaluate
from gym.llm.brake import Brake
from gym.llm.local.server import serve
from gym.train.grpo.session import Session, open_rollouts, open_session
from gym.train.grpo.task import load_domain
from gym.train.grpo.training_free_workflow import Run, atrain

TEMPERATURE = 0.7


@dataclass(frozen=True)
class Workplace:
    """A model that answers, and what is told of the work."""

    model: str = MODEL
    environ: Mapping[str, str] = field(default_factory=dict)
    """Says where the model is: a server's port is of no account for a run's identity, so that a run resumes on another."""
    say: Callable[[str], None] = lambda text: None

    def config(self, cell: Cell, keys: Keys, folder: Path, **more: object) -> RunConfig:
        """The settings of a run in `folder` on the cell's problems; unknown keys are left out."""
        given = {
            "model_name_or_path": self.model,
            "dataset": str(cell.file("train")),
            "rollout_max_tokens": cell.family.max_tokens,
            "seed": cell.seed,
            "output_dir": str(folder.parent),
            "experiment_name": folder.name,
        }
        return RunConfig.model_validate(given | known(keys) | more)

    async def train(self, config: RunConfig) -> Run:
        """A training run, continued if it was begun."""
        return await atrain(config, reward=REWARD, environ=self.environ)

    @asynccontextmanager
    async def session(self, config: RunConfig, log: Path) -> AsyncIterator[Session]:
        """The model, its calls recorded in `log`."""
        log.parent.mkdir(parents=True, exist_ok=True)
        async with open_session(config, log, Brake(), self.environ, self.say) as session:
            yield session

    async def held_out(self, cell: Cell, keys: Keys, learned: Learned) -> Evaluation:
        """Answers to the held-out problems under what was learned; all methods of a cell share one record."""
        folder = cell.folder / "held-out"
        config = self.config(cell, keys, folder, system_prompt=learned.instructions)
        async with self.session(config, folder / "calls.jsonl") as session:
            rollouts = open_rollouts(
                config,
                session,
                load_domain(config),
                REWARD,
                stage="evaluate",
                group_size=cell.scale.held_out_k,
                temperature=TEMPERATURE,
            )
            return await evaluate(rollouts, cell.splits.test, learned.library)


@asynccontextmanager
async def workplace(base_url: str, say: Callable[[str], None]) -> AsyncIterator[Workplace]:
    """At the server of `base_url`, or at an embedded one that is started for the whole bench."""
    if base_url:
        yield Workplace(environ={"OPENAI_BASE_URL": base_url}, say=say)
        return
    async with serve(f"local:{MODEL}", slots=4, context=4096, say=say) as server:
        yield Workplace(environ={"OPENAI_BASE_URL": server.base_url}, say=say)
