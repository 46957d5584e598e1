"""A second copy of a straggler: the first answer is used, both copies are in the ledger (FAULTS P5)."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from gym.core.chat import Message, Sampling
from gym.errors import ConnectionFailed, RequestRejected, ServerFailed
from gym.llm.brake import Brake
from gym.llm.call_log import CallLog
from gym.llm.guarded import Guarded
from gym.llm.limiter import Limiter
from gym.llm.meter import Meter
from gym.llm.recorded import Recorded
from gym.llm.scripted import Reply, Scripted

ASK = (Message(role="user", content="2 + 2?"),)
InVirtualTime = Callable[[Coroutine[Any, Any, Any]], Any]


def clock() -> float:
    return asyncio.get_running_loop().time()


class Copies:
    """Answers of one second, but the copies of sample 99 are scripted: seconds and reply for each."""

    def __init__(self, *plan: tuple[float, Reply]) -> None:
        self.sent_at: list[float] = []
        self._plan = iter(plan)

    async def __call__(self, messages: Sequence[Message], sampling: Sampling) -> Reply:
        if sampling.sample != 99:
            await asyncio.sleep(1)
            return "4"
        self.sent_at.append(clock())
        seconds, reply = next(self._plan)
        await asyncio.sleep(seconds)
        return reply


async def warmed(script: Copies, *, limit: int = 100, **options: Any) -> Guarded:
    """A model that has answered 20 calls in a second each; it is two seconds later."""
    limiter = Limiter(limit, clock=clock)
    guarded = Guarded(Scripted(script), limiter, hedge=3.0, **options)
    await asyncio.gather(*(guarded.complete(ASK, Sampling(sample=n)) for n in range(20)))
    await asyncio.sleep(2 - clock())
    return guarded


STRAGGLER = Sampling(sample=99)


def test_a_straggler_gets_a_second_copy_and_the_first_answer_wins(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        script = Copies((60, "slow"), (1, "fast"))
        guarded = await warmed(script)
        assert (await guarded.complete(ASK, STRAGGLER)).text == "fast"
        assert script.sent_at == [2, 5]
        assert clock() == 6
        assert guarded.limiter.in_flight == 0

    in_virtual_time(scenario())


def test_a_call_that_began_before_there_was_a_median_is_hedged_once_there_is_one(
    in_virtual_time: InVirtualTime,
) -> None:
    async def scenario() -> None:
        script = Copies((600, "slow"), (1, "fast"))
        guarded = Guarded(Scripted(script), Limiter(100, clock=clock), hedge=3.0)
        straggler = asyncio.create_task(guarded.complete(ASK, STRAGGLER))
        await asyncio.gather(*(guarded.complete(ASK, Sampling(sample=n)) for n in range(20)))
        assert (await straggler).text == "fast"
        assert script.sent_at == [0, pytest.approx(3, abs=0.2)]

    in_virtual_time(scenario())


def test_the_first_copy_may_still_win(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        guarded = await warmed(Copies((4, "first"), (60, "second")))
        assert (await guarded.complete(ASK, STRAGGLER)).text == "first"
        assert clock() == 6

    in_virtual_time(scenario())


def test_a_quick_call_and_a_young_endpoint_get_no_second_copy(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        script = Copies((2.9, "first"))
        guarded = await warmed(script)
        assert (await guarded.complete(ASK, STRAGGLER)).text == "first"
        young = Copies((60, "first"))
        assert (await Guarded(Scripted(young), Limiter(9, clock=clock), hedge=3.0).complete(ASK, STRAGGLER)).text
        assert (len(script.sent_at), len(young.sent_at)) == (1, 1)

    in_virtual_time(scenario())


def test_waiting_for_a_slot_does_not_make_a_call_slow(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        script = Copies((1, "first"))
        guarded = await warmed(script, limit=20)
        queued = [guarded.complete(ASK, Sampling(sample=100 + n)) for n in range(200)]
        answers = await asyncio.gather(*queued, guarded.complete(ASK, STRAGGLER))
        assert answers[-1].text == "first"
        assert script.sent_at == [12]

    in_virtual_time(scenario())


@pytest.mark.parametrize(
    ("plan", "text", "at"),
    [
        (((5, ServerFailed("500")), (4, "second")), "second", 9),
        (((9, "first"), (1, ServerFailed("500"))), "first", 11),
    ],
)
def test_when_one_copy_fails_the_other_is_waited_for(
    in_virtual_time: InVirtualTime, plan: tuple[tuple[float, Reply], ...], text: str, at: float
) -> None:
    async def scenario() -> None:
        guarded = await warmed(Copies(*plan), max_retries=0)
        assert (await guarded.complete(ASK, STRAGGLER)).text == text
        assert clock() == at

    in_virtual_time(scenario())


def test_when_both_fail_it_is_the_first_copys_error(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        guarded = await warmed(Copies((5, RequestRejected("first")), (1, ServerFailed("second"))))
        with pytest.raises(RequestRejected, match="first"):
            await guarded.complete(ASK, STRAGGLER)

    in_virtual_time(scenario())


def test_a_failed_straggler_is_retried_as_any_other(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        plan = ((5, ConnectionFailed("reset")), (5, ConnectionFailed("reset")), (1, "third"))
        script = Copies(*plan)
        guarded = await warmed(script)
        assert (await guarded.complete(ASK, STRAGGLER)).text == "third"
        assert len(script.sent_at) == 3

    in_virtual_time(scenario())


def test_cancelling_the_call_cancels_both_copies(in_virtual_time: InVirtualTime) -> None:
    async def scenario() -> None:
        guarded = await warmed(Copies((60, "first"), (60, "second")))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await guarded.complete(ASK, STRAGGLER)
        assert (clock(), guarded.limiter.in_flight, guarded.limiter.waiting) == (12, 0, 0)

    in_virtual_time(scenario())


def test_the_loser_is_on_record_and_in_the_ledger(in_virtual_time: InVirtualTime, tmp_path: Path) -> None:
    async def scenario() -> None:
        guarded = await warmed(Copies((60, "slow"), (1, "fast")))
        meter, brake = Meter(), Brake()
        with CallLog.open(tmp_path / "calls.jsonl") as log:
            paid = Recorded(guarded.inner, log, "rollout", meter, brake)
            assert (await guarded.over(paid, brake).complete(ASK, STRAGGLER)).text == "fast"
            ends = [call.error.type if call.error else "answered" for call in log]
        assert sorted(ends) == ["Cancelled", "answered"]
        total = meter.snapshot()["total"]
        assert (total["calls"], total["failed"], total["estimated"]) == (2, 1, 1)
        assert meter.in_flight == 0

    in_virtual_time(scenario())


def test_of_two_answers_at_one_moment_the_recorded_one_is_used(in_virtual_time: InVirtualTime, tmp_path: Path) -> None:
    async def scenario() -> None:
        guarded = await warmed(Copies((4, "first"), (1, "second")))  # both end at 6 s
        with CallLog.open(tmp_path / "calls.jsonl") as log:
            paid = Recorded(guarded.inner, log, "rollout")
            answer = await guarded.over(paid, Brake()).complete(ASK, STRAGGLER)
            assert (await paid.complete(ASK, STRAGGLER)) == answer
            assert paid.replayed == 1

    in_virtual_time(scenario())
