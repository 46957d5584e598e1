"""What docs/federation.md shows can be typed."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gym.cli.main import gym

PAGE = (Path(__file__).parents[2] / "docs" / "federation.md").read_text(encoding="utf-8")


def shown(language: str, place: int = 0) -> str:
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return blocks[place]


def ran(*words: str) -> Result:
    done = CliRunner().invoke(gym, ["federate", *words])
    assert done.exit_code == 0, (words, done.exception, done.output)
    return done


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the page shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("task.yaml").write_text(shown("yaml"), encoding="utf-8")
    Path("apples.py").write_text(shown("python"), encoding="utf-8")
    Path("experiences.json").write_text(shown("json"), encoding="utf-8")
    rows = [{"problem": f"How many apples are {n}?", "answer": f"{n}!"} for n in range(12)]
    Path("apples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def test_the_task_the_model_and_the_library_of_the_page_play_a_round(here: Path) -> None:
    words = (
        "--experiences",
        "experiences.json",
        "--nodes",
        "4",
        "--problems",
        "6",
        "--share",
        "1",
        "--encoder",
        "hashing",
    )
    done = ran("simulate", "task.yaml", *words, "--quiet")
    assert "round 0: 1 text published" in done.stdout


def test_the_library_of_the_page_is_released_as_the_page_says(here: Path) -> None:
    (command,) = re.findall(r"gym federate (preview try/n1 .*?--release)", PAGE)
    ran("keys", "try", "--team", "3", "--encoder", "hashing")
    assert "1 experience of 1 leave n1" in ran(*command.split()).stderr
