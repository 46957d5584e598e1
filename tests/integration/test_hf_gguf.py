"""A real GGUF file read by transformers: it answers as on the model server, and loading it says nothing."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gym.cli.main import gym
from gym.core.chat import Message, Sampling
from gym.llm.endpoint import Endpoint, open_model
from tests.tiny_model import TRAIN

pytestmark = [TRAIN, pytest.mark.slow, pytest.mark.timeout(900)]

CAPITAL = (Message(role="user", content="What is the capital of France? Answer with one word."),)


async def test_a_gguf_file_answers_without_a_server_as_it_does_on_one(smollm: Path) -> None:
    greedy = Sampling(temperature=0.0, max_tokens=6, seed=1)
    said = []
    for model in (f"hf:{smollm}", str(smollm)):
        async with open_model(Endpoint(model=model)) as opened:
            said.append((await opened.complete(CAPITAL, greedy)).text)
    assert "Paris" in said[0]
    assert said[0].split()[0] == said[1].split()[0]


def test_its_weights_are_proven_and_quiet_is_quiet(
    smollm: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    row = {"question": CAPITAL[0].content, "answer": "Paris"}
    (tmp_path / "set.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    words = [
        "eval",
        "--model",
        f"hf:{smollm}",
        "--data",
        str(tmp_path / "set.jsonl"),
        "--reward",
        "normalized",
        "--k",
        "1",
    ]
    words += [
        "--rollout-max-tokens",
        "6",
        "--output-dir",
        str(tmp_path),
        "--experiment-name",
        "run",
        "--quiet",
        "--json",
    ]
    done = CliRunner().invoke(gym, words, catch_exceptions=False)
    assert (done.exit_code, done.stderr) == (0, "")
    assert CliRunner().invoke(gym, ["verify", str(tmp_path / "run")]).exit_code == 0
