"""The router in front of llama.cpp's slots: equal beginnings meet, long prompts stay apart, nothing seeded is asked twice."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bench.slots import LONG, Router

Client = TestClient[web.Request, web.Application]


class Llama:
    """A server that notes what it is asked, and answers with the slot."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.status = 200

    async def complete(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body)
        await asyncio.sleep(0.01)
        return web.json_response({"slot": body["id_slot"]}, status=self.status)

    def slots_of(self, beginning: str) -> set[int]:
        return {body["id_slot"] for body in self.asked if body["messages"][-1]["content"].startswith(beginning)}


async def healthy(_: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})


@pytest.fixture
def llama() -> Llama:
    return Llama()


@pytest.fixture
async def client(llama: Llama) -> AsyncIterator[Client]:
    application = web.Application()
    application.router.add_post("/v1/chat/completions", llama.complete)
    application.router.add_get("/health", healthy)
    async with TestServer(application) as server:
        router = Router(str(server.make_url("")), slots=8)
        async with TestClient(TestServer(router.application())) as opened:
            yield opened


async def ask(client: Client, question: str, **sampling: object) -> Any:
    messages = [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": question}]
    async with client.post("/v1/chat/completions", json={"messages": messages, **sampling}) as answer:
        return answer.status, await answer.json()


async def test_answers_to_one_question_come_from_one_slot(client: Client, llama: Llama) -> None:
    questions = [f"{name} {'and so on ' * 20}" for name in ("apples", "pears", "plums")]
    await asyncio.gather(*(ask(client, question, seed=seed) for question in questions for seed in range(3)))
    found = [llama.slots_of(question) for question in questions]
    assert [len(slots) for slots in found] == [1, 1, 1]
    assert len(set.union(*found)) == 3


async def test_a_short_question_is_not_read_anew_in_a_slot_that_rests(client: Client, llama: Llama) -> None:
    for question in ("2 + 2?", "3 + 5?", "2 + 2?", "3 + 5?"):
        await ask(client, question)
    first, second, *again = (body["id_slot"] for body in llama.asked)
    assert first != second
    assert again == [first, second]


async def test_when_too_many_wait_another_slot_reads_the_question_too(client: Client, llama: Llama) -> None:
    await asyncio.gather(*(ask(client, "How many apples?", seed=seed) for seed in range(30)))
    assert len(llama.slots_of("How many")) > 1


async def test_a_long_answer_does_not_wait_behind_another_for_a_short_beginning(client: Client, llama: Llama) -> None:
    prompts = [f"{'reflect ' * 20} on {number} {'words ' * LONG}" for number in range(3)]
    await asyncio.gather(*(ask(client, prompt, max_tokens=512) for prompt in prompts))
    assert len(llama.slots_of("reflect")) == 3


async def test_long_prompts_have_slots_of_their_own(client: Client, llama: Llama) -> None:
    await ask(client, "long " * LONG, seed=0)
    await asyncio.gather(*(ask(client, f"{number} short", seed=0) for number in range(20)))
    assert llama.slots_of("long") <= {4, 5, 6, 7}
    assert not {body["id_slot"] for body in llama.asked[1:]} & {4, 5, 6, 7}


async def test_a_new_prompt_takes_the_slot_that_was_left_alone_longest(client: Client, llama: Llama) -> None:
    prompts = [f"{name} {name * LONG}" for name in "abcd"]
    for prompt in [*prompts, prompts[0], "e " * LONG]:
        await ask(client, prompt)
    a, b, c, d, again, new = (body["id_slot"] for body in llama.asked)
    assert len({a, b, c, d}) == 4
    assert again == a
    assert new == b


async def test_what_has_a_seed_is_answered_once_and_what_has_none_anew(client: Client, llama: Llama) -> None:
    seeded = await asyncio.gather(*(ask(client, "How many?", seed=1, temperature=0.7) for _ in range(3)))
    assert seeded[0] == seeded[1] == seeded[2]
    assert len(llama.asked) == 1
    await ask(client, "How many?", seed=2, temperature=0.7)
    await asyncio.gather(*(ask(client, "How many?", temperature=0.8) for _ in range(2)))
    await asyncio.gather(*(ask(client, "How many?", temperature=0) for _ in range(2)))
    assert len(llama.asked) == 1 + 1 + 2 + 1


async def test_a_failed_answer_is_passed_on_and_not_remembered(client: Client, llama: Llama) -> None:
    llama.status = 503
    assert (await ask(client, "How many?", seed=1))[0] == 503
    llama.status = 200
    assert (await ask(client, "How many?", seed=1))[0] == 200


@pytest.mark.parametrize("body", ["{", "[]", '{"messages": 3}', '{"messages": [{}]}'])
async def test_what_is_no_request_is_refused(client: Client, llama: Llama, body: str) -> None:
    async with client.post("/v1/chat/completions", data=body) as answer:
        assert answer.status == 400
    assert llama.asked == []


async def test_health_is_passed_on(client: Client) -> None:
    async with client.get("/health") as answer:
        assert await answer.json() == {"status": "ok"}


async def test_a_server_that_is_away_is_told_in_the_answer() -> None:
    router = Router("http://127.0.0.1:9", slots=2)
    async with TestClient(TestServer(router.application())) as client:
        status, told = await ask(client, "How many?", seed=1)
    assert status == 502
    assert told["error"]["message"].endswith("is llama-server up?")
