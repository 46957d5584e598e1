"""The mock server keeps its promises: without them the benches would prove nothing."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from bench.ledger import Ledger
from bench.plan import FAULTS, Fault, Plan
from bench.problems import answer, question
from bench.script import experience, read
from bench.server import Desk, Floor, Later, address, listen
from gym.core.admission import Admission
from gym.core.chat import Message, Sampling
from gym.core.experience import Library, parse_operation
from gym.core.problem import Problem, Trajectory
from gym.embedding import similarity
from gym.embedding.hashing import HashingEmbedder
from gym.errors import ConnectionFailed, RateLimited, ServerFailed, TimedOut
from gym.llm.openai_compatible import OpenAICompatible
from gym.train.grpo.rewards.exact import REWARD
from gym.train.grpo.rollout_manager import rollout_seed
from gym.train.grpo.stages.parse import parse_operations
from gym.train.grpo.stages.prompts import CONSOLIDATE, CRITIQUE, SUMMARIZE

AT_ONCE = Plan(latency_s=0.0)


def ask(number: int = 3, seed: int = 1) -> tuple[tuple[Message, ...], Sampling]:
    return (Message(role="user", content=question(number)),), Sampling(temperature=0.7, seed=seed)


def body(number: int = 3, seed: int = 1, system: str = "") -> bytes:
    messages = [{"role": "user", "content": question(number)}]
    opening = [{"role": "system", "content": system}] if system else []
    return json.dumps({"model": "m", "messages": opening + messages, "seed": seed}).encode()


def posted(content: bytes) -> bytes:
    return b"POST /v1/chat/completions HTTP/1.1\r\ncontent-LENGTH: %d\r\n\r\n%s" % (len(content), content)


class Running:
    """A server on this loop, a model at it, and plain HTTP beside it."""

    def __init__(self, floor: Floor, url: str, session: aiohttp.ClientSession) -> None:
        self.floor, self.url, self.session = floor, url, session
        self.model = OpenAICompatible("bench-model", f"{url}/v1", timeout_s=5.0)

    @property
    def ledger(self) -> Ledger:
        return self.floor.desk.ledger

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", int(self.url.rpartition(":")[2]))

    def post(self, content: bytes) -> Any:
        return self.session.post(f"{self.url}/v1/chat/completions", data=content)


@asynccontextmanager
async def running(plan: Plan, later: Later | None = None) -> AsyncIterator[Running]:
    floor = Floor(plan, later or asyncio.get_running_loop().call_later)
    server = await listen(floor)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        run = Running(floor, address(server), session)
        yield run
        await run.model.aclose()
    server.close()


def plan_with(kind: Fault) -> Plan:
    return Plan(latency_s=0.0, faults={kind: 1.0})


async def test_a_reply_is_a_whole_completion_with_cached_tokens() -> None:
    async with running(AT_ONCE) as run:
        completion = await run.model.complete(*ask())
    assert completion.usage.known
    assert completion.usage.cached == 48
    assert completion.model == "bench-model"
    assert await _reward(3, completion.text) in (0.0, 1.0)


async def test_requests_follow_each_other_on_one_connection() -> None:
    async with running(AT_ONCE) as run:
        reader, writer = await run.connect()
        for seed in range(3):
            writer.write(posted(body(seed=seed)))
            assert await _status(reader) == 200
        writer.close()
        await writer.wait_closed()
    assert run.ledger.answered == 3


async def test_two_requests_sent_together_are_answered_one_after_the_other() -> None:
    async with running(AT_ONCE) as run:
        reader, writer = await run.connect()
        writer.write(posted(body(seed=1)) + posted(body(seed=2)))
        assert [await _status(reader), await _status(reader)] == [200, 200]
        writer.close()
        await writer.wait_closed()
    assert run.ledger.most_in_flight == 1


async def test_a_request_in_small_pieces_is_one_request() -> None:
    async with running(AT_ONCE) as run:
        reader, writer = await run.connect()
        whole = posted(body())
        for start in range(0, len(whole), 20):
            writer.write(whole[start : start + 20])
            await writer.drain()
        assert await _status(reader) == 200
        writer.close()
        await writer.wait_closed()
    assert run.ledger.answered == 1


async def test_an_answer_waits_for_the_latency_and_no_longer() -> None:
    delays: list[float] = []

    def later(delay: float, callback: Callable[..., None], /, *args: Any) -> asyncio.TimerHandle:
        delays.append(delay)
        return asyncio.get_running_loop().call_later(0.0, callback, *args)

    async with running(Plan(latency_s=0.5), later) as run:
        await run.model.complete(*ask())
    assert delays == [0.5]


@pytest.mark.parametrize(
    ("kind", "error"),
    [("429", RateLimited), ("500", ServerFailed), ("reset", ConnectionFailed), ("truncated", ServerFailed)],
)
async def test_every_fault_reaches_the_client_as_what_it_is(kind: Fault, error: type[Exception]) -> None:
    async with running(plan_with(kind)) as run:
        with pytest.raises(error) as raised:
            await run.model.complete(*ask())
        assert run.ledger.faults == {kind: 1}
        assert (run.ledger.in_flight, run.ledger.answered) == (0, 0)
    assert getattr(raised.value, "retry_after_s", None) == (1.0 if kind == "429" else None)


async def test_a_hang_ends_with_its_client_and_is_booked_as_one() -> None:
    async with running(plan_with("hang")) as run:
        impatient = OpenAICompatible("bench-model", f"{run.url}/v1", timeout_s=0.01)
        with pytest.raises(TimedOut):
            await impatient.complete(*ask())
        await impatient.aclose()
        await _until(lambda: run.ledger.in_flight == 0)
    assert run.ledger.faults == {"hang": 1}


def test_faults_come_in_their_shares_by_identity_and_attempt_alone() -> None:
    plan = Plan(faults={"429": 0.1, "500": 0.1, "hang": 0.05, "reset": 0.1, "truncated": 0.1})
    given = [plan.fault(f"solve/{n}/7", attempt, n) for n in range(4000) for attempt in (1, 2)]
    for kind in FAULTS:
        assert given.count(kind) / len(given) == pytest.approx(plan.faults[kind], abs=0.015)
    assert given == [plan.fault(f"solve/{n}/7", attempt, n) for n in range(4000) for attempt in (1, 2)]
    assert plan.fault("solve/1/7", 1, 1) is not None or any(plan.fault("solve/1/7", n, 1) for n in range(2, 40))


async def test_a_refused_problem_gets_500_at_every_attempt_and_others_never() -> None:
    plan = Plan(latency_s=0.0, always_500=0.02)
    refused = [n for n in range(100) if plan.refuses(n)]
    assert 1 <= len(refused) <= 4
    async with running(plan) as run:
        for seed in (1, 1, 2):
            with pytest.raises(ServerFailed):
                await run.model.complete(*ask(refused[0], seed))
        await run.model.complete(*ask(refused[0] + 1))
        async with run.post(body(refused[0], system=SUMMARIZE)) as response:
            assert response.status == 200


async def test_no_more_than_the_capacity_is_worked_on_and_the_rest_comes_in_order() -> None:
    started: list[Callable[[], None]] = []

    def later(delay: float, callback: Callable[..., None], /, *args: Any) -> asyncio.TimerHandle:
        started.append(lambda: callback(*args))
        return asyncio.get_running_loop().call_later(3600.0, str)

    async with running(Plan(capacity=2), later) as run:
        calls = [asyncio.create_task(run.model.complete(*ask(seed=seed))) for seed in range(5)]
        await _until(lambda: run.ledger.in_flight == 5)
        assert len(started) == 2
        for place in range(5):
            started[place]()
            assert len(started) == min(place + 3, 5)
        await asyncio.gather(*calls)
    assert run.ledger.answered == 5


async def test_a_queued_request_whose_client_leaves_gives_up_its_place() -> None:
    started: list[Callable[[], None]] = []

    def later(delay: float, callback: Callable[..., None], /, *args: Any) -> asyncio.TimerHandle:
        started.append(lambda: callback(*args))
        return asyncio.get_running_loop().call_later(3600.0, str)

    async with running(Plan(capacity=1), later) as run:
        first = asyncio.create_task(run.model.complete(*ask(seed=0)))
        await _until(lambda: run.ledger.in_flight == 1)
        second = asyncio.create_task(run.model.complete(*ask(seed=1)))
        await _until(lambda: run.ledger.in_flight == 2)
        second.cancel()
        await _until(lambda: run.ledger.lost == 1)
        started[0]()
        await first
        assert len(started) == 1


def test_beyond_the_rate_a_request_is_refused_until_time_has_passed() -> None:
    now = [0.0]
    desk = Desk(Plan(rate=2.0, rate_headers=True), lambda *_: _no_timer(), lambda: now[0])
    sent: list[tuple[int, str]] = []
    for at in (0.0, 0.0, 0.0, 0.1, 0.6, 0.6):
        now[0] = at
        desk.take(_Recorder(sent), body())  # type: ignore[arg-type]
    assert [status for status, _ in sent] == [429, 429, 429]
    assert desk.ledger.limited == 3
    assert "Retry-After: 1" in sent[0][1]
    assert "x-ratelimit-limit-requests: 120" in sent[0][1]


async def test_the_ledger_over_http_accounts_for_every_request() -> None:
    plan = Plan(latency_s=0.0, faults={"500": 0.3, "429": 0.3})
    async with running(plan) as run:
        for number in range(20):
            async with run.post(body(number)) as response:
                await response.read()
        async with run.session.get(f"{run.url}/ledger?calls") as response:
            book = await response.json()
    assert book["received"] == book["answered"] + sum(book["faults"].values()) == 20
    assert book["identities"] == len(book["calls"]) == 20
    assert book["calls"]["solve/3/1"] == [
        1,
        *([1, []] if plan.fault("solve/3/1", 1, 3) is None else [0, [plan.fault("solve/3/1", 1, 3)]]),
    ]
    assert book["first_at"] <= book["last_at"]


async def test_after_the_halt_nothing_is_answered_and_it_counts_as_lost_not_as_a_fault() -> None:
    async with running(Plan(latency_s=0.0, halt_after=1)) as run:
        await run.model.complete(*ask())
        waiting = asyncio.create_task(run.model.complete(*ask(seed=2)))
        await _until(lambda: run.ledger.in_flight == 1)
        waiting.cancel()
        await _until(lambda: run.ledger.in_flight == 0)
    assert (run.ledger.lost, run.ledger.faults) == (1, {})


async def test_a_new_plan_has_an_empty_ledger_at_the_same_address() -> None:
    async with running(AT_ONCE) as run:
        await run.model.complete(*ask())
        async with run.session.post(f"{run.url}/plan", data=plan_with("500").to_json()) as response:
            assert response.status == 200
        assert run.ledger.received == 0
        with pytest.raises(ServerFailed):
            await run.model.complete(*ask())


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"messages": []}', b"nonsense"])
async def test_what_is_no_request_gets_400_and_no_entry(content: bytes) -> None:
    async with running(AT_ONCE) as run, run.post(content) as response:
        assert response.status == 400
        assert run.ledger.received == 0


async def test_its_models_are_listed_and_other_pages_are_not_there() -> None:
    async with running(AT_ONCE) as run:
        assert await run.model.models() == ["bench-model"]
        async with run.session.get(f"{run.url}/v1/other") as response:
            assert response.status == 404


async def test_answers_are_right_as_their_seed_says_and_groups_of_five_mostly_mixed() -> None:
    plan, mixed = Plan(), 0
    for number in range(100):
        rewards = []
        for seed in range(5):
            draw = rollout_seed(0, 0, f"p{number}", seed)
            rewards.append(await _reward(number, read(plan, body(number, draw)).text))
            assert rewards[-1] == plan.is_right(draw)
        mixed += 0.0 < sum(rewards) < 5.0
    assert 80 <= mixed <= 98


def test_different_seeds_give_different_texts_so_that_no_two_summaries_are_one_request() -> None:
    texts = {read(Plan(), body(3, seed)).text for seed in range(50)}
    assert len(texts) == 50


@pytest.mark.parametrize(("reflector", "count"), [("none", 0), ("few", 9), ("many", 100)])
def test_critiques_propose_as_often_as_the_script_says(reflector: Any, count: int) -> None:
    plan, system = Plan(reflector=reflector), CRITIQUE.render(max_operations="3")
    replies = [parse_operations(read(plan, body(n, system=system)).text) for n in range(100)]
    assert all(reply is not None for reply in replies)
    assert sum(len(reply or ()) for reply in replies) == count


def test_summaries_and_consolidations_are_what_the_stages_read() -> None:
    assert read(Plan(), body(system=SUMMARIZE)).text.startswith("1. ")
    assert parse_operations(read(Plan(), body(system=CONSOLIDATE.render(conflicts=""))).text) == []


def test_the_proposed_experiences_pass_the_gate() -> None:
    gate = Admission(similarity=similarity(HashingEmbedder()), max_size=1000, token_budget=100_000)
    proposals = [parse_operation({"option": "add", "experience": experience(number)}) for number in range(100)]
    applied = Library().apply(proposals, gate)
    assert len(applied.library) >= 90


class _Recorder:
    """A connection that only notes what is sent."""

    def __init__(self, sent: list[tuple[int, str]]) -> None:
        self._sent = sent

    def send(self, status: int, body: bytes, headers: str = "") -> None:
        self._sent.append((status, headers))


def _no_timer() -> asyncio.TimerHandle:
    return None  # type: ignore[return-value]


async def _status(reader: asyncio.StreamReader) -> int:
    """Of the next reply, which is read whole."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    await reader.readexactly(int(head.partition(b"content-length: ")[2].split()[0]))
    return int(head.split()[1])


async def _reward(number: int, text: str) -> float:
    problem = Problem(id="p", query=question(number), ground_truth=answer(number))
    (verdict,) = await REWARD(problem, [Trajectory(messages=(), output=text)])
    return verdict.reward  # type: ignore[union-attr]


async def _until(reached: Callable[[], bool]) -> None:
    """Let the loop turn until it is so; the test's own time limit ends a wait in vain."""
    while not reached():  # noqa: ASYNC110 - what is waited for happens in the protocol's callbacks
        await asyncio.sleep(0)
