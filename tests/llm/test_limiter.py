"""One limit to an endpoint: order, room, rate, pauses, outages. Minutes of waiting pass in virtual time."""

import asyncio
import math
import random
from collections.abc import Callable, Coroutine, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.core.chat import Message, Sampling
from gym.errors import (
    ConnectionFailed,
    EndpointDown,
    Interrupted,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFailed,
    TimedOut,
)
from gym.llm.brake import Brake
from gym.llm.guarded import Guarded
from gym.llm.limiter import Limiter
from gym.llm.pacing import Pace
from gym.llm.scripted import Reply, Scripted
from gym.llm.spent import estimate_prompt
from gym.llm.window import START

ASK = (Message(role="user", content="2 + 2?"),)
LATENCY_S = 0.5
InVirtualTime = Callable[[Coroutine[Any, Any, Any]], Any]


def clock() -> float:
    return asyncio.get_running_loop().time()


def limiter(limit: int | None = None, *, seed: int = 0, **options: Any) -> Limiter:
    return Limiter(limit, clock=clock, random=random.Random(seed).random, **options)


def lognormal(draw: random.Random, spread: float) -> Callable[[], float]:
    """Latencies with mean `LATENCY_S` and coefficient of variation `spread`."""
    variance = math.log(1 + spread**2)
    return lambda: LATENCY_S * draw.lognormvariate(-variance / 2, variance**0.5)


class Crowded:
    """A server that works on `capacity` calls at once and lets the others wait."""

    def __init__(self, capacity: int, latency_s: Callable[[], float]) -> None:
        self.most = self.inside = 0
        self.done_at: list[float] = []
        self._places, self._latency_s = asyncio.Semaphore(capacity), latency_s

    async def __call__(self, messages: Sequence[Message], sampling: Sampling) -> str:
        self.inside += 1
        self.most = max(self.most, self.inside)
        async with self._places:
            await asyncio.sleep(self._latency_s())
        self.inside -= 1
        self.done_at.append(clock())
        return "4"


class Metered:
    """A server that takes `rate` calls a second, `burst` at once, and answers 429 to the others after 20 ms."""

    def __init__(self, rate: float, burst: int, latency_s: Callable[[], float]) -> None:
        self.refused = 0
        self._rate, self._burst, self._latency_s = rate, float(burst), latency_s
        self._credit, self._at = float(burst), 0.0

    async def __call__(self, messages: Sequence[Message], sampling: Sampling) -> Reply:
        self._credit = min(self._burst, self._credit + self._rate * (clock() - self._at))
        self._at = clock()
        if self._credit < 1:
            await asyncio.sleep(0.02)
            self.refused += 1
            return RateLimited("429", status=429)
        self._credit -= 1
        await asyncio.sleep(self._latency_s())
        return "4"


async def ask_all(model: Guarded, calls: int, brake: Brake | None = None) -> list[object]:
    """What became of `calls` calls made at once: their completions and errors."""
    asked = model.over(model.inner, brake or Brake())
    return await asyncio.gather(
        *(asked.complete(ASK, Sampling(sample=n)) for n in range(calls)), return_exceptions=True
    )


def errors(outcomes: Sequence[object]) -> list[BaseException]:
    return [outcome for outcome in outcomes if isinstance(outcome, BaseException)]


@pytest.mark.parametrize(("capacity", "spread"), [(1, 0.0), (4, 0.5), (20, 0.5), (64, 0.5), (64, 0.0), (200, 0.5)])
def test_auto_finds_the_best_throughput_without_crowding_the_server(
    in_virtual_time: InVirtualTime, capacity: int, spread: float
) -> None:
    async def scenario() -> None:
        server = Crowded(capacity, lognormal(random.Random(0), spread))
        limit = limiter()
        calls = max(2000, 30 * capacity)
        assert not errors(await ask_all(Guarded(Scripted(server), limit), calls))
        first, last = server.done_at[calls // 2], server.done_at[int(0.95 * calls)]
        rate = (int(0.95 * calls) - calls // 2) / (last - first)
        assert rate >= 0.9 * capacity / LATENCY_S
        assert server.most <= max(2 * START, 4 * capacity)
        assert limit.limit <= max(4, 2.5 * capacity)

    in_virtual_time(scenario())


def test_auto_does_not_grow_when_the_limit_holds_nobody_back(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        model, limit = Scripted(Crowded(1000, lambda: LATENCY_S)), limiter()
        guarded = Guarded(model, limit)

        async def worker() -> None:
            for _ in range(200):
                await guarded.complete(ASK, Sampling())

        await asyncio.gather(*(worker() for _ in range(8)))
        assert limit.limit == START

    in_virtual_time(scenario())


@pytest.mark.parametrize(("limit", "share"), [(None, 0.05), (64, 0.15)])
def test_a_server_that_takes_ten_calls_a_second_refuses_few_and_nothing_is_lost(
    in_virtual_time: InVirtualTime, limit: int | None, share: float
) -> None:
    async def scenario() -> None:
        server = Metered(10, 10, lognormal(random.Random(1), 0.3))
        outcomes = await ask_all(Guarded(Scripted(server), limiter(limit), random=random.Random(2).random), 3000)
        assert not errors(outcomes)
        assert 0 < server.refused <= share * 3000
        assert clock() <= 3000 / 10 * 1.5

    in_virtual_time(scenario())


def test_a_fixed_number_shrinks_under_a_storm_of_429_and_comes_back(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        async def server(messages: Sequence[Message], sampling: Sampling) -> Reply:
            if 10 <= clock() < 20:
                return RateLimited("429", status=429)
            await asyncio.sleep(LATENCY_S)
            return "4"

        limit, seen = limiter(64, patience_s=600), list[tuple[float, int]]()

        async def look() -> None:
            while True:
                seen.append((clock(), limit.limit))
                await asyncio.sleep(0.1)

        looking = asyncio.create_task(look())
        assert not errors(await ask_all(Guarded(Scripted(server), limit), 8000))
        looking.cancel()
        assert {width for at, width in seen if at < 10} == {64}
        assert min(width for _, width in seen) <= 16
        assert seen[-1][1] == 64

    in_virtual_time(scenario())


def test_one_call_in_a_hundred_that_hangs_is_no_overload(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        widths: set[int] = set()

        async def server(messages: Sequence[Message], sampling: Sampling) -> Reply:
            hangs = sampling.sample % 100 == 0
            await asyncio.sleep(10 if hangs else LATENCY_S)
            if not hangs:
                widths.add(limit.limit)
            return TimedOut("no answer") if hangs else "4"

        limit = limiter(64, patience_s=600)
        outcomes = await ask_all(Guarded(Scripted(server), limit, max_retries=1), 2000)
        assert len(errors(outcomes)) == 20
        assert widths == {64}

    in_virtual_time(scenario())


def test_many_timeouts_shrink_the_limit(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        async def server(messages: Sequence[Message], sampling: Sampling) -> Reply:
            await asyncio.sleep(LATENCY_S)
            return TimedOut("no answer") if sampling.sample % 3 == 0 else "4"

        limit = limiter(64)
        await ask_all(Guarded(Scripted(server), limit, max_retries=0), 200)
        assert limit.limit < 64

    in_virtual_time(scenario())


def test_calls_go_in_the_order_they_came(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        order: list[int] = []

        async def server(messages: Sequence[Message], sampling: Sampling) -> str:
            order.append(sampling.sample)
            await asyncio.sleep(LATENCY_S)
            return "4"

        await ask_all(Guarded(Scripted(server), limiter(3)), 50)
        assert order == list(range(50))

    in_virtual_time(scenario())


def test_a_retry_after_pauses_everybody_and_sixty_four_do_not_wake_together(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        started: list[float] = []
        said: list[str] = []

        async def server(messages: Sequence[Message], sampling: Sampling) -> Reply:
            if clock() < 7:
                return RateLimited("429", status=429, retry_after_s=7)
            started.append(clock())
            await asyncio.sleep(LATENCY_S)
            return "4"

        assert not errors(await ask_all(Guarded(Scripted(server), limiter(64, say=said.append)), 80))
        assert min(started) >= 7
        assert len(set(started)) == 80
        assert max(list(started).count(at) for at in started) == 1
        assert sum(at < 7.05 for at in started) < 16
        assert [line for line in said if "asks to wait 7 s" in line] == [said[-1]]

    in_virtual_time(scenario())


def test_a_429_uses_up_no_retry_while_others_are_served_and_does_when_nobody_is(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        tries = 0

        async def server(messages: Sequence[Message], sampling: Sampling) -> Reply:
            nonlocal tries
            if sampling.sample:
                await asyncio.sleep(0.05)
                return "4"
            tries += 1
            return RateLimited("429", status=429) if tries <= 9 else "4"

        guarded = Guarded(Scripted(server), limiter(1), max_retries=1)
        assert not errors(await ask_all(guarded, 2000))
        assert tries == 10
        tries = 0
        with pytest.raises(RateLimited):
            await guarded.complete(ASK, Sampling())
        assert tries == 2

    in_virtual_time(scenario())


def test_a_call_that_is_always_refused_fails_at_last_though_others_are_served(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        async def server(messages: Sequence[Message], sampling: Sampling) -> Reply:
            if sampling.sample == 0:
                return RateLimited("429: too large", status=429)
            await asyncio.sleep(0.05)
            return "4"

        outcomes = await ask_all(Guarded(Scripted(server), limiter(2)), 5000)
        assert [type(error) for error in errors(outcomes)] == [RateLimited]

    in_virtual_time(scenario())


class Provider:
    """Requests and tokens of a minute as OpenAI counts them: refilled all the time, told in every answer."""

    def __init__(self, pace: Pace, requests: int, tokens: int) -> None:
        self.refused = 0
        self._pace, self._limits = pace, (float(requests), float(tokens))
        self._left, self._at = list(self._limits), 0.0

    async def __call__(self, messages: Sequence[Message], sampling: Sampling) -> Reply:
        ticket, cost = self._pace.sent(), (1.0, float(estimate_prompt(messages) + (sampling.max_tokens or 0)))
        minutes, self._at = (clock() - self._at) / 60, clock()
        self._left = [min(most, left + most * minutes) for left, most in zip(self._left, self._limits, strict=True)]
        fits = all(left >= min(need, most) for left, need, most in zip(self._left, cost, self._limits, strict=True))
        self._left = [left - need * fits for left, need in zip(self._left, cost, strict=True)]
        headers = {}
        for kind, left, most in zip(("requests", "tokens"), self._left, self._limits, strict=True):
            headers[f"x-ratelimit-limit-{kind}"] = f"{most:.0f}"
            headers[f"x-ratelimit-remaining-{kind}"] = f"{max(0, int(left))}"
            headers[f"x-ratelimit-reset-{kind}"] = f"{(most - left) / most * 60:.3f}s"
        self.refused += not fits
        await asyncio.sleep(LATENCY_S)
        self._pace.answered(ticket, headers)
        return "4" if fits else RateLimited("429", status=429)


@pytest.mark.parametrize(("requests", "tokens"), [(120, 10_000_000), (100_000, 24_000), (300, 60_000)])
def test_headers_pace_the_calls_so_that_none_is_refused(
    in_virtual_time: InVirtualTime, requests: int, tokens: int
) -> None:
    async def scenario() -> None:
        pace = Pace(clock, clock)
        server = Provider(pace, requests, tokens)
        model = Guarded(Scripted(server), limiter(16, pace=pace))
        sampling = Sampling(max_tokens=192)
        calls = 4 * min(requests, tokens // 197)
        assert not errors(await asyncio.gather(*(model.complete(ASK, sampling) for _ in range(calls))))
        assert server.refused == 0
        assert clock() <= 60 * 3 * 1.1 + 2  # the first minute's credit is there at once

    in_virtual_time(scenario())


def test_a_call_above_the_whole_token_limit_does_not_wait_for_ever(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        pace = Pace(clock, clock)
        server = Provider(pace, 1000, 1000)
        model = Guarded(Scripted(server), limiter(4, pace=pace))
        await model.complete(ASK, Sampling(max_tokens=100))
        await model.complete(ASK, Sampling(max_tokens=50_000))
        assert server.refused == 0
        assert clock() < 60

    in_virtual_time(scenario())


class Outage:
    """A server that is gone between two moments."""

    def __init__(self, since: float, until: float) -> None:
        self.since, self.until = since, until
        self.tried_at: list[float] = []

    async def __call__(self, messages: Sequence[Message], sampling: Sampling) -> Reply:
        self.tried_at.append(clock())
        await asyncio.sleep(LATENCY_S)
        return ConnectionFailed("refused") if self.since <= clock() < self.until else "4"


def test_an_outage_is_waited_for_with_one_probe_at_a_time_and_no_call_is_lost(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        said: list[str] = []
        server = Outage(5, 300)
        limit = limiter(16, where="http://x/v1", patience_s=600, say=said.append)
        assert not errors(await ask_all(Guarded(Scripted(server), limit, max_retries=1), 600))
        probes = [at for at in server.tried_at if 6 < at < 300]
        waits = [round(after - before - LATENCY_S, 2) for before, after in pairwise(probes[1:])]
        assert waits == [20, 40, 60, 60, 60]
        assert said[0] == "http://x/v1 is not answering (refused): paused, trying again in 5 s"
        assert said[-1] == "http://x/v1 answers again"

    in_virtual_time(scenario())


def test_an_endpoint_that_stays_away_ends_the_run_with_one_fatal_error(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        brake, server = Brake(), Outage(0, math.inf)
        limit = limiter(16, where="http://x/v1", patience_s=60)
        outcomes = await ask_all(Guarded(Scripted(server), limit), 100, brake)
        assert {type(outcome) for outcome in outcomes} == {EndpointDown}
        assert isinstance(brake.reason, EndpointDown)
        assert brake.reason.exit_code == 6
        assert "has not answered for 60 s (refused): stopped" in str(brake.reason)
        assert "the same command continues" in str(brake.reason)
        assert 60 <= clock() <= 62
        assert len(server.tried_at) <= 16 + 7 + 5  # in flight, sent until eight had failed, probes
        with pytest.raises(EndpointDown):
            await ask_one(limit)

    in_virtual_time(scenario())


async def ask_one(limit: Limiter) -> None:
    async with limit.slot():
        pass


def test_a_server_that_asks_for_more_than_the_patience_ends_the_run(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        async def server(messages: Sequence[Message], sampling: Sampling) -> Reply:
            await asyncio.sleep(LATENCY_S)
            return "4" if clock() < 2 else RateLimited("429", status=429, retry_after_s=3600)

        brake, limit = Brake(), limiter(4, patience_s=600)
        await ask_all(Guarded(Scripted(server), limit), 100, brake)
        assert isinstance(brake.reason, EndpointDown)
        assert "asks to wait 3,600 s" in str(brake.reason)
        assert clock() < 10

    in_virtual_time(scenario())


def test_prompts_that_always_fail_do_not_look_like_an_outage(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        async def server(messages: Sequence[Message], sampling: Sampling) -> Reply:
            await asyncio.sleep(LATENCY_S)
            return ServerFailed("500", status=500) if sampling.sample % 20 == 0 else "4"

        said: list[str] = []
        outcomes = await ask_all(Guarded(Scripted(server), limiter(8, patience_s=60, say=said.append)), 400)
        assert len(errors(outcomes)) == 20
        assert said == []

    in_virtual_time(scenario())


def test_without_patience_each_call_fails_by_itself(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        outcomes = await ask_all(Guarded(Scripted(Outage(0, math.inf)), limiter(16), max_retries=0), 100)
        assert {type(outcome) for outcome in outcomes} == {ConnectionFailed}
        assert clock() < 5

    in_virtual_time(scenario())


def test_a_probe_that_is_cancelled_lets_the_next_one_try(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        limit = limiter(1, patience_s=60)
        for _ in range(8):
            with pytest.raises(ConnectionFailed):
                async with limit.slot():
                    raise ConnectionFailed("refused")
        assert limit.down
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30), limit.slot():
                await asyncio.Event().wait()
        async with limit.slot():
            pass
        assert not limit.down
        assert clock() == 30

    in_virtual_time(scenario())


@pytest.mark.parametrize("held_by", ["slot", "pause", "rate", "outage"])
def test_a_pulled_brake_ends_every_wait(in_virtual_time: InVirtualTime, held_by: str) -> None:
    async def scenario() -> None:
        pace = Pace(clock, clock)
        limit, brake, go = limiter(1, patience_s=600, pace=pace), Brake(), asyncio.Event()
        if held_by == "pause":
            with pytest.raises(RateLimited):
                async with limit.slot():
                    raise RateLimited("429", status=429, retry_after_s=300)
        if held_by == "rate":
            pace.answered(pace.sent(), {"x-ratelimit-limit-requests": "1", "x-ratelimit-remaining-requests": "0"})
        if held_by == "outage":
            for _ in range(8):
                with pytest.raises(ConnectionFailed):
                    async with limit.slot():
                        raise ConnectionFailed("refused")

        async def hold() -> str:
            async with limit.slot(brake=brake):
                await go.wait()
            return "held"

        asked = [asyncio.create_task(hold()) for _ in range(20)]
        await asyncio.sleep(1)
        brake.pull(Interrupted("Ctrl-C"))
        await asyncio.sleep(0)
        go.set()
        ends = await asyncio.gather(*asked, return_exceptions=True)
        assert ends.count("held") == (1 if held_by == "slot" else 0)
        assert {type(end) for end in ends if end != "held"} == {Interrupted}
        assert (limit.in_flight, limit.waiting, clock()) == (0, 0, 1)
        with pytest.raises(Interrupted):
            await hold()

    in_virtual_time(scenario())


ENDS: list[ProviderError | None] = [None, None, RequestRejected("400"), ServerFailed("500", status=500)]


@given(
    limit=st.integers(1, 4),
    steps=st.lists(
        st.tuples(st.sampled_from(["ask", "ask", "cancel", "finish", "turn"]), st.integers(0, 30)), max_size=60
    ),
)
def test_slots_are_never_leaked_nor_given_twice(limit: int, steps: list[tuple[str, int]]) -> None:
    async def scenario() -> None:
        guard, asked, running = limiter(limit), list[asyncio.Task[None]](), list[asyncio.Future[None]]()

        async def call() -> None:
            async with guard.slot():
                done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                running.append(done)
                await done

        for step, number in steps:
            if step == "ask":
                asked.append(asyncio.create_task(call()))
            elif step == "cancel" and asked:
                asked[number % len(asked)].cancel()
            elif step == "finish" and (open_ones := [done for done in running if not done.done()]):
                end(open_ones[number % len(open_ones)], ENDS[number % len(ENDS)])
            else:
                await asyncio.sleep(0)
            assert 0 <= guard.in_flight <= limit
            assert guard.waiting >= 0
        while not all(task.done() for task in asked):
            for done in running:
                if not done.done():
                    end(done, None)
            await asyncio.sleep(0)
        await asyncio.gather(*asked, return_exceptions=True)
        assert (guard.in_flight, guard.waiting) == (0, 0)
        await ask_one(guard)

    asyncio.run(scenario())


def end(done: "asyncio.Future[None]", error: ProviderError | None) -> None:
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)


def test_the_mean_of_the_latencies_in_these_tests_is_what_it_says() -> None:
    draw = lognormal(random.Random(0), 0.5)
    assert fmean(draw() for _ in range(20_000)) == pytest.approx(LATENCY_S, rel=0.02)
