"""Metering by stage and model, and budgets that hold while calls are in flight."""

import asyncio
import json

import pytest

from gym.core.chat import Completion, Message, Sampling, Usage
from gym.errors import BudgetReached, ConfigError, Interrupted
from gym.llm.brake import Brake
from gym.llm.meter import Budget, Meter
from gym.llm.spent import estimate_prompt

ASK = (Message(role="user", content="x" * 384),)  # 96 + 4 = 100 tokens by our estimate
CHEAP = Sampling(max_tokens=100)
REPLY = Completion(text="4", usage=Usage(prompt=90, completion=10), latency_s=0.5)


async def one(meter: Meter, model: str = "gpt-4o-mini", reply: Completion = REPLY) -> None:
    meter.settle(await meter.reserve("rollout", model, ASK, CHEAP), ASK, reply)


async def test_tokens_calls_and_dollars_are_kept_by_stage_and_model() -> None:
    meter = Meter()
    await one(meter)
    await one(meter)
    failed = await meter.reserve("critique", "deepseek-chat", ASK, CHEAP)
    meter.fail(failed, ASK, "RateLimited")
    meter.count_replay("rollout", "gpt-4o-mini")
    snapshot = meter.snapshot()
    assert snapshot["stages"]["rollout"]["gpt-4o-mini"] == {
        "calls": 2,
        "replayed": 1,
        "failed": 0,
        "estimated": 0,
        "prompt_tokens": 180,
        "cached_tokens": 0,
        "completion_tokens": 20,
        "reasoning_tokens": 0,
        "latency_s": 1.0,
        "usd": round((180 * 0.15 + 20 * 0.60) / 1e6, 6),
    }
    assert snapshot["stages"]["critique"]["deepseek-chat"]["failed"] == 1
    assert (snapshot["total"]["calls"], snapshot["total"]["prompt_tokens"]) == (3, 180)
    json.dumps(snapshot)


async def test_an_unknown_price_is_none_and_never_zero() -> None:
    meter = Meter()
    await one(meter, "some-model")
    await one(meter, "gpt-4o-mini")
    snapshot = meter.snapshot()
    assert snapshot["stages"]["rollout"]["some-model"]["usd"] is None
    assert snapshot["total"]["usd"] is None
    assert Meter(prices={"some-model": {"prompt": 1, "completion": 1}}).usd == 0.0


async def test_usage_the_server_did_not_give_is_estimated_and_said() -> None:
    meter = Meter()
    await one(meter, reply=Completion(text="y" * 40, usage=Usage(known=False)))
    row = meter.snapshot()["stages"]["rollout"]["gpt-4o-mini"]
    assert (row["estimated"], row["prompt_tokens"], row["completion_tokens"]) == (1, 100, 10)


async def test_a_timed_out_attempt_is_in_the_cost_and_a_refused_one_is_not() -> None:
    meter = Meter()
    meter.fail(await meter.reserve("rollout", "gpt-4o-mini", ASK, CHEAP), ASK, "TimedOut")
    assert meter.usage.prompt == estimate_prompt(ASK) == 100
    meter.fail(await meter.reserve("rollout", "gpt-4o-mini", ASK, CHEAP), ASK, "RateLimited")
    assert meter.usage.prompt == 100
    assert meter.calls == 2


async def test_the_token_budget_counts_what_is_in_flight_and_waits_for_it() -> None:
    meter = Meter(Budget(tokens=450))  # a call reserves 200 and spends 100
    first = await meter.reserve("rollout", "m", ASK, CHEAP)
    second = await meter.reserve("rollout", "m", ASK, CHEAP)
    third = asyncio.create_task(meter.reserve("rollout", "m", ASK, CHEAP))
    await asyncio.sleep(0)
    assert not third.done()
    meter.settle(first, ASK, REPLY)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not third.done()  # 100 spent + 200 in flight + 200 wanted > 450
    meter.settle(second, ASK, REPLY)
    assert (await third).tokens == 200
    assert meter.in_flight == 1


async def test_a_call_that_cannot_fit_is_the_end() -> None:
    meter = Meter(Budget(tokens=250))
    await one(meter)
    with pytest.raises(BudgetReached, match=r"budget of 250 tokens reached: 1 call, 100 tokens, .* raise the budget"):
        await meter.reserve("rollout", "gpt-4o-mini", ASK, CHEAP)


async def test_the_call_budget_counts_calls_in_flight_as_spent() -> None:
    meter = Meter(Budget(calls=2))
    await meter.reserve("rollout", "m", ASK, CHEAP)
    await one(meter)
    with pytest.raises(BudgetReached, match="budget of 2 calls"):
        await meter.reserve("rollout", "m", ASK, CHEAP)


async def test_the_dollar_budget_stops_before_the_call_that_may_exceed_it() -> None:
    usd = (100 * 0.15 + 100 * 0.60) / 1e6
    meter = Meter(Budget(usd=usd * 1.5))
    await one(meter)
    await one(meter)  # the first cost only part of what it had reserved
    ends = await asyncio.gather(*(one(meter) for _ in range(10)), return_exceptions=True)
    assert isinstance(ends[-1], BudgetReached)
    assert "budget of $0.0001125 reached" in str(ends[-1])
    assert meter.usd is not None
    assert 0 < meter.usd <= usd * 1.5


async def test_a_dollar_budget_on_a_model_without_a_price_is_the_users_error() -> None:
    with pytest.raises(ConfigError, match="'mystery' has no price"):
        await Meter(Budget(usd=1)).reserve("rollout", "mystery", ASK, CHEAP)


async def test_local_models_spend_no_dollars_of_a_budget() -> None:
    meter = Meter(Budget(usd=0.000001))
    await one(meter, "local:qwen")
    assert meter.usd == 0.0


async def test_what_was_in_flight_leaves_no_trace_in_a_budget_once_settled() -> None:
    usd = (100 * 0.15 + 900 * 0.60) / 1e6
    meter = Meter(Budget(usd=usd, tokens=1000))
    for size in range(1, 100):
        held = [await meter.reserve("rollout", "gpt-4o-mini", ASK, Sampling(max_tokens=size)) for _ in range(4)]
        for each in held:
            meter.fail(each, ASK, "RateLimited")
    whole = await meter.reserve("rollout", "gpt-4o-mini", ASK, Sampling(max_tokens=900))
    assert (whole.tokens, whole.usd) == (1000, usd)
    assert meter.in_flight == 1


async def test_who_waits_for_room_is_stopped_by_the_brake() -> None:
    meter, brake = Meter(Budget(tokens=250)), Brake()
    first = await meter.reserve("rollout", "m", ASK, CHEAP)
    second = asyncio.create_task(meter.reserve("rollout", "m", ASK, CHEAP, brake.check))
    await asyncio.sleep(0)
    brake.pull(Interrupted("Ctrl-C"))
    meter.settle(first, ASK, Completion(text="", usage=Usage()))
    with pytest.raises(Interrupted):
        await second


async def test_a_sleeping_retry_is_woken_by_the_brake_from_another_thread() -> None:
    brake = Brake()
    sleeping = asyncio.create_task(brake.sleep(3600))
    await asyncio.sleep(0)
    await asyncio.to_thread(brake.pull, Interrupted("Ctrl-C"))
    await sleeping
    await brake.sleep(3600)  # pulled: no sleep at all
    with pytest.raises(Interrupted, match="Ctrl-C"):
        brake.check()


def test_the_first_reason_of_a_brake_stands() -> None:
    brake = Brake()
    brake.check()
    brake.pull(BudgetReached("$1"))
    brake.pull(Interrupted("Ctrl-C"))
    assert isinstance(brake.reason, BudgetReached)
