"""Rollouts through the whole loop beside a bare client on the same server in the same run.

A server on loopback answers every call after LATENCY_S; the reference is aiohttp alone sending the same requests with the
same number in flight. Printed: the loop's share of the reference's rate, and of the ideal N / latency.
"""

import asyncio
import json
import multiprocessing
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp
from aiohttp import web

from gym.config import load_config
from gym.core.experience import Library
from gym.evaluation.measure import measure
from gym.llm.brake import Brake
from gym.llm.scripted_server import completion_body
from gym.train.grpo.watch import Silent

LATENCY_S = 0.5
IN_FLIGHT = 64
PROBLEMS, ANSWERS = 128, 5


def serve(pipe: Connection) -> None:
    """A server in a process of its own that answers `right` after the latency; its address goes through `pipe`."""

    async def complete(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(LATENCY_S)
        return web.json_response(completion_body("right"))

    async def run() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", complete)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        pipe.send(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
        await asyncio.Event().wait()

    asyncio.run(run())


async def bare(url: str, calls: int) -> float:
    """Seconds that aiohttp alone takes for the same number of calls."""
    slots = asyncio.Semaphore(IN_FLIGHT)
    body = {"model": "m", "messages": [{"role": "user", "content": "question"}], "temperature": 0.7}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def one() -> None:
            async with slots, session.post(f"{url}/chat/completions", json=body) as response:
                await response.json()

        began = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(calls)))
        return time.perf_counter() - began


async def whole(url: str, folder: Path) -> float:
    """Seconds for the same calls with prompts, parsing, exact grading, meter and call log."""
    settings = {
        "model": "m",
        "base_url": url,
        "data": str(folder / "data.jsonl"),
        "reward": "exact",
        "eval_k": ANSWERS,
        "rollout_concurrency": IN_FLIGHT,
        "output_dir": str(folder / "output"),
    }
    began = time.perf_counter()
    config = load_config(None, settings, environ={})
    found = await measure(config, Library(), compare=False, watch=Silent(), brake=Brake())
    assert found.score.score.mean == 1.0
    return time.perf_counter() - began


def main() -> None:
    """Print the two rates and their ratio."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    url, calls = ours.recv(), PROBLEMS * ANSWERS
    reference = asyncio.run(bare(url, calls))
    with tempfile.TemporaryDirectory() as folder:
        rows = [json.dumps({"question": f"Question {n}?", "answer": "right"}) for n in range(PROBLEMS)]
        Path(folder, "data.jsonl").write_text("\n".join(rows), encoding="utf-8")
        product = asyncio.run(whole(url, Path(folder)))
    ideal = calls * LATENCY_S / IN_FLIGHT
    print(f"{calls} calls, {IN_FLIGHT} in flight, {LATENCY_S} s each; the ideal is {ideal:.2f} s")
    print(f"bare aiohttp (reference)  {reference:6.2f} s  {ideal / reference:5.1%} of the ideal")
    print(f"gym eval, everything      {product:6.2f} s  {ideal / product:5.1%} of the ideal")
    print(f"the loop runs at {reference / product:.2f} times the reference's rate")
    server.terminate()


if __name__ == "__main__":
    main()
