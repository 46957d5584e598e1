"""The models of one run: policy, reflector and judge, recorded in one call log, under one meter and one brake."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from gym.config import RunConfig, its_own_place
from gym.core.chat import ChatModel, Sampling
from gym.core.problem import Reward
from gym.embedding.encoders import HOW_TO_GET, open_encoder, resolved
from gym.llm.brake import Brake
from gym.llm.call_log import CallLog
from gym.llm.endpoint import Endpoint, open_model, preflight
from gym.llm.guarded import Guarded
from gym.llm.meter import Budget, Meter
from gym.llm.recorded import Recorded, recover
from gym.llm.retry import Retry
from gym.train.grpo.domains.base import Domain
from gym.train.grpo.executors.base import Executor, Local, open_executor
from gym.train.grpo.group_size import GroupSize
from gym.train.grpo.inclusion import Inclusion
from gym.train.grpo.retrieval import Retrieval, Rule
from gym.train.grpo.rollout_manager import Choose, RolloutManager
from gym.train.grpo.ways import room

if TYPE_CHECKING:
    from gym.train.grpo.agent import Agent

RETRIES_TOLD = 5
"""Failed attempts of an endpoint that are told one by one."""
MOST_SLOTS = 16
"""Of a server that we start: each takes its context's memory."""


@dataclass(frozen=True)
class Session:
    """Open models of a run; `policy`, `reflector` and `judge` may be one and the same endpoint."""

    policy: Guarded
    reflector: Guarded
    judge: Guarded
    log: CallLog
    meter: Meter
    brake: Brake
    executor: Executor = field(default_factory=Local)
    agent: "Agent | None" = None
    """Of agent mode; None: the domain's own solver answers."""
    retrieval: Retrieval = field(default_factory=lambda: Retrieval(Rule("all")))
    """What of a library a problem is shown, in training and evaluation alike."""

    def width(self) -> int:
        """Calls that the policy's endpoint takes at the moment; it changes while the run finds out what pays."""
        return self.policy.limiter.limit

    def model(self, stage: str) -> ChatModel:
        """The endpoint of a stage; every call of it is recorded, metered and stopped by the brake."""
        inner = {
            "summarize": self.reflector,
            "critique": self.reflector,
            "consolidate": self.reflector,
            "judge": self.judge,
        }
        return Recorded(inner.get(stage, self.policy), self.log, stage=stage, meter=self.meter, brake=self.brake)


def meter_of(config: RunConfig) -> Meter:
    """What counts a run's calls, under its budget and its prices."""
    return Meter(Budget(usd=config.budget_usd, tokens=config.budget_tokens, calls=config.budget_calls), config.prices)


@asynccontextmanager
async def open_session(
    config: RunConfig,
    log_path: Path,
    brake: Brake,
    environ: Mapping[str, str] | None = None,
    say: Callable[[str], None] = lambda text: None,
    context: int | None = None,
) -> AsyncIterator[Session]:
    """Open every endpoint a configuration names, check that each answers, and close them at the end.

    `context`: tokens that a server of ours keeps for a conversation, where more than the run's own are held with it.

    Raises `ConfigError` for a missing key or extra, `ProviderError` for an endpoint that is dead or refuses the key.
    """
    environ = os.environ if environ is None else environ
    roles = {role: endpoint(config, role) for role in ("policy", "reflector", "judge")}
    roles = {role: replace(each, context=context or each.context) for role, each in roles.items()}
    async with AsyncExitStack() as stack:
        meter = meter_of(config)
        log = stack.enter_context(CallLog.open(log_path, on_call=recover(meter)))
        executor = await stack.enter_async_context(
            open_executor(config.executor, address=config.ray_address, workers=config.ray_workers, say=say)
        )
        opened: dict[Endpoint, Guarded] = {}
        for each in roles.values():
            if each not in opened:
                opened[each] = await stack.enter_async_context(
                    open_model(each, environ, on_retry=_Retries(say), say=say, opener=executor.open)
                )
                await preflight(opened[each])
        models = {role: opened[each] for role, each in roles.items()}
        agent = None
        if config.mode == "chat" and config.tools:
            say("tools are given, but mode is chat: they are not used (--mode agent)")
        if config.mode == "agent":
            from gym.train.grpo.agent import open_agent  # tools load only for those who use them

            embedded, folder = roles["policy"].embedded, log_path.parent
            opened_agent = open_agent(
                config, embedded=embedded, folder=folder, paid=meter.count_queries, environ=environ, say=say
            )
            agent = await stack.enter_async_context(opened_agent)
        yield Session(
            **models, log=log, meter=meter, brake=brake, executor=executor, agent=agent,
            retrieval=retrieval_of(config, say),
        )  # fmt: skip


def retrieval_of(config: RunConfig, say: Callable[[str], None] = lambda text: None) -> Retrieval:
    """What a configuration shows of a library; raises `ConfigError` when the encoder it names is not here."""
    which = resolved(config.encoder)
    if config.encoder == "minilm":
        open_encoder(which)  # now, not in the middle of a run
    rule = Rule(config.retrieval, config.retrieval_k, config.relevance, config.experience_token_budget)
    hint = "" if which == "minilm" else f" (it knows spelling; one that knows meaning: {HOW_TO_GET})"
    return Retrieval(rule, partial(open_encoder, which), say=lambda text: say(f"{text}{hint}"))


def open_rollouts(
    config: RunConfig,
    session: Session,
    domain: Domain,
    reward: Reward,
    *,
    stage: str,
    group_size: int,
    sizes: GroupSize | None = None,
    temperature: float,
    advance: Callable[[], None] = lambda: None,
) -> RolloutManager:
    """Rollouts of one stage, with the same prompt layout, limits and solver for all stages (SPEC 1.11)."""
    return RolloutManager(
        session.model(stage),
        session.agent.solver if session.agent and config.mode == "agent" else session.executor.remote(domain.solver),
        reward,
        width=session.width,
        sampling=Sampling(temperature=temperature, max_tokens=config.rollout_max_tokens),
        group_size=group_size,
        sizes=sizes,
        choose=chosen(config, session.retrieval, stage),
        instructions=config.system_prompt or domain.prompts.solve,
        seed=config.seed,
        timeout_s=config.task_timeout,
        on_rollout=lambda rollout: advance(),
    )


def chosen(config: RunConfig, retrieval: Retrieval, stage: str) -> Choose:
    """What of the library the rollouts of a stage see: what retrieval shows, in training a random part of it when asked for."""
    if config.inclusion == 1.0 or stage not in ("rollout", "screen"):
        return retrieval
    return Inclusion(config.inclusion, config.seed, of=retrieval, trial=stage == "screen")


def endpoint(config: RunConfig, role: str) -> Endpoint:
    """The endpoint of `policy`, `reflector` or `judge`; what the two say nothing of is the policy's (SPEC 1.10)."""
    base = Endpoint(
        model=config.model_name_or_path,
        provider=config.provider,
        base_url=config.api_base_url,
        api_key=_secret(config.api_key),
        timeout_s=config.call_timeout or config.task_timeout,
        max_retries=config.max_retries,
        concurrency=_fixed(config),
        outage_patience_s=config.outage_patience,
        hedge=config.hedge,
        context=room(config),
        slots=min(_fixed(config) or MOST_SLOTS, max(4, os.cpu_count() or 1)),
    )
    if role == "policy":
        return base
    model = getattr(config, f"{role}_model")
    url = getattr(config, f"{role}_base_url")
    key = _secret(getattr(config, f"{role}_api_key"))
    if not (model or url or key):
        return base
    if model and not url:
        return (
            replace(base, model=model, provider="", base_url="", api_key=key)
            if _elsewhere(model, base)
            else replace(base, model=model, api_key=key or base.api_key)
        )
    return replace(base, model=model or base.model, base_url=url or base.base_url, api_key=key or base.api_key)


def _fixed(config: RunConfig) -> int | None:
    """The calls in flight that the user wants; None: find out."""
    return None if config.rollout_concurrency == "auto" else config.rollout_concurrency


def _elsewhere(model: str, base: Endpoint) -> bool:
    """Whether a model names its own place (local weights, a script) or the policy's place is such a one."""
    return its_own_place(model) or its_own_place(base.model)


class _Retries:
    """Tells of the first failed attempts of an endpoint; of the many that an outage brings, that there are more."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say, self._seen = say, 0

    def __call__(self, retry: Retry) -> None:
        self._seen += 1
        when = f"again in {retry.wait_s:.0f} s" if retry.wait_s >= 0.5 else "again at once"
        if self._seen <= RETRIES_TOLD:
            self._say(f"  attempt {retry.attempt} failed ({retry.error}); {when}")
        elif self._seen == RETRIES_TOLD + 1:
            self._say("  more attempts fail and are repeated; calls.jsonl has every one")


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value is not None else None
