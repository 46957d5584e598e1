"""Whatever measures libraries begins alike: rewards that work, a folder that records every call, open models."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

from gym.collector import rare_collections
from gym.config import RunConfig
from gym.evaluation.instrument import Instrument, Target
from gym.llm.brake import Brake
from gym.train.grpo.rewards.base import self_test
from gym.train.grpo.run_dir import RunDir
from gym.train.grpo.session import open_session
from gym.train.grpo.task import held_out_reward, run_folder
from gym.train.grpo.watch import Watch


class Opened(NamedTuple):
    """The run's folder, and what measures into it."""

    folder: RunDir
    instrument: Instrument


@asynccontextmanager
async def open_instrument(
    config: RunConfig, targets: Iterable[Target], watch: Watch, brake: Brake
) -> AsyncIterator[Opened]:
    """The models that `config` names, for measuring on `targets`; closed at the end."""
    for target in targets:
        await self_test(held_out_reward(target.config))
    with RunDir(run_folder(config)) as folder, rare_collections():
        async with open_session(config, folder.path("calls.jsonl"), brake, say=watch.say) as session:
            yield Opened(folder, Instrument(session, watch))
