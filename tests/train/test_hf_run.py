"""Whole runs on a transformers model in this process: no server, no hub, and the folder's weights in the manifest."""

import json
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner

from gym.cli.main import gym
from gym.config import RunConfig, load_config
from gym.errors import ConfigError, MissingExtra
from gym.llm.client import LLMClient
from gym.llm.hf.place import locate
from gym.train.grpo.training_free_workflow import train
from gym.train.grpo.workbench import window
from tests.tiny_model import TRAIN, tiny

Configured = Callable[..., RunConfig]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny().saved(tmp_path / "tiny-model")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What a hub on loopback was asked."""
    asked: list[str] = []

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def do_HEAD(self) -> None:
            self.do_GET()

    server = HTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield asked
    server.shutdown()
    server.server_close()


def settings(folder: Path, **changes: object) -> dict[str, object]:
    return {
        "model": f"hf:{folder}", "reflector_model": "scripted:tiny_script:reflect", "reward": "tiny_script:vowels",
        "rollout_max_tokens": 12, "epochs": 1, "batch_size": 4, "dataset_truncate": 4, "group_size": 3, "eval_k": 1, **changes,
    }  # fmt: skip


@TRAIN
def test_a_run_learns_without_a_server_and_its_weights_are_proven_to_stay(
    configured: Configured, folder: Path, hub: list[str], tmp_path: Path
) -> None:
    run = train(configured(**settings(folder, test=str(tmp_path / "test.jsonl"))))
    assert len(run.library) > 0
    assert run.after is not None
    assert run.after.score.failed == 0
    manifest = json.loads((run.folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["weights"]["verified"] is True
    assert manifest["weights"]["file"] == "tiny-model"
    assert "hf:tiny-model" in manifest["models"]
    assert run.report.spent["total"]["usd"] == 0.0
    again = train(configured(**settings(folder, test=str(tmp_path / "test.jsonl"), experiment_name="again")))
    assert again.library == run.library
    assert hub == []


@TRAIN
def test_gym_eval_answers_with_it_too(
    configured: Configured, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured()  # writes the files
    monkeypatch.chdir(tmp_path)
    words = ["eval", "--data", "test.jsonl", "--reward", "tiny_script:vowels", "--model", f"hf:{folder}"]
    done = CliRunner().invoke(gym, [*words, "--k", "2", "--rollout-max-tokens", "8", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["n_answers"], found["failed"], found["usd"]) == (24, 0, 0.0)


def test_a_folder_is_recognised_by_its_prefix_and_says_what_is_missing(tmp_path: Path) -> None:
    assert load_config(None, {"model": "x", "api_mode": "false"}, environ={}).model_name_or_path == "hf:x"
    assert load_config(None, {"model": "local:x", "api_mode": "false"}, environ={}).model_name_or_path == "local:x"
    with pytest.raises(ConfigError, match=r"is no transformers model: it does not exist"):
        locate(f"hf:{tmp_path / 'nowhere'}")
    with pytest.raises(ConfigError, match=r"is no transformers model: it has no config\.json"):
        locate(f"hf:{tmp_path}")


def test_a_reflection_prompt_keeps_to_the_models_own_window(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": 2048}), encoding="utf-8")
    assert window(f"hf:{tmp_path}") == 2048
    (tmp_path / "config.json").write_text(json.dumps({"text_config": {"n_positions": 512}}), encoding="utf-8")
    assert window(f"hf:{tmp_path}") == 512
    assert window("gpt-4o") is None


def test_without_torch_one_line_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"needs the extra \[train\]: pip install 'zoo-gym\[train\]'"):
        LLMClient(model=f"hf:{tmp_path}").chat("Hello?")


@TRAIN
def test_a_folder_that_transformers_cannot_load_is_one_line(configured: Configured, folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"not a weight")
    with pytest.raises(ConfigError, match=r"tiny-model' cannot be loaded by transformers: "):
        train(configured(**settings(folder)))


@TRAIN
@pytest.mark.slow
async def test_a_small_instruct_model_of_the_catalogue_answers_in_words(smollm: Path) -> None:
    """SmolLM2-135M, its GGUF file read by transformers."""
    import asyncio

    from gym.core.chat import Message, Sampling
    from gym.llm.endpoint import Endpoint, open_model

    def asking(question: str) -> tuple[Message, ...]:
        return (Message(role="system", content="Answer in one word."), Message(role="user", content=question))

    async with open_model(Endpoint(f"hf:{smollm}")) as model:
        cold = Sampling(temperature=0.0, max_tokens=24)
        answers = await asyncio.gather(
            *(model.complete(asking(f"What is the capital of {name}?"), cold) for name in ("France", "Italy", "Japan"))
        )
    assert [name in found.text for name, found in zip(("Paris", "Rome", "Tokyo"), answers, strict=True)] == [True] * 3
    assert all(found.finish_reason == "stop" for found in answers)


@TRAIN
@pytest.mark.slow
def test_what_came_out_of_a_gguf_file_can_be_saved_and_trained(smollm: Path, tmp_path: Path) -> None:
    from gym.llm.hf.opening import load

    model, _ = load(smollm)
    model.save_pretrained(tmp_path)
    again = dict(load_weights(tmp_path))
    assert all(tensor.equal(again[name]) for name, tensor in model.state_dict().items() if name in again)
    assert not getattr(model, "is_quantized", False)


def load_weights(folder: Path) -> Iterator[tuple[str, object]]:
    from safetensors.torch import load_file

    for file in folder.glob("*.safetensors"):
        yield from load_file(file).items()
