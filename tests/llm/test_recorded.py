"""Record, replay, resume, budget: one record of paid work."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym.core.chat import ChatModel, Completion, Message, Sampling, Usage
from gym.errors import (
    AccessDenied,
    BudgetReached,
    Interrupted,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFailed,
    Stopped,
    StorageError,
    TimedOut,
)
from gym.llm.brake import Brake
from gym.llm.meter import Budget, Meter
from gym.llm.openai_compatible import OpenAICompatible
from gym.llm.recorded import CallLog, Recorded, ReplayOnly, recover
from gym.llm.retry import Retrying
from gym.llm.scripted import Reply, Scripted
from gym.llm.scripted_server import Answer, ScriptedServer, completion_body

ASK = (Message(role="user", content="2 + 2?"),)
KEY = "sk-very-secret-0123456789"


def scripted(*replies: Reply, name: str = "scripted") -> Scripted:
    steps = iter(replies)
    return Scripted(lambda messages, sampling: next(steps), name=name)


async def test_a_recorded_request_is_answered_from_the_log_after_reopening(tmp_path: Path) -> None:
    reply = Completion(
        text="4 \ud83c", reasoning="why", finish_reason="stop", usage=Usage(prompt=3, completion=1), note="n"
    )
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        first = Recorded(scripted(reply), log, "rollout")
        assert await first.complete(ASK, Sampling(temperature=0)) == reply
        assert (first.sent, first.replayed) == (1, 0)
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        second = Recorded(scripted(), log, "rollout")
        assert await second.complete(ASK, Sampling(temperature=0)) == reply
        assert (second.sent, second.replayed) == (0, 1)


async def test_five_samples_of_one_request_are_five_calls(tmp_path: Path) -> None:
    model = scripted("a", "b", "c", "d", "e", "f")
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        recorded = Recorded(model, log, "rollout")
        asked = [recorded.complete(ASK, Sampling(temperature=0.7, sample=sample)) for sample in range(5)]
        assert {completion.text for completion in await asyncio.gather(*asked)} == set("abcde")
        assert (await recorded.complete(ASK, Sampling(temperature=0))).text == "f"  # another temperature, another key
        again = await recorded.complete(ASK, Sampling(temperature=0.7, sample=2))
    assert again.text == "c"
    assert model.calls == 6


async def test_another_model_schema_or_limit_is_another_request(tmp_path: Path) -> None:
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        a, b = Recorded(scripted("1", "2", "3", name="a"), log, "x"), Recorded(scripted("4", name="b"), log, "x")
        await a.complete(ASK, Sampling())
        await a.complete(ASK, Sampling(max_tokens=9))
        await a.complete(ASK, Sampling(json_schema={"type": "object"}))
        await b.complete(ASK, Sampling())
        assert (a.sent, b.sent, a.replayed + b.replayed) == (3, 1, 0)


async def test_a_retry_of_a_bad_reply_is_a_new_call_and_the_bad_one_is_on_record(tmp_path: Path) -> None:
    cut = Completion(text="[{", finish_reason="length")
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        recorded = Recorded(scripted(cut, "[]"), log, "critique")
        assert await recorded.complete(ASK, Sampling(temperature=0, max_tokens=8)) == cut
        repaired = await recorded.complete(
            (*ASK, Message(role="user", content="Reply again")), Sampling(temperature=0, max_tokens=16)
        )
        assert repaired.text == "[]"
        assert recorded.sent == 2
        # the same request again, as a resume asks it, gets the same cut reply and so takes the same path
        assert await recorded.complete(ASK, Sampling(temperature=0, max_tokens=8)) == cut
        assert recorded.sent == 2


async def test_an_error_is_on_record_and_never_served(tmp_path: Path) -> None:
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        recorded = Recorded(scripted(RateLimited("429: slow down", status=429), "4"), log, "rollout")
        with pytest.raises(RateLimited):
            await recorded.complete(ASK, Sampling())
        assert (await recorded.complete(ASK, Sampling())).text == "4"
        error, answer = list(log)
    assert error.completion is None
    assert error.error is not None
    assert (error.error.type, error.error.message, error.error.status) == ("RateLimited", "429: slow down", 429)
    assert (answer.error, answer.stage, answer.model) == (None, "rollout", "scripted")
    assert answer.key == error.key


async def test_one_of_five_failing_for_ever_leaves_four_answers(tmp_path: Path) -> None:
    def script(messages: Sequence[Message], sampling: Sampling) -> Reply:
        return ServerFailed("503", status=503) if sampling.sample == 3 else "4"

    with CallLog.open(tmp_path / "calls.jsonl") as log:
        recorded = Recorded(Retrying(Scripted(script), 2, base_s=0), log, "rollout")
        asked = [recorded.complete(ASK, Sampling(sample=sample)) for sample in range(5)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer).__name__ for answer in answers] == ["Completion"] * 3 + ["ServerFailed"] + ["Completion"]
    assert recorded.sent == 4 + 3  # three attempts at the dead one


async def test_both_attempts_are_in_the_cost_and_one_result_is_used(tmp_path: Path) -> None:
    answers = iter([Answer(fault="hang"), Answer(completion_body("second"))])
    meter = Meter()
    async with (
        ScriptedServer(lambda body: next(answers)) as server,
        OpenAICompatible("gpt-4o-mini", server.base_url, KEY, timeout_s=0.2) as transport,
    ):
        with CallLog.open(tmp_path / "calls.jsonl") as log:
            recorded = Recorded(Retrying(transport, random=lambda: 0.0), log, "rollout", meter)
            assert (await recorded.complete(ASK, Sampling())).text == "second"
            lines = [call.error.type if call.error else "answered" for call in log]
    assert lines == ["TimedOut", "answered"]
    assert recorded.sent == len(server.requests) == 2
    row = meter.snapshot()["total"]
    assert (row["calls"], row["failed"], row["estimated"]) == (2, 1, 1)
    assert row["prompt_tokens"] > 10  # the server's 10 for the second, our estimate for the first
    assert KEY not in (tmp_path / "calls.jsonl").read_text()


async def test_a_cancelled_call_is_on_record_and_asked_again_later(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def script(messages: Sequence[Message], sampling: Sampling) -> str:
        if started.is_set():
            return "4"
        started.set()
        await asyncio.Event().wait()
        return "never"

    meter = Meter()
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        recorded = Recorded(Scripted(script), log, "rollout", meter)
        task = asyncio.create_task(recorded.complete(ASK, Sampling()))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert meter.in_flight == 0
        assert (await recorded.complete(ASK, Sampling())).text == "4"
        assert [call.error.type if call.error else "answered" for call in log] == ["Cancelled", "answered"]


async def test_a_tiny_dollar_cap_is_one_clean_stop(tmp_path: Path) -> None:
    meter, brake, model = Meter(Budget(usd=0.0001)), Brake(), scripted(*["4"] * 99, name="gpt-4o-mini")
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        recorded = Recorded(Retrying(model), log, "rollout", meter, brake)
        asked = [recorded.complete((Message(role="user", content=f"problem {n}"),), Sampling()) for n in range(5)]
        ends = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(end) for end in ends} == {BudgetReached}
    assert model.calls == recorded.sent == 0
    assert isinstance(brake.reason, BudgetReached)
    assert "$0.0001" in str(brake.reason)


async def test_a_pulled_brake_lets_calls_in_flight_finish_and_starts_no_new_one(tmp_path: Path) -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def script(messages: Sequence[Message], sampling: Sampling) -> str:
        started.set()
        await go.wait()
        return "4"

    brake = Brake()
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        recorded = Recorded(Scripted(script), log, "rollout", brake=brake)
        flying = asyncio.create_task(recorded.complete(ASK, Sampling()))
        await started.wait()
        brake.pull(Interrupted("stopped by Ctrl-C"))
        with pytest.raises(Stopped):
            await recorded.complete(ASK, Sampling(sample=1))
        go.set()
        assert (await flying).text == "4"
        assert (await recorded.complete(ASK, Sampling())).text == "4"  # the record is free and stays open
        assert (recorded.sent, recorded.replayed, len(log)) == (1, 1, 1)


async def test_a_budget_spans_every_resume(tmp_path: Path) -> None:
    path, budget = tmp_path / "calls.jsonl", Budget(calls=3)
    for run, fits in enumerate((True, True, True, False)):
        meter = Meter(budget)
        with CallLog.open(path, recover(meter)) as log:
            recorded = Recorded(scripted("4", name="local:m"), log, "rollout", meter)
            assert meter.calls == run if fits else 3
            if fits:
                await recorded.complete(ASK, Sampling(sample=run))
            else:
                with pytest.raises(BudgetReached):
                    await recorded.complete(ASK, Sampling(sample=run))
            assert meter.snapshot()["stages"]["rollout"]["local:m"]["calls"] == min(run + 1, 3)


async def test_a_recovered_meter_equals_the_one_that_ran(tmp_path: Path) -> None:
    path, meter, again = tmp_path / "calls.jsonl", Meter(), Meter()
    replies: list[Reply] = [
        Completion(text="4", usage=Usage(prompt=10, cached=4, completion=5, reasoning=2), latency_s=0.25),
        Completion(text="4", usage=Usage(known=False)),
        TimedOut("no answer"),
        RateLimited("429"),
    ]
    with CallLog.open(path) as log:
        recorded = Recorded(scripted(*replies, name="gpt-4o"), log, "rollout", meter)
        for sample in range(4):
            await asyncio.gather(recorded.complete(ASK, Sampling(sample=sample)), return_exceptions=True)
    with CallLog.open(path, recover(again)):
        assert again.snapshot() == meter.snapshot()
    assert meter.calls == 4


reports = st.builds(Usage, prompt=st.integers(0, 99), completion=st.integers(0, 99), known=st.booleans())
latencies = st.sampled_from([0.0, 0.1, 0.25, 1e-7, 1234.5])
outcomes = st.builds(Completion, text=st.text(max_size=9), usage=reports, latency_s=latencies) | st.sampled_from(
    [TimedOut("no answer"), RateLimited("429"), ServerFailed('say "usage":{', status=503), None]
)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["rollout", "critique"]), st.sampled_from(["gpt-4o", "x\\y"]), outcomes), max_size=12
    )
)
async def test_any_run_is_recovered_to_the_last_number(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, str, Completion | ProviderError | None]]
) -> None:
    path, meter, again = tmp_path_factory.mktemp("log") / "calls.jsonl", Meter(), Meter()
    with CallLog.open(path) as log:
        for sample, (stage, name, outcome) in enumerate(made):
            script = scripted(outcome, name=name) if outcome else Scripted(_never, name=name)
            task = asyncio.create_task(Recorded(script, log, stage, meter).complete(ASK, Sampling(sample=sample)))
            await asyncio.sleep(0)
            if outcome is None:
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        answered_by = log.models
    with CallLog.open(path, recover(again)) as log:
        assert again.snapshot() == meter.snapshot()
        assert (again.calls, again.usage, again.usd) == (meter.calls, meter.usage, meter.usd)
        assert log.models == answered_by


async def _never(messages: Sequence[Message], sampling: Sampling) -> str:
    await asyncio.Event().wait()
    return "never"


async def test_a_request_is_known_once_it_is_answered(tmp_path: Path) -> None:
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        recorded = Recorded(scripted(RateLimited("429"), "4"), log, "rollout")
        with pytest.raises(RateLimited):
            await recorded.complete(ASK, Sampling())
        assert not recorded.knows(ASK, Sampling())
        await recorded.complete(ASK, Sampling())
        assert recorded.knows(list(ASK), Sampling())
        assert not recorded.knows(ASK, Sampling(sample=1))
        assert (recorded.sent, recorded.replayed) == (2, 0)


async def test_any_policy_has_each_of_its_attempts_recorded(tmp_path: Path) -> None:
    """Two at once, say: the loser is cancelled, recorded and paid."""

    class Both:
        def __init__(self, inner: ChatModel) -> None:
            self.inner, self.name = inner, inner.name

        def over(self, attempt: ChatModel, brake: Brake) -> "Both":
            return Both(attempt)

        async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
            calls = [asyncio.ensure_future(self.inner.complete(messages, sampling)) for _ in range(2)]
            (first, *_), (loser, *_) = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            loser.cancel()
            await asyncio.gather(loser, return_exceptions=True)
            return first.result()

    turns, meter = iter((_answer, _never)), Meter()

    async def script(messages: Sequence[Message], sampling: Sampling) -> str:
        return await next(turns)(messages, sampling)

    with CallLog.open(tmp_path / "calls.jsonl") as log:
        recorded = Recorded(Both(Scripted(script)), log, "rollout", meter)
        assert (await recorded.complete(ASK, Sampling())).text == "4"
        assert [call.error.type if call.error else "answered" for call in log] == ["answered", "Cancelled"]
    assert (recorded.sent, meter.calls, meter.in_flight) == (2, 2, 0)


async def _answer(messages: Sequence[Message], sampling: Sampling) -> str:
    return "4"


async def test_a_policy_that_changes_the_request_is_a_bug_and_not_recorded(tmp_path: Path) -> None:
    class Warmer(Retrying):
        async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
            return await self.inner.complete(messages, Sampling(temperature=1))

        def over(self, attempt: ChatModel, brake: Brake) -> "Warmer":
            return Warmer(attempt)

    with CallLog.open(tmp_path / "calls.jsonl") as log:
        with pytest.raises(AssertionError, match="changed the request"):
            await Recorded(Warmer(scripted("4")), log, "rollout").complete(ASK, Sampling())
        assert len(log) == 0


async def test_replay_only_answers_from_the_log_and_calls_nobody(tmp_path: Path) -> None:
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        await Recorded(scripted("4", name="m"), log, "rollout").complete(ASK, Sampling(sample=1))
        audit = ReplayOnly(log, "m")
        assert (await audit.complete(ASK, Sampling(sample=1))).text == "4"
        with pytest.raises(RequestRejected, match="has no completion for request"):
            await audit.complete(ASK, Sampling(sample=2))


async def test_a_fatal_error_passes_through_recorded_and_retrying(tmp_path: Path) -> None:
    with CallLog.open(tmp_path / "calls.jsonl") as log:
        recorded = Recorded(Retrying(scripted(AccessDenied("401", status=401))), log, "rollout")
        with pytest.raises(AccessDenied):
            await recorded.complete(ASK, Sampling())
        assert recorded.sent == 1


class FullLog(CallLog):
    """A log on a disk without room."""

    def append(self, *_: object, **__: object) -> None:
        raise StorageError("no space left")


async def test_when_the_record_takes_nothing_more_no_further_call_is_sent(tmp_path: Path) -> None:
    model, brake = scripted("4", "5"), Brake()
    with FullLog.open(tmp_path / "calls.jsonl") as log:
        recorded = Recorded(model, log, "rollout", brake=brake)
        for sample in range(2):
            with pytest.raises(StorageError):
                await recorded.complete(ASK, Sampling(sample=sample))
    assert model.calls == 1
    assert isinstance(brake.reason, StorageError)
