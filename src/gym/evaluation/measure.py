"""`gym eval` as a function: one data set, one model, without or with a library, recorded so that it resumes."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from gym.collector import rare_collections
from gym.config import RunConfig
from gym.core.experience import Library
from gym.errors import ConfigError, RunFailed
from gym.evaluation.evaluate import Evaluation, evaluate
from gym.evaluation.metrics import Paired, paired
from gym.llm.brake import Brake
from gym.train.grpo.rewards.base import self_test
from gym.train.grpo.rewards.grading import Counted, Counts
from gym.train.grpo.run_dir import RunDir
from gym.train.grpo.session import open_rollouts, open_session
from gym.train.grpo.task import held_out_reward, load_domain, read_problems, run_folder
from gym.train.grpo.watch import Watch


class Measured(NamedTuple):
    """What was measured: `plain` is without a library and set only when nothing else, or a comparison, was asked for."""

    score: Evaluation
    plain: Evaluation | None
    gain: Paired | None
    spent: Mapping[str, object]
    notes: tuple[str, ...]
    folder: Path


async def measure(config: RunConfig, library: Library | None, *, compare: bool, watch: Watch, brake: Brake) -> Measured:
    """Answers of `config.eval_k` per problem at `config.eval_temperature`, scored with a 95 % interval over problems.

    With `compare` the same problems are answered without the library too, and the paired difference is given. Raises
    `RunFailed` when not one answer could be scored.
    """
    if not config.dataset:
        raise ConfigError("no data: give --data FILE (JSONL, CSV, Parquet), a Hugging Face id, or a domain's set")
    if compare and library is None:
        raise ConfigError("--compare needs --experiences FILE: it answers without and with that library")
    domain, notes = load_domain(config), list[str]()
    problems = read_problems(
        config, domain, config.dataset, held_out_reward(config), notes, truncate=config.dataset_truncate
    )
    for note in notes:
        watch.say(note)
    await self_test(held_out_reward(config))
    grades = Counts()
    with RunDir(run_folder(config)) as folder, rare_collections():
        async with open_session(config, folder.path("calls.jsonl"), brake, say=watch.say) as session:
            manager = open_rollouts(
                config,
                session,
                domain,
                Counted(held_out_reward(config, session.model("judge")), grades),
                stage="evaluate",
                group_size=config.eval_k,
                temperature=config.eval_temperature,
                advance=watch.advance,
            )
            session.retrieval.expect(problems)
            found: list[Evaluation] = []
            for shown in (Library(), library or Library()) if compare else (library or Library(),):
                watch.phase(
                    "with library" if len(shown) else "no library", len(problems) * config.eval_k, session.meter
                )
                found.append(_scored(await evaluate(manager, problems, shown, seed=config.seed)))
            gain = paired(found[0].tallies, found[-1].tallies, seed=config.seed) if compare else None
            watch.say(f"graded {grades}")
            spent = session.meter.snapshot()["total"]
    return Measured(found[-1], found[0] if compare else None, gain, spent, tuple(notes), folder.root)


def _scored(evaluation: Evaluation) -> Evaluation:
    if evaluation.score.mean is None:
        first = next(tally.failure for tally in evaluation.tallies if tally.failure)
        raise RunFailed(
            f"all {evaluation.score.failed} answers failed, the first at {first.boundary!r} with {first.type}: {first.message}"
        )
    return evaluation
