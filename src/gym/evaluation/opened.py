"""Whatever measures libraries on a data set begins alike: problems, models, a folder that records every call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gym.collector import rare_collections
from gym.config import RunConfig
from gym.core.experience import Library
from gym.core.problem import Problem
from gym.errors import ConfigError, RunFailed
from gym.evaluation.evaluate import Evaluation, evaluate
from gym.llm.brake import Brake
from gym.train.grpo.rewards.base import self_test
from gym.train.grpo.rewards.grading import Counted, Counts
from gym.train.grpo.rollout_manager import RolloutManager
from gym.train.grpo.run_dir import RunDir
from gym.train.grpo.session import Session, open_rollouts, open_session
from gym.train.grpo.task import held_out_reward, load_domain, read_problems, run_folder
from gym.train.grpo.watch import Watch


@dataclass(frozen=True)
class Bench:
    """A data set, a model and a folder, opened to measure libraries on."""

    config: RunConfig
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    folder: RunDir
    session: Session
    rollouts: RolloutManager
    grades: Counts

    async def measure(self, library: Library) -> Evaluation:
        """`config.eval_k` answers to each problem under `library`; raises `RunFailed` when none could be scored."""
        found = await evaluate(self.rollouts, self.problems, library)
        if found.score.mean is None:
            first = next(tally.failure for tally in found.tallies if tally.failure)
            raise RunFailed(
                f"all {found.score.failed} answers failed, the first at {first.boundary!r} with {first.type}: {first.message}"
            )
        return found


@asynccontextmanager
async def open_bench(config: RunConfig, watch: Watch, brake: Brake) -> AsyncIterator[Bench]:
    """Everything that `config` names, opened and checked; closed at the end."""
    if not config.dataset:
        raise ConfigError("no data: give --data FILE (JSONL, CSV, Parquet), a Hugging Face id, or a domain's set")
    domain, reward, notes = load_domain(config), held_out_reward(config), list[str]()
    problems = read_problems(config, domain, config.dataset, reward, notes, truncate=config.dataset_truncate)
    for note in notes:
        watch.say(note)
    await self_test(reward)
    grades = Counts()
    with RunDir(run_folder(config)) as folder, rare_collections():
        async with open_session(config, folder.path("calls.jsonl"), brake, say=watch.say) as session:
            rollouts = open_rollouts(
                config,
                session,
                domain,
                Counted(held_out_reward(config, session.model("judge")), grades),
                stage="evaluate",
                group_size=config.eval_k,
                temperature=config.eval_temperature,
                advance=watch.advance,
            )
            yield Bench(config, problems, tuple(notes), folder, session, rollouts, grades)
