"""configs/grpo_free_web.yaml and its script run on the generated site as it is made, and say what to do where it is not."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gym.config import load_config
from gym.core.chat import Message, Sampling
from gym.train.grpo.training_free_workflow import train
from gym.web.site.making import make, write

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "configs" / "grpo_free_web.yaml"


def searcher(messages: Sequence[Message], sampling: Sampling) -> str:
    """Searches for the question, opens the best hit in half of its rollouts, and has no idea."""
    system = messages[0].content
    if system.startswith("You") and not system.startswith("You may use tools"):
        return "Answer: 1900" if "cannot look anything up" in system else "[]"
    heard = [turn.content for turn in messages if turn.role == "user"]
    if len(heard) == 1:
        return _call("search", query=heard[0].partition("\n")[0])
    if (
        len(heard) == 2
        and (sampling.seed or 0) % 2
        and (hit := re.search(r"http://halden\.example/\S+?\.html", heard[1]))
    ):
        return _call("open", url=hit[0])
    return "Answer: nowhere"


def _call(tool: str, **arguments: str) -> str:
    return f"```tool_call\n{json.dumps({'name': tool, 'arguments': arguments})}\n```"


def test_the_configuration_runs_end_to_end_on_the_site_that_the_command_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path / "cache"))
    write(make(0, pages=100), tmp_path / "data" / "site")
    script = {"model": "scripted:test_web_config:searcher", "dataset_truncate": 4, "group_size": 2}
    run = train(load_config(CONFIG, script, environ={}))
    assert run.folder == Path("output/web")
    assert run.after is not None
    assert run.after.score.n_problems >= 10
    assert {name: used.errors for name, used in run.after.score.tools.items()} == {"open": 0, "search": 0}
    assert run.report.closed_book is not None
    assert run.report.closed_book.tools == {}
    levels = {family.name for family in run.report.families}
    assert levels <= {"easy", "medium", "hard"}
    assert len(levels) > 1


def test_the_script_says_how_to_make_the_site(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "train_grpo_free_web.py")], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "`gym web make-site --output data/site` makes a site with questions" in done.stderr
    assert "Traceback" not in done.stderr
