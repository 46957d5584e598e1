"""A run on Ray workers gives what a local run gives, and a worker's death costs only what was in flight there."""

import asyncio
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gym.config import RunConfig
from gym.core.chat import Message, Sampling
from gym.core.problem import Trajectory
from gym.errors import BudgetReached, ConfigError, ConnectionFailed, WorkerLost
from gym.llm.endpoint import Endpoint
from gym.llm.scripted import Scripted
from gym.llm.scripted_server import Answer, ScriptedServer, completion_body
from gym.plugins import import_attribute
from gym.train.grpo.executors.base import open_executor
from gym.train.grpo.executors.pool import of_all
from gym.train.grpo.executors.ray import RayExecutor, RayTransport
from gym.train.grpo.training_free_workflow import atrain

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

Configured = Callable[..., RunConfig]
HI = (Message(role="user", content="How many apples are 3 apples?"),)
RAY = {"executor": "ray", "ray_workers": 2}


@pytest.fixture
def configure(configured: Configured, folder: Path) -> Configured:
    """A configuration of `configured` whose model counts its calls, where both executors can import it."""

    def config(**changes: object) -> RunConfig:
        return configured(**({"model": "scripted:ray_script:paid", "rollout_concurrency": 8} | changes))

    return config


def library(run: Path) -> bytes:
    return (run / "experiences.json").read_bytes()


def calls(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(run / "calls.jsonl")]


def finished(run: Path) -> Counter[str]:
    return Counter(call["key"] for call in calls(run) if call["completion"])


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


async def run(config: RunConfig) -> Path:
    return (await atrain(config)).folder


async def test_two_workers_give_the_library_of_the_local_executor(configure: Configured, folder: Path) -> None:
    here = await run(configure(experiment_name="here"))
    assert set(lines(folder / "paid")) == {str(os.getpid())}
    (folder / "paid").unlink()
    there = await run(configure(experiment_name="there", **RAY))
    assert library(there) == library(here) != b""
    assert finished(there) == finished(here)
    workers = set(lines(folder / "paid"))
    assert len(workers) == 2
    assert str(os.getpid()) not in workers


async def test_a_killed_worker_is_replaced_and_no_finished_call_is_repeated(
    configure: Configured, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = await run(configure(experiment_name="here"))
    (folder / "paid").unlink()
    (folder / "kill paid").touch()
    there = await run(configure(experiment_name="there", **RAY))
    sent = len(lines(folder / "paid"))
    lost = [call["error"]["type"] for call in calls(there) if call["error"]]
    with capsys.disabled():
        print(f"\n{finished(there).total()} calls, {sent} sent to the model, {len(lost)} in flight at the kill")
    assert not (folder / "kill paid").exists()
    assert library(there) == library(here)
    assert finished(there) == finished(here)
    assert set(finished(there).values()) == {1}
    assert set(lost) == {"WorkerLost"}
    assert finished(there).total() < sent <= finished(there).total() + len(lost)


async def test_a_server_is_asked_by_the_workers_and_its_rate_limits_reach_us(folder: Path) -> None:
    heard: list[object] = []

    class Heard:
        def sent(self) -> str:
            return "ticket"

        def answered(self, ticket: str, headers: object) -> None:
            heard.append((ticket, headers))

    def limited(body: object) -> Answer:
        return Answer(completion_body("3"), headers={"X-RateLimit-Limit-Requests": "60"})

    async with ScriptedServer(limited, models=("m",)) as server, open_executor("ray", workers=2) as executor:
        endpoint = Endpoint(model="m", base_url=server.base_url)
        async with executor.open(endpoint, {"OPENAI_API_KEY": "k"}, observer=Heard()) as model:
            answers = await asyncio.gather(*(model.complete(HI, Sampling(sample=n)) for n in range(6)))
    assert [answer.text for answer in answers] == ["3"] * 6
    assert {headers["Authorization"] for headers in server.headers} == {"Bearer k"}
    assert heard == [("ticket", {"x-ratelimit-limit-requests": "60"})] * 6


async def test_a_model_that_nobody_can_ask_is_told_before_anything_is_sent(folder: Path) -> None:
    async with open_executor("ray", workers=1) as executor:
        with pytest.raises(ConfigError, match="cannot import 'nowhere'"):
            async with executor.open(Endpoint(model="scripted:nowhere:fn"), {}):
                pass


async def test_another_version_on_a_node_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gym.train.grpo.executors.pool.__version__", "99.0")
    async with open_executor("ray", workers=1) as executor:
        with pytest.raises(ConfigError, match=r"this is 99\.0: install the same version"):
            async with executor.open(Endpoint(model="scripted:gym.llm.scripted:echo"), {}):
                pass


async def test_an_error_of_the_endpoint_arrives_as_it_was(folder: Path) -> None:
    async with (
        open_executor("ray", workers=1) as executor,
        executor.open(Endpoint(model="scripted:ray_script:outage"), {}) as model,
    ):
        with pytest.raises(ConnectionFailed, match="no answer") as caught:
            await model.complete(HI, Sampling())
    assert (caught.value.status, caught.value.retry_after_s) == (503, 7.0)


async def test_a_worker_killed_from_outside_loses_its_call_and_comes_back(folder: Path) -> None:
    (folder / "delay").write_text("600", encoding="utf-8")
    async with (
        open_executor("ray", workers=1) as executor,
        executor.open(Endpoint(model="scripted:ray_script:slow"), {}) as model,
    ):
        assert isinstance(model, RayTransport)
        call = asyncio.ensure_future(model.complete(HI, Sampling()))
        (hello,) = await of_all(model.pool, "hello")
        os.kill(hello.pid, signal.SIGKILL)
        with pytest.raises(WorkerLost):
            await call
        (folder / "delay").write_text("0", encoding="utf-8")
        assert (await model.complete(HI, Sampling())).text == "always this"
        (again,) = await of_all(model.pool, "hello")
    assert again.pid != hello.pid


async def test_a_solver_runs_in_a_worker_and_its_calls_are_ours(configure: Configured, folder: Path) -> None:
    here = await run(configure(experiment_name="here", domain="ray_script:DOMAIN"))
    assert set(lines(folder / "solved")) == {str(os.getpid())}
    (folder / "solved").unlink()
    there = await run(configure(experiment_name="there", domain="ray_script:DOMAIN", **RAY))
    assert library(there) == library(here)
    assert finished(there) == finished(here)
    assert len(set(lines(folder / "solved"))) == 2
    assert not set(lines(folder / "solved")) & set(lines(folder / "paid"))


async def test_a_solver_that_loses_its_worker_starts_again_and_repeats_no_finished_call(
    configure: Configured, folder: Path
) -> None:
    here = await run(configure(experiment_name="here", domain="ray_script:DOMAIN"))
    for path in folder.iterdir():
        path.unlink()
    (folder / "kill solved").touch()
    there = await run(configure(experiment_name="there", domain="ray_script:DOMAIN", **RAY))
    assert not (folder / "kill solved").exists()
    assert library(there) == library(here)
    assert finished(there) == finished(here)
    assert set(finished(there).values()) == {1}
    assert len(lines(folder / "paid")) == finished(there).total()


async def test_a_solver_that_is_cancelled_stops_in_its_worker(folder: Path) -> None:
    asked = asyncio.Event()

    async def never(messages: Sequence[Message], sampling: Sampling) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    twice = import_attribute("ray_script:twice", what="solver")
    async with open_executor("ray", workers=1) as executor:
        attempt = asyncio.ensure_future(executor.remote(twice)(Scripted(never), HI, Sampling()))
        await asked.wait()
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt
        assert isinstance(executor, RayExecutor)
        done: Trajectory = await executor.remote(twice)(Scripted(lambda messages, sampling: "3"), HI, Sampling())
    assert done.output == "3"


async def test_what_else_a_solver_raises_is_raised_here(folder: Path) -> None:
    async with open_executor("ray", workers=1) as executor:
        for name, kind in (("broken", KeyError), ("late", TimeoutError)):
            solver = executor.remote(import_attribute(f"ray_script:{name}", what="solver"))
            with pytest.raises(kind, match="the tool"):
                await solver(Scripted(lambda messages, sampling: "3"), HI, Sampling())


@pytest.mark.parametrize(("first", "then"), [({}, RAY), (RAY, {})], ids=["local then ray", "ray then local"])
async def test_a_run_stopped_by_its_budget_goes_on_with_the_other_executor(
    configure: Configured, folder: Path, first: dict[str, object], then: dict[str, object]
) -> None:
    whole = await run(configure(experiment_name="whole"))
    (folder / "paid").unlink()
    with pytest.raises(BudgetReached):
        await run(configure(budget_calls=50, **first))
    assert len(lines(folder / "paid")) == 50
    resumed = await run(configure(**then))
    assert library(resumed) == library(whole)
    assert set(finished(resumed).values()) == {1}
    assert len(lines(folder / "paid")) == finished(resumed).total() == finished(whole).total()
