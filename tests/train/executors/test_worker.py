"""What a worker does, in this process: no model failure is lost or changed on the way, and attempts end when told to."""

import asyncio
import pickle
from collections.abc import Sequence

import pytest

from gym.core.chat import ChatModel, Completion, Message, Sampling
from gym.core.problem import Trajectory
from gym.errors import ConfigError, GymError, MissingExtra, RateLimited, WorkerLost
from gym.llm.endpoint import Endpoint
from gym.train.grpo.executors.worker import (
    Asked,
    Ended,
    Event,
    Hello,
    ModelWorker,
    SolverWorker,
    Unknown,
    Withdrawn,
)

HI = (Message(role="user", content="hi"),)


def trajectory(text: str) -> Trajectory:
    return Trajectory(messages=HI, output=text)


async def both(model: ChatModel, messages: Sequence[Message], sampling: Sampling) -> Trajectory:
    """Two calls at once."""
    found = await asyncio.gather(*(model.complete(messages, Sampling(sample=n)) for n in range(2)))
    return trajectory(" ".join(each.text for each in found))


async def impatient(model: ChatModel, messages: Sequence[Message], sampling: Sampling) -> Trajectory:
    """Gives up a call as soon as it is made."""
    call = asyncio.ensure_future(model.complete(messages, sampling))
    await asyncio.sleep(0)
    call.cancel()
    return trajectory("did without")


async def careful(model: ChatModel, messages: Sequence[Message], sampling: Sampling) -> Trajectory:
    """A refusal is an answer too."""
    try:
        return trajectory((await model.complete(messages, sampling)).text)
    except RateLimited as error:
        return trajectory(f"refused, again in {error.retry_after_s}")


async def buggy(model: ChatModel, messages: Sequence[Message], sampling: Sampling) -> Trajectory:
    raise KeyError("tool")


async def begin(worker: SolverWorker, solver: object) -> Event:
    return await worker.begin("t", pickle.dumps(solver), "m", HI, Sampling())


async def test_a_solvers_calls_may_be_answered_in_any_order() -> None:
    worker = SolverWorker()
    first, second = await begin(worker, both), await worker.next("t")
    assert isinstance(first, Asked)
    assert isinstance(second, Asked)
    await worker.reply("t", second.number, Completion(text="two"))
    await worker.reply("t", first.number, Completion(text="one"))
    assert await worker.next("t") == Ended(trajectory("one two"))


async def test_a_call_that_the_solver_gives_up_is_withdrawn_and_its_late_answer_dropped() -> None:
    worker = SolverWorker()
    asked = await begin(worker, impatient)
    assert isinstance(asked, Asked)
    assert {type(await worker.next("t")) for _ in range(2)} == {Withdrawn, Ended}
    await worker.reply("t", asked.number, Completion(text="late"))


async def test_an_error_of_the_model_is_raised_in_the_solver_as_it_was() -> None:
    worker = SolverWorker()
    asked = await begin(worker, careful)
    assert isinstance(asked, Asked)
    await worker.reply("t", asked.number, RateLimited("slow down", status=429, retry_after_s=3.0))
    assert await worker.next("t") == Ended(trajectory("refused, again in 3.0"))


async def test_what_the_solver_does_not_catch_ends_it_as_a_value() -> None:
    worker = SolverWorker()
    await begin(worker, both)
    await worker.reply("t", 0, WorkerLost("gone"))
    events = [await worker.next("t") for _ in range(2)]
    assert [str(event.result) for event in events if isinstance(event, Ended)] == ["gone"]


async def test_a_bug_of_the_solver_is_raised() -> None:
    with pytest.raises(KeyError, match="tool"):
        await begin(SolverWorker(), buggy)


async def test_an_attempt_of_a_process_that_died_is_unknown_to_the_next() -> None:
    worker = SolverWorker()
    assert await worker.next("t") == Unknown()
    await worker.reply("t", 0, Completion(text="for the dead"))
    await worker.forget("t")


async def test_a_forgotten_attempt_is_cancelled() -> None:
    worker = SolverWorker()
    await begin(worker, both)
    assert isinstance(await worker.next("t"), Asked)
    waiting = asyncio.ensure_future(worker.next("t"))
    await asyncio.sleep(0)
    await worker.forget("t")
    assert isinstance(await waiting, Withdrawn)
    assert await worker.next("t") == Unknown()


async def test_a_solver_that_cannot_be_imported_is_a_mistake_of_the_user() -> None:
    ended = await SolverWorker().begin("t", b"cnot_installed\nsolver\n.", "m", HI, Sampling())
    assert isinstance(ended, Ended)
    assert isinstance(ended.result, ConfigError)
    assert "not_installed" in str(ended.result)


async def test_a_model_worker_answers_with_the_error_in_the_completions_place() -> None:
    worker = ModelWorker(Endpoint(model="scripted:gym.llm.scripted:echo"))
    assert await worker.open() == "scripted:gym.llm.scripted:echo"
    assert (await worker.send(HI, Sampling())).answer == Completion(
        text="hi", usage={"prompt": 1, "completion": 1}, model="scripted:gym.llm.scripted:echo"
    )
    found = await ModelWorker(Endpoint(model="scripted:nowhere:fn")).open()
    assert isinstance(found, ConfigError)
    await worker.close()


async def test_a_worker_says_which_version_it_is() -> None:
    from gym import __version__

    hello = await ModelWorker(Endpoint()).hello()
    assert isinstance(hello, Hello)
    assert hello.version == __version__


@pytest.mark.parametrize(
    "error", [RateLimited("m", status=429, retry_after_s=1.5), MissingExtra("the embedded model", "local")]
)
def test_errors_keep_what_they_know_between_processes(error: GymError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
