"""Data sets of the Hugging Face hub through the real library, against a hub on loopback, and without one."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gym import plugins
from gym.errors import DataError
from gym.train.grpo.domains import hub
from gym.train.grpo.domains.base import Domain
from tests.train.domains.hub_server import HubServer, data_set

LOAD = """
import json, sys
from gym import plugins
from gym.errors import DataError

def found(domain, source):
    try:
        loaded = plugins.resolve("domain", domain).load(source, data_dir="", input_key="", answer_key="", truncate=None)
    except DataError as error:
        return str(error)
    return [[problem.query, problem.ground_truth] for problem in loaded.problems]

print(json.dumps([found(*asked.split("=")) for asked in sys.argv[1:]]))
"""
REPOSITORIES = {
    "openai/gsm8k": data_set(
        "main",
        train=[{"question": "1+1?", "answer": "One and one.\n#### 2"}],
        test=[{"question": "500+500?", "answer": "So.\n#### 1,000"}, {"question": "2+3?", "answer": "So.\n#### 5"}],
    ),
    "owner/mine": data_set("default", train=[{"prompt": "Open?", "label": "yes"}]),
}


@pytest.fixture(scope="module")
def served() -> Iterator[HubServer]:
    with HubServer(REPOSITORIES) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library keeps what it loaded."""
    pytest.importorskip("datasets")
    return tmp_path_factory.mktemp("home")


def loaded(home: Path, url: str, *sources: str, offline: bool = False) -> list[Any]:
    """What each `DOMAIN=SOURCE` gives in a process of its own: rows, or the one line of an error."""
    environment = {**os.environ, "HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1"}
    environment |= {"HF_HUB_OFFLINE": "1"} if offline else {}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *sources], cwd=home, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "Retrying" not in done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def from_hub(home: Path, served: HubServer) -> list[Any]:
    return loaded(
        home, served.url, "math=gsm8k", "math=openai/gsm8k", "jsonl=owner/mine:train", "math=openai/gsm8k:dev",
        "math=openai/gsm8k:socratic:test", "jsonl=nobody/nothing",
    )  # fmt: skip


@pytest.mark.slow
def test_a_set_comes_from_the_hub_and_what_is_not_there_is_one_line(from_hub: list[Any]) -> None:
    named, train, mine, split, config, nobody = from_hub
    assert named == [["500+500?", "1000"], ["2+3?", "5"]]
    assert train == [["1+1?", "2"]]
    assert mine == [["Open?", "yes"]]
    assert "Unknown split" in split
    assert "'socratic' not found" in config
    assert "no file 'nobody/nothing', and the Hugging Face hub gave no such data set" in nobody
    assert not any("\n" in told for told in (split, config, nobody))


@pytest.mark.slow
@pytest.mark.usefixtures("from_hub")
def test_offline_takes_the_copy_that_was_loaded_before(home: Path) -> None:
    (copy,) = loaded(home, "http://127.0.0.1:9", "math=gsm8k", offline=True)
    assert copy == [["500+500?", "1000"], ["2+3?", "5"]]


def test_without_a_hub_it_is_one_line_before_anything_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    domain: Domain = plugins.resolve("domain", "math")
    with pytest.raises(DataError) as told:
        domain.load("gsm8k", data_dir="", input_key="", answer_key="", truncate=None)
    assert str(told.value) == (
        "problem set 'gsm8k' is not here or in data/: put gsm8k_test.jsonl into a folder and give --data-dir FOLDER; "
        "no file 'openai/gsm8k:main:test', and the hub http://127.0.0.1:9 does not answer ([Errno 111] Connection refused); "
        "HF_HUB_OFFLINE=1 takes a copy that was loaded before"
    )


def test_a_hub_that_refuses_is_there_and_one_that_is_not_says_why(served: HubServer) -> None:
    assert hub.silent(served.url) is None  # 404 is an answer
    assert (
        hub.silent("http://127.0.0.1:9")
        == "the hub http://127.0.0.1:9 does not answer ([Errno 111] Connection refused)"
    )
    assert "unknown url type" in str(hub.silent("no-address"))
