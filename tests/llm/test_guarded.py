"""A transport behind its limiter: what is shared, what is retried, how little it costs the calls that succeed."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from gym.core.chat import Message, Sampling
from gym.errors import BudgetReached, ConnectionFailed, RateLimited, TimedOut
from gym.llm.brake import Brake
from gym.llm.call_log import CallLog
from gym.llm.endpoint import Endpoint, open_model, open_transport
from gym.llm.guarded import Guarded
from gym.llm.limiter import Limiter
from gym.llm.openai_compatible import OpenAICompatible
from gym.llm.recorded import Recorded
from gym.llm.retry import Retry
from gym.llm.scripted import Reply, Scripted
from gym.llm.scripted_server import Answer, ScriptedServer, completion_body, error_body

ASK = (Message(role="user", content="2 + 2?"),)
InVirtualTime = Callable[[Coroutine[Any, Any, Any]], Any]


def clock() -> float:
    return asyncio.get_running_loop().time()


def test_no_slot_is_held_in_a_backoff(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        replies = iter([ConnectionFailed("reset")])
        limiter = Limiter(1, clock=clock)

        async def server(messages: Sequence[Message], sampling: Sampling) -> Reply:
            await asyncio.sleep(1)
            return next(replies, "4")

        model = Guarded(Scripted(server), limiter, random=lambda: 1.0)
        first = asyncio.create_task(model.complete(ASK, Sampling()))
        await asyncio.sleep(1.5)
        assert limiter.in_flight == 0
        await model.complete(ASK, Sampling(sample=1))
        assert clock() == 2.5
        await first

    in_virtual_time(scenario())


def test_a_retry_after_is_waited_for_once_and_reported_as_asked(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        seen: list[Retry] = []
        error = RateLimited("429", status=429, retry_after_s=7)
        replies = iter([error])
        script = Scripted(lambda messages, sampling: next(replies, "4"))
        model = Guarded(script, Limiter(4, clock=clock, random=lambda: 0.0), on_retry=seen.append)
        await model.complete(ASK, Sampling())
        assert clock() == 7
        assert seen == [Retry(1, error, 7.0)]

    in_virtual_time(scenario())


async def test_every_attempt_is_recorded_when_the_record_is_laid_under_the_guard(tmp_path: Path) -> None:
    plan: list[Reply] = [ConnectionFailed("reset"), "4"]
    replies = iter(plan)
    transport = Scripted(lambda messages, sampling: next(replies))
    guarded, brake = Guarded(transport, Limiter(4), random=lambda: 0.0), Brake()
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        paid = Recorded(transport, log, "rollout", brake=brake)
        assert (await guarded.over(paid, brake).complete(ASK, Sampling())).text == "4"
        assert [call.error.type if call.error else "answered" for call in log] == ["ConnectionFailed", "answered"]
    assert guarded.name == transport.name


async def test_a_stop_before_the_call_is_sent_gives_the_slot_back() -> None:
    class Stops:
        name = "m"

        async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Any:
            raise BudgetReached("enough")

    limiter = Limiter(1)
    with pytest.raises(BudgetReached):
        await Guarded(Stops(), limiter).complete(ASK, Sampling())
    assert (limiter.in_flight, limiter.served) == (0, 0)


async def test_the_headers_of_answers_and_of_refusals_reach_the_limiter() -> None:
    def script(body: dict[str, Any]) -> Answer:
        told = {"x-ratelimit-limit-requests": "2", "x-ratelimit-remaining-requests": "0"}
        reset = {"x-ratelimit-reset-requests": "600s"}
        return Answer(error_body("slow down"), 429, told | reset)

    async with (
        ScriptedServer(script) as server,
        open_model(Endpoint("m", base_url=server.base_url, max_retries=0), {}) as model,
    ):
        with pytest.raises(RateLimited):
            await model.complete(ASK, Sampling())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await model.complete(ASK, Sampling())
        assert (model.limiter.waiting, model.limiter.in_flight) == (0, 0)
    assert len(server.requests) == 1


async def test_a_hung_attempt_is_cut_at_its_own_time_limit_and_repeated() -> None:
    answers = iter([Answer(fault="hang")])
    async with (
        ScriptedServer(lambda body: next(answers, Answer(completion_body("4")))) as server,
        open_model(Endpoint("m", base_url=server.base_url, timeout_s=0.05), {}) as model,
    ):
        assert (await model.complete(ASK, Sampling())).text == "4"
    assert len(server.requests) == 2


async def test_the_transport_alone_makes_one_attempt() -> None:
    async with (
        ScriptedServer(lambda body: Answer(fault="hang")) as server,
        open_transport(Endpoint("m", base_url=server.base_url, timeout_s=0.05), {}) as transport,
    ):
        assert isinstance(transport, OpenAICompatible)
        with pytest.raises(TimedOut):
            await transport.complete(ASK, Sampling())
    assert len(server.requests) == 1


@pytest.mark.parametrize(("concurrency", "limit"), [(None, 64), (3, 3), (500, 500)])
async def test_a_script_has_the_number_that_is_asked_for_or_sixty_four(concurrency: int | None, limit: int) -> None:
    async with open_model(Endpoint("scripted:gym.llm.scripted:echo", concurrency=concurrency), {}) as model:
        assert model.limiter.limit == limit


async def test_a_hosted_endpoint_has_the_number_that_is_asked_for_or_starts_small() -> None:
    for concurrency, limit in ((None, 16), (500, 500)):
        endpoint = Endpoint("m", base_url="http://127.0.0.1:9/v1", concurrency=concurrency)
        async with open_model(endpoint, {}) as model:
            assert model.limiter.limit == limit


async def test_connections_are_used_again_after_answers_and_after_refusals() -> None:
    peers: list[object] = []

    async def reply(request: web.Request) -> web.Response:
        assert request.transport is not None
        peers.append(request.transport.get_extra_info("peername"))
        await request.read()
        if len(peers) % 2:
            return web.json_response(error_body("overloaded " * 1000), status=503)
        return web.json_response(completion_body("4"))

    app = web.Application()
    app.router.add_post("/v1/chat/completions", reply)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    async with OpenAICompatible("m", f"http://127.0.0.1:{runner.addresses[0][1]}/v1") as transport:
        model = Guarded(transport, Limiter(1), random=lambda: 0.0)
        for _ in range(5):
            await model.complete(ASK, Sampling())
    await runner.cleanup()
    assert len(peers) == 10
    assert len(set(peers)) == 1
