"""A rollout's time limit counts its work; waiting for a slot is none."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from gym.errors import RateLimited
from gym.llm.limiter import Limiter
from gym.llm.stopwatch import working_time

InVirtualTime = Callable[[Coroutine[Any, Any, Any]], Any]


def clock() -> float:
    return asyncio.get_running_loop().time()


async def call(limiter: Limiter, seconds: float) -> None:
    async with limiter.slot():
        await asyncio.sleep(seconds)


async def within(seconds: float, *work: Coroutine[Any, Any, None]) -> None:
    """All of the work at once, in the given working time."""
    async with working_time(seconds), asyncio.TaskGroup() as group:
        for each in work:
            group.create_task(each)


async def in_turn(*work: Coroutine[Any, Any, None]) -> None:
    for each in work:
        await each


def test_queueing_for_a_slot_is_not_counted(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        limiter = Limiter(1, clock=clock)

        async def rollout() -> float:
            async with working_time(3):
                await call(limiter, 2)
            return clock()

        assert await asyncio.gather(*(rollout() for _ in range(10))) == [2.0 * n for n in range(1, 11)]

    in_virtual_time(scenario())


def test_a_pause_of_the_endpoint_is_not_counted(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        limiter = Limiter(1, clock=clock, random=lambda: 0.0)
        with pytest.raises(RateLimited):
            async with limiter.slot():
                raise RateLimited("429", status=429, retry_after_s=300)
        async with working_time(3):
            await call(limiter, 2)
        assert clock() == 302

    in_virtual_time(scenario())


def test_the_call_itself_work_between_calls_and_a_backoff_are_counted(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        limiter = Limiter(1, clock=clock)
        with pytest.raises(TimeoutError):
            await within(3, call(limiter, 5))
        assert (clock(), limiter.in_flight) == (3, 0)
        blocker = asyncio.create_task(call(limiter, 10))
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            await within(3, in_turn(asyncio.sleep(1), call(limiter, 1), asyncio.sleep(5)))  # the call waits until 13
        assert clock() == 15
        await blocker

    in_virtual_time(scenario())


def test_with_several_calls_at_once_the_clock_stands_only_while_none_is_running(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        limiter = Limiter(1, clock=clock)
        await within(7, call(limiter, 3), call(limiter, 3))
        assert clock() == 6
        with pytest.raises(TimeoutError):
            await within(5, call(limiter, 3), call(limiter, 3))
        assert clock() == 11
        other = asyncio.create_task(call(limiter, 100))
        await asyncio.sleep(0)
        await within(7, call(limiter, 3), call(limiter, 3))
        assert clock() == 11 + 100 + 6
        await other

    in_virtual_time(scenario())


def test_an_outer_clock_stands_with_the_inner_one(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        limiter = Limiter(1, clock=clock)
        other = asyncio.create_task(call(limiter, 50))
        await asyncio.sleep(0)
        async with working_time(5), working_time(4):
            await call(limiter, 3)
        assert clock() == 53
        await other

    in_virtual_time(scenario())


def test_a_cancelled_wait_lets_the_clock_run_on(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        limiter = Limiter(1, clock=clock)
        other = asyncio.create_task(call(limiter, 50))
        await asyncio.sleep(0)

        async def rollout() -> None:
            async with working_time(5):
                waiting = asyncio.create_task(call(limiter, 1))
                await asyncio.sleep(10)
                waiting.cancel()
                await asyncio.sleep(20)

        with pytest.raises(TimeoutError):
            await rollout()
        assert clock() == 15
        await other

    in_virtual_time(scenario())


def test_calls_that_outlive_the_rollout_change_nothing(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        limiter = Limiter(1, clock=clock)
        other = asyncio.create_task(call(limiter, 50))
        await asyncio.sleep(0)
        async with working_time(5):
            late = asyncio.create_task(call(limiter, 1))
            await asyncio.sleep(1)
        await asyncio.gather(other, late)
        assert clock() == 51

    in_virtual_time(scenario())


def test_errors_and_results_pass_through() -> None:
    async def scenario() -> None:
        with pytest.raises(ZeroDivisionError):
            async with working_time(5):
                raise ZeroDivisionError
        async with working_time(5):
            pass

    asyncio.run(scenario())
