"""Many coroutines at once: order, room, errors, cancellation."""

import asyncio

import pytest

from gym.errors import AccessDenied, BudgetReached
from gym.tasks import all_of


async def test_results_keep_the_order_of_the_work() -> None:
    first = asyncio.Event()

    async def work(number: int) -> int:
        if number == 0:
            await first.wait()
        first.set()
        return number

    assert await all_of(work(number) for number in range(5)) == [0, 1, 2, 3, 4]
    assert await all_of(work(number) for number in range(0)) == []


async def test_when_one_raises_the_others_still_finish_and_a_real_error_comes_before_a_stop() -> None:
    finished: list[int] = []

    async def work(number: int) -> int:
        if number == 0:
            raise BudgetReached("enough")
        if number == 1:
            raise AccessDenied("no")
        await asyncio.sleep(0)
        finished.append(number)
        return number

    with pytest.raises(AccessDenied):
        await all_of(work(number) for number in range(5))
    assert finished == [2, 3, 4]


async def test_work_is_made_only_when_there_is_room_and_no_more_after_an_error() -> None:
    made: list[int] = []
    running = most = 0
    free = asyncio.Semaphore(2)

    async def room() -> None:
        await free.acquire()

    async def work(number: int) -> int:
        nonlocal running, most
        made.append(number)
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        free.release()
        if number == 6:
            raise AccessDenied("no")
        return number

    with pytest.raises(AccessDenied):
        await all_of((work(number) for number in range(1_000)), room)
    assert most == 2
    assert len(made) < 10


async def test_a_cancelled_wait_cancels_the_work() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    waiting = asyncio.create_task(all_of([work()]))
    await begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert cancelled.is_set()
