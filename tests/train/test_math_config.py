"""The seeds' YAML runs unchanged but for the endpoint, from the command and from the script, in both modes."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gym.llm.scripted_server import Answer, Script, ScriptedServer, completion_body

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


COMMANDS = (["-m", "gym", "train", "configs/grpo_free_math.yaml"], ["scripts/train_grpo_free_math.py"])


async def finished(script: Script, *command: str) -> tuple[str, list[dict[str, Any]]]:
    """What the command printed against a scripted server, and what the server was asked."""
    async with ScriptedServer(script, models=("deepseek-chat",)) as server:
        arguments = [*command, "--base-url", server.base_url, "--api-key", "sk-test", "--quiet"]
        environment = {key: value for key, value in os.environ.items() if key != "DEEPSEEK_API_KEY"}
        done = await asyncio.to_thread(
            subprocess.run, [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    return done.stdout, server.requests


@pytest.mark.parametrize("command", COMMANDS)
async def test_the_seeds_configuration_runs_unchanged_but_for_the_endpoint(tmp_path: Path, command: list[str]) -> None:
    rows = [{"id": f"a{n}", "problem": f"What is {n} + {n + 3}?", "answer": f"{2 * n + 3:03d}"} for n in range(4)]
    (tmp_path / "aime24.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    told, asked = await finished(
        mathematician, *command, "--data-dir", str(tmp_path), "--output-dir", str(tmp_path / "run")
    )
    assert "[G0]. When adding two numbers, check the last digit." in told
    assert {body["model"] for body in asked} == {"deepseek-chat"}
    rollouts = [body for body in asked if "Reason step by step" in body["messages"][0]["content"]]
    assert {body["temperature"] for body in rollouts} == {0.7}
    assert {body["max_tokens"] for body in rollouts} == {4096}
    assert (tmp_path / "run" / "epoch_2" / "step_2" / "experiences.json").exists()


OURS = ROOT / "examples" / "mathematics" / "train.jsonl"
ANSWERS = {row["question"]: row["answer"] for row in map(json.loads, OURS.read_text(encoding="utf-8").splitlines())}


def programmer(body: dict[str, Any]) -> Answer | str:
    """Computes when the seed is even, where there are tools, and is right then; reflects when asked to."""
    turns = body["messages"]
    if turns[0]["content"].startswith(("You review", "You compare", "You keep")):
        return mathematician(body)
    right = body.get("seed", 0) % 2 == 0
    if "tools" in body and right and turns[-1]["role"] == "user":
        return _calling(f"print({ANSWERS[turns[-1]['content']]})")
    asked = next(turn["content"] for turn in turns if turn["role"] == "user")
    computed = turns[-1]["content"] if turns[-1]["role"] == "tool" else ANSWERS[asked] if right else "-1"
    return rf"It is \boxed{{{computed}}}."


def _calling(code: str) -> Answer:
    function = {"name": "python", "arguments": json.dumps({"code": code})}
    call = {"id": "c", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return Answer(completion_body(None, choices=[{"index": 0, "finish_reason": "tool_calls", "message": message}]))


@pytest.mark.parametrize("mode", ["chat", "agent"])
@pytest.mark.parametrize("command", COMMANDS)
async def test_ten_of_our_own_problems_run_through_in_both_modes(tmp_path: Path, command: list[str], mode: str) -> None:
    told, asked = await finished(
        programmer, *command, "--data", str(OURS), "--dataset-truncate", "10", "--mode", mode, "--epochs", "1",
        "--group-size", "3", "--output-dir", str(tmp_path),
    )  # fmt: skip
    assert "[G0]. When adding two numbers, check the last digit." in told
    (step,) = json.loads((tmp_path / "stats.json").read_text(encoding="utf-8"))["steps"]
    right = round(step["mean"] * step["rollouts"])
    assert (step["problems"], step["rollouts"], step["failed"]) == (10, 30, 0)
    assert 0 < right < 30
    assert step.get("tools", {}) == ({"python": {"calls": right, "errors": 0}} if mode == "agent" else {})
    assert (f"tools, training: python {right} calls, errors 0" in told) == (mode == "agent")
    assert ("python_tool" in json.loads((tmp_path / "manifest.json").read_text("utf-8"))) == (mode == "agent")
    assert any("tools" in body for body in asked) == (mode == "agent")
