"""Retries: which errors, how long, how often."""

import asyncio
import random
from collections.abc import Iterable

import pytest

from gym.core.chat import Message, Sampling
from gym.errors import (
    AccessDenied,
    BudgetReached,
    ConnectionFailed,
    GymError,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFailed,
)
from gym.llm.openai_compatible import OpenAICompatible
from gym.llm.retry import Retry, Retrying
from gym.llm.scripted import Reply, Scripted
from gym.llm.scripted_server import Answer, ScriptedServer, completion_body

ASK = (Message(role="user", content="2 + 2?"),)


class Naps:
    """A sleep that only writes down how long."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def scripted(replies: Iterable[Reply]) -> Scripted:
    steps = iter(replies)
    return Scripted(lambda messages, sampling: next(steps))


def limited(wait: float | None = None) -> RateLimited:
    return RateLimited("429", status=429, retry_after_s=wait)


async def test_each_retry_after_is_honoured_anew_with_a_spread() -> None:
    naps = Naps()
    model = Retrying(scripted([limited(7), limited(30), limited(0), "4"]), random=lambda: 0.5, sleep=naps)
    assert (await model.complete(ASK, Sampling())).text == "4"
    assert naps.taken == [7.5, 31.5, 0.5]


async def test_without_a_readable_retry_after_the_wait_doubles_with_full_jitter_up_to_a_cap() -> None:
    naps = Naps()
    model = Retrying(scripted([limited()] * 5 + ["4"]), 5, random=lambda: 0.5, sleep=naps, base_s=1, cap_s=8)
    await model.complete(ASK, Sampling())
    assert naps.taken == [0.5, 1.0, 2.0, 4.0, 4.0]


async def test_sixty_four_workers_do_not_wake_together() -> None:
    naps, draw = Naps(), random.Random(0)
    models = [Retrying(scripted([limited(7), "4"]), random=draw.random, sleep=naps) for _ in range(64)]
    await asyncio.gather(*(model.complete(ASK, Sampling()) for model in models))
    assert len(set(naps.taken)) == 64
    assert all(7 <= wait <= 8 for wait in naps.taken)


async def test_every_form_of_retry_after_over_the_wire() -> None:
    forms = [
        {"Retry-After": "7"},
        {"Retry-After": "30"},
        {"Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"},
        {"Retry-After": "?"},
    ]
    answers = iter([Answer("", 429, form) for form in forms])
    naps = Naps()
    async with (
        ScriptedServer(lambda body: next(answers, Answer(completion_body("4")))) as server,
        OpenAICompatible("m", server.base_url) as transport,
    ):
        await Retrying(transport, random=lambda: 0.0, sleep=naps).complete(ASK, Sampling())
    assert naps.taken == [7.0, 30.0, 0.0, 0.0]


async def test_after_the_last_retry_the_error_comes_as_it_was() -> None:
    naps, last = Naps(), ServerFailed("503 at last", status=503)
    script = scripted([limited(), limited(), last])
    with pytest.raises(ServerFailed) as caught:
        await Retrying(script, 2, sleep=naps).complete(ASK, Sampling())
    assert caught.value is last
    assert (script.calls, len(naps.taken)) == (3, 2)


@pytest.mark.parametrize(
    "error", [AccessDenied("401"), RequestRejected("400"), ProviderError("?"), BudgetReached("$1")]
)
async def test_what_a_retry_cannot_cure_is_asked_once(error: GymError) -> None:
    def script(messages: object, sampling: object) -> str:
        raise error

    model, naps = Scripted(script), Naps()
    with pytest.raises(type(error)):
        await Retrying(model, sleep=naps).complete(ASK, Sampling())
    assert (model.calls, naps.taken) == (1, [])


async def test_a_server_that_asks_for_too_much_patience_is_not_waited_for() -> None:
    script, naps = scripted([limited(86_400), "4"]), Naps()
    with pytest.raises(RateLimited):
        await Retrying(script, patience_s=600, sleep=naps).complete(ASK, Sampling())
    assert script.calls == 1


async def test_no_retries_is_one_attempt() -> None:
    script = scripted([limited()])
    with pytest.raises(RateLimited):
        await Retrying(script, 0).complete(ASK, Sampling())


async def test_each_retry_is_reported_with_its_error_and_wait() -> None:
    seen: list[Retry] = []
    error = ConnectionFailed("reset")
    model = Retrying(scripted([error, "4"]), on_retry=seen.append, random=lambda: 1.0, sleep=Naps())
    await model.complete(ASK, Sampling())
    assert seen == [Retry(1, error, 1.0)]


async def test_cancellation_passes_through_while_waiting() -> None:
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(Retrying(scripted([limited()]), sleep=sleep).complete(ASK, Sampling()))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
