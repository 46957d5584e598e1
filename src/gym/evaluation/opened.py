"""Whatever measures libraries begins alike: rewards that work, a folder that records every call, open models and tools."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gym.collector import rare_collections
from gym.config import RunConfig
from gym.evaluation.instrument import Instrument
from gym.evaluation.target import Target
from gym.llm.brake import Brake
from gym.train.grpo.rewards.base import self_test
from gym.train.grpo.run_dir import RunDir
from gym.train.grpo.session import Session, endpoint, open_session
from gym.train.grpo.task import held_out_reward, run_folder
from gym.train.grpo.watch import Watch
from gym.train.grpo.ways import room, way

if TYPE_CHECKING:
    from gym.train.grpo.agent import Agent

ALSO = "also"
"""Folder in a run's, with a folder for each way of answering that is not the run's own."""


class Opened(NamedTuple):
    """The run's folder, and what measures into it."""

    folder: RunDir
    instrument: Instrument


@asynccontextmanager
async def open_instrument(
    config: RunConfig, targets: Sequence[Target], watch: Watch, brake: Brake
) -> AsyncIterator[Opened]:
    """The models that `config` names, and the tools of all `targets`, for measuring on these; closed at the end."""
    for target in targets:
        await self_test(held_out_reward(target.config))
    configs = (config, *(target.config for target in targets))
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(RunDir(run_folder(config)))
        stack.enter_context(rare_collections())
        session = await stack.enter_async_context(
            open_session(config, folder.path("calls.jsonl"), brake, say=watch.say, context=room(*configs))
        )
        agents = await _agents(configs, session, folder.path(ALSO), watch, stack)
        yield Opened(folder, Instrument(session, watch, agents=agents))


async def _agents(
    configs: Sequence[RunConfig], session: Session, folder: Path, watch: Watch, stack: AsyncExitStack
) -> Mapping[str, "Agent"]:
    """An agent for each way of answering; the run's own, which is the first, is open already."""
    own, *others = configs
    agents = {} if session.agent is None else {way(own): session.agent}
    for config in others:
        if (name := way(config)) and name not in agents:
            from gym.train.grpo.agent import open_agent  # tools load only for those who use them

            opened = open_agent(
                config,
                embedded=endpoint(config, "policy").embedded,
                folder=folder / name[:12],
                paid=session.meter.count_queries,
                environ=os.environ,
                say=watch.say,
            )
            agents[name] = await stack.enter_async_context(opened)
    return agents
