"""What is said when Ray is not installed, or its cluster is not there: one line, at once."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gym.errors import ConfigError
from gym.llm.endpoint import open_transport
from gym.train.grpo.executors.base import Local, open_executor
from gym.train.grpo.solvers.single_turn import single_turn

WITHOUT_RAY = """
import sys
from importlib.machinery import PathFinder

class WithoutRay(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "ray" else super().find_spec(name, path, target)

sys.meta_path = [WithoutRay if finder is PathFinder else finder for finder in sys.meta_path]
from gym.cli.main import main
main()
"""


def gym(folder: Path, *arguments: str, program: str = "from gym.cli.main import main; main()") -> tuple[int, str]:
    (folder / "data.jsonl").write_text('{"question": "q", "answer": "a"}\n', encoding="utf-8")
    words = ["train", "--data", "data.jsonl", "--reward", "exact", "--model", "scripted:gym.llm.scripted:echo"]
    done = subprocess.run(
        [sys.executable, "-c", program, *words, "--executor", "ray", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=60, env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
    )  # fmt: skip
    return done.returncode, done.stderr


async def test_the_local_executor_adds_nothing() -> None:
    async with open_executor("local") as executor:
        assert isinstance(executor, Local)
        assert executor.open is open_transport
        assert executor.remote(single_turn) is single_turn


def test_without_the_extra_one_line_names_it(tmp_path: Path) -> None:
    code, said = gym(tmp_path, program=WITHOUT_RAY)
    assert code == 2
    assert "executor: ray needs the extra [ray]: pip install 'zoo-gym[ray]'" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_where_nobody_listens_is_told_in_one_line(tmp_path: Path, scheme: str) -> None:
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"{scheme}127.0.0.1:{free.getsockname()[1]}"
        code, said = gym(tmp_path, "--ray-address", address)
    assert code == 2
    assert f"ray_address {address!r}: nobody answers on 127.0.0.1" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("address", ["http://head:1", "ray://", "head:port"])
async def test_a_malformed_address_is_told_with_the_forms_it_may_have(address: str) -> None:
    pytest.importorskip("ray")
    with pytest.raises(ConfigError, match="expected auto, host:port or ray://host:port"):
        async with open_executor("ray", address=address):
            pass
