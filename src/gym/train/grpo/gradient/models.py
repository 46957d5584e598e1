"""The models of a gradient baseline: the one that is trained, in memory, and a judge where the reward has one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from gym.config import RunConfig
from gym.evaluation.instrument import Instrument
from gym.llm.brake import Brake
from gym.llm.call_log import CallLog
from gym.llm.endpoint import open_model, preflight
from gym.llm.guarded import Guarded
from gym.llm.hf.opening import BATCH, Loaded
from gym.llm.limiter import Limiter
from gym.llm.recorded import recover
from gym.train.grpo.frozen import of_module
from gym.train.grpo.session import Session, endpoint, meter_of, retrieval_of
from gym.train.grpo.watch import Watch


class Named(NamedTuple):
    """A model in memory under a name that hangs on what it is."""

    model: Any
    name: str
    weights: str = ""
    """What gradients made of it; empty: it is as its files are."""

    @classmethod
    def trained(cls, model: Any, name: str, way: str) -> "Named":
        """Named after the digest of every tensor, so that no other training's answers are ever taken for its own."""
        whole = of_module(model).whole
        return cls(model, f"{name}+{way}@{whole[:12]}", f"{way}, SHA-256 {whole}")


class Models:
    """Opens the model in memory as often as it is another one; record, meter and judge stay the same."""

    def __init__(self, session: Session, config: RunConfig, tokenizer: Any, watch: Watch) -> None:
        self.session, self._config, self._tokenizer, self._watch = session, config, tokenizer, watch

    @asynccontextmanager
    async def asked(self, which: Named) -> AsyncIterator[Instrument]:
        """What measures the model as it is now."""
        from gym.llm.hf.adapter import HFAdapter  # torch loads only when there is a model to ask

        width = batch(self._config)
        adapter = HFAdapter(
            which.model, self._tokenizer, name=which.name, batch_size=width, timeout_s=self._config.task_timeout
        )
        policy = Guarded(adapter, Limiter(width, where=which.name), max_retries=0)
        try:
            yield Instrument(replace(self.session, policy=policy), self._watch)
        finally:
            await asyncio.to_thread(adapter.close)


def batch(config: RunConfig) -> int:
    """Answers that are generated together outside training."""
    return BATCH if config.rollout_concurrency == "auto" else config.rollout_concurrency


@asynccontextmanager
async def open_models(
    config: RunConfig, loaded: Loaded, folder: Path, brake: Brake, watch: Watch
) -> AsyncIterator[Models]:
    """The record in `folder` and the judge, until the context ends; the model is loaded already."""
    async with AsyncExitStack() as stack:
        meter = meter_of(config)
        log = stack.enter_context(CallLog.open(folder / "calls.jsonl", on_call=recover(meter)))
        judge = await _judge(config, stack, watch.say)
        session = Session(judge, judge, judge, log, meter, brake, retrieval=retrieval_of(config))
        yield Models(session, config, loaded.tokenizer, watch)


async def _judge(config: RunConfig, stack: AsyncExitStack, say: Callable[[str], None]) -> Guarded:
    """The judge's endpoint; where no reward asks one, one that is never asked."""
    if config.reward != "judge":
        return Guarded(_Nobody(), Limiter(1), max_retries=0)
    opened = await stack.enter_async_context(open_model(endpoint(config, "judge"), say=say))
    await preflight(opened)
    return opened


class _Nobody:
    """In the place of a model that nothing asks."""

    name = "nobody"

    async def complete(self, messages: Any, sampling: Any) -> Any:
        """Never called: only a judge reward asks the judge."""
        raise AssertionError("a reward without a judge asked one")
