"""The seeds' YAML runs unchanged but for the endpoint, from the command and from the script."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gym.llm.scripted_server import ScriptedServer

ROOT = Path(__file__).parents[2]


def mathematician(body: dict[str, Any]) -> str:
    """Adds right when the seed is even; reflects when asked to."""
    system = body["messages"][0]["content"]
    if system.startswith("You compare"):
        return '[{"option": "add", "experience": "When adding two numbers, check the last digit."}]'
    if system.startswith(("You review", "You keep")):
        return "[]"
    one, other = (int(number) for number in re.findall(r"\d+", body["messages"][-1]["content"])[-2:])
    return rf"So it is \boxed{{{one + other + body.get('seed', 0) % 2}}}."


@pytest.mark.parametrize(
    "command", [["-m", "gym", "train", "configs/grpo_free_math.yaml"], ["scripts/train_grpo_free_math.py"]]
)
async def test_the_seeds_configuration_runs_unchanged_but_for_the_endpoint(tmp_path: Path, command: list[str]) -> None:
    rows = [{"id": f"a{n}", "problem": f"What is {n} + {n + 3}?", "answer": f"{2 * n + 3:03d}"} for n in range(4)]
    (tmp_path / "aime24.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    async with ScriptedServer(mathematician, models=("deepseek-chat",)) as server:
        arguments = [
            *command, "--base-url", server.base_url, "--api-key", "sk-test", "--data-dir", str(tmp_path), "--output-dir",
            str(tmp_path / "run"), "--quiet",
        ]  # fmt: skip
        environment = {key: value for key, value in os.environ.items() if key != "DEEPSEEK_API_KEY"}
        done = await asyncio.to_thread(
            subprocess.run, [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    assert "[G0]. When adding two numbers, check the last digit." in done.stdout
    assert {body["model"] for body in server.requests} == {"deepseek-chat"}
    rollouts = [body for body in server.requests if "Reason step by step" in body["messages"][0]["content"]]
    assert {body["temperature"] for body in rollouts} == {0.7}
    assert {body["max_tokens"] for body in rollouts} == {4096}
    assert (tmp_path / "run" / "epoch_2" / "step_2" / "experiences.json").exists()
