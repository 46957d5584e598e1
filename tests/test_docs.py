"""What the pages say is true: links lead somewhere, commands parse, scripts and examples run."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from gym import __version__
from gym.cli.main import gym
from gym.core.experience import Library

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md"), *ROOT.glob("examples/*/README.md")]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def commands(page: Path) -> list[list[str]]:
    """Every `gym …` line of the page's shell blocks, continued lines joined, comments dropped."""
    blocks = re.findall(r"```(?:sh|bash|console)\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    found = [shlex.split(line.lstrip("$ "), comments=True) for line in lines]
    return [words[1:] for words in found if words and words[0].endswith("gym")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_on_a_page_parses(page: Path) -> None:
    for words in commands(page):
        command: click.Command = gym
        context = click.Context(gym, info_name="gym")
        while isinstance(command, click.Group):
            found = command.get_command(context, words[0])
            assert found is not None, words
            command, words = found, words[1:]
            if not words:
                break
        if words and not isinstance(command, click.Group) and not {"--help", "-h"} & set(words):
            command.make_context(command.name, list(words), parent=context)


def run(*command: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "train")}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_mini_script_learns_its_rule(tmp_path: Path) -> None:
    said = run(str(ROOT / "scripts" / "test_grpo_free_mini.py"), folder=tmp_path)
    assert "[G0]. When asked for a count, put an exclamation mark after the number." in said
    assert "gain" in said


def test_the_custom_domain_example_runs(tmp_path: Path) -> None:
    example = str(ROOT / "examples" / "grpo_free_custom_domain.py")
    run(example, "--model", "scripted:desk_script:reply", "--epochs", "1", "--experiment-name", "x", folder=tmp_path)
    assert Library.from_json((tmp_path / "output" / "x" / "experiences.json").read_text("utf-8")) is not None


def test_the_evaluation_script_takes_the_commands_options(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text('{"question": "How many are 3?", "answer": "3"}\n', encoding="utf-8")
    said = run(
        str(ROOT / "scripts" / "eval_grpo_free.py"), "--data", "data.jsonl", "--reward", "exact",
        "--model", "scripted:desk_script:reply", "--json", folder=tmp_path,
    )  # fmt: skip
    assert '"n_problems": 1' in said


def test_the_version_is_said_once(tmp_path: Path) -> None:
    assert run("-m", "gym", "--version", folder=tmp_path).strip().endswith(__version__)
    assert tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dynamic"] == ["version"]
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
