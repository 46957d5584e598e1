"""Requests to one host keep their distance; other hosts do not wait for it."""

import asyncio

from gym.web.pace import LONGEST_PAUSE_S, Pace


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


async def turns(pace: Pace, time: Time, *hosts: str) -> list[float]:
    found = []
    for host in hosts:
        await pace.turn(host)
        found.append(round(time.now - 100, 3))
    return found


async def test_a_host_is_asked_once_a_while() -> None:
    time = Time()
    pace = Pace(2.0, clock=time.clock, sleep=time.sleep)
    assert await turns(pace, time, "a", "a", "b", "a") == [0, 2, 2, 4]


async def test_a_busy_server_is_left_alone_for_as_long_as_it_says() -> None:
    time = Time()
    pace = Pace(1.0, clock=time.clock, sleep=time.sleep)
    await pace.turn("a")
    pace.pause("a", 7.5)
    assert await turns(pace, time, "a", "a", "b") == [7.5, 8.5, 8.5]
    pace.pause("b", 1e9)
    assert (await turns(pace, time, "b"))[0] == 8.5 + LONGEST_PAUSE_S


async def test_who_has_a_turn_already_keeps_away_from_a_busy_server_too() -> None:
    time, wakes = Time(), dict[float, asyncio.Event]()

    async def sleep(seconds: float) -> None:
        await wakes.setdefault(time.now + seconds, asyncio.Event()).wait()

    pace = Pace(1.0, clock=time.clock, sleep=sleep)
    waiting = [asyncio.create_task(pace.turn("a")) for _ in range(3)]
    await asyncio.sleep(0)
    pace.pause("a", 7.5)
    done = []
    for now in (101.0, 102.0, 107.5, 108.5):
        time.now = now
        wakes[now].set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        done.append(sum(task.done() for task in waiting))
    assert done == [1, 1, 2, 3]


async def test_a_slower_pace_that_a_site_asks_for_is_kept() -> None:
    time = Time()
    pace = Pace(1.0, clock=time.clock, sleep=time.sleep)
    pace.slow_down("a", 5.0)
    assert await turns(pace, time, "a", "a") == [0, 5]
