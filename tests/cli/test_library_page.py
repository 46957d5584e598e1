"""What docs/library.md shows is true: its commands and listings run."""

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from gym.cli.library import command
from gym.core.experience import Library

PAGE = (Path(__file__).parents[2] / "docs" / "library.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_commands_and_listings_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in blocks("sh")[0].splitlines():
        _, _, *arguments = shlex.split(line)
        result = CliRunner().invoke(command, arguments)
        assert result.exit_code == 0, (line, result.output, result.exception)
    for listing in blocks("python"):
        exec(compile(listing, "docs/library.md", "exec"), {})
    assert Path("SKILL.md").read_text(encoding="utf-8").startswith("---\nname: ")
    assert len(json.loads(Path("experiences.json").read_text(encoding="utf-8"))["experiences"]) == 3


def test_the_file_on_the_page_is_a_library() -> None:
    assert Library.from_json(blocks("json")[0]).render() == "[G0]. When a sum is long, split it into parts first."
