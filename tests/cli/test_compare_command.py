"""`gym compare`: two runs side by side from what they left on disk; and the checks of `gym eval` (issue 5.1)."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gym.cli.main import gym as group
from gym.errors import ConfigError

SCRIPTS = Path(__file__).parents[1] / "train"


def gym(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    search = os.pathsep.join(filter(None, (str(SCRIPTS), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, "-m", "gym", *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": search},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


MODEL = ("--model", "scripted:desk_script:reply", "--reward", "exact", "--k", "4")
CHECKED = ("eval", "--data", "test.jsonl", *MODEL, "--experiences", "rules.json", "--compare", "--aa", "--also", "say.jsonl",
           "--experiment-name", "checked", "--json")  # fmt: skip
TRAIN = ("train", "--data", "test.jsonl", "--reward", "exact", "--model", "scripted:desk_script:reply", "--experiment-name",
         "trained", "--epochs", "1", "--test-fraction", "0.5", "--quiet")  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training run, an evaluation with every check, and one of the bare model."""
    folder = tmp_path_factory.mktemp("runs")
    rows = [{"question": f"How many are {n}?", "answer": f"{n}!", "level": n % 2} for n in range(14)]
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    says = [{"question": f"Say {n}.", "answer": f"{n}"} for n in range(8)]
    (folder / "say.jsonl").write_text("".join(json.dumps(row) + "\n" for row in says), encoding="utf-8")
    rule = {"G0": "When asked for a count, put an exclamation mark after the number."}
    (folder / "rules.json").write_text(json.dumps(rule), encoding="utf-8")
    bare = ("eval", "--data", "test.jsonl", *MODEL, "--seed", "9", "--experiment-name", "bare", "--quiet")
    for name, command in (("checked.json", CHECKED), ("trained.txt", TRAIN), ("bare.txt", bare)):
        done = gym(folder, *command)
        assert done.returncode == 0, done.stderr
        (folder / name).write_text(done.stdout, encoding="utf-8")
    return folder


def compare(runs: Path, *arguments: str) -> str:
    paths = [str(runs / "output" / argument) for argument in arguments[:2]]
    done = CliRunner().invoke(group, ["compare", *paths, *arguments[2:]], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_a_library_is_compared_with_the_bare_model(runs: Path) -> None:
    found = json.loads(compare(runs, "bare", "checked", "--json"))
    assert found["gain"]["verdict"] == "gain"
    assert found["gain"]["n_problems"] == 14
    assert (found["before"]["made"]["library_size"], found["after"]["made"]["library_size"]) == (0, 1)
    assert [row["name"] for row in found["tables"]["level"]] == ["0", "1"]
    assert found["overhead"]["tokens"] > 10
    assert found["notes"] == []


def test_what_a_training_run_learned_is_compared_before_and_after(runs: Path) -> None:
    told = compare(runs, "trained/evaluations/before.json", "trained/evaluations/after.json")
    report = json.loads((runs / "output" / "trained" / "report.json").read_text(encoding="utf-8"))
    assert f"{100 * report['gain']['difference']:+.1f} points" in told
    assert "bootstrap over problems" in told
    assert "prompt tokens an answer" in told


def test_runs_on_different_sets_are_compared_where_they_meet(runs: Path) -> None:
    found = json.loads(compare(runs, "bare", "trained", "--json"))
    assert found["gain"]["n_problems"] == 7
    assert any(note.startswith("the data sets differ (14 of 'test.jsonl'") for note in found["notes"])


def test_the_page_is_one_file(runs: Path) -> None:
    compare(runs, "bare", "checked", "--by", "level", "--html", str(runs / "page.html"))
    page = (runs / "page.html").read_text(encoding="utf-8")
    assert "By level" in page
    assert page.count("<svg") == 2


def test_a_tag_is_never_taken_for_markup_and_cannot_steer_a_terminal(runs: Path, tmp_path: Path) -> None:
    text = (runs / "output" / "bare" / "evaluations" / "plain.json").read_text(encoding="utf-8")
    odd = tmp_path / "odd.json"
    odd.write_text(text.replace('"level": 0', '"level": "[/b] \\u001b[2J"'), encoding="utf-8")
    told = compare(runs, str(odd), str(odd))
    assert r"'[/b] \x1b[2J'" in told
    assert "\x1b" not in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bare", "nowhere"), "does not exist"),
        (("bare", ".."), "is not a run's folder"),
        (("bare", "checked", "--by", "colour"), "there is level"),
        (("bare", "checked/evaluations/also-1-plain.json"), "share no problem"),
        (("bare", "checked/report.json"), "is no evaluation"),
    ],
)
def test_a_mistake_is_said(runs: Path, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        compare(runs, *arguments)


def test_a_mistake_is_one_line_without_a_traceback(runs: Path) -> None:
    done = gym(runs, "compare", "output/bare", "output/nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith("gym: 'output/nowhere' does not exist")
    assert len(done.stderr.splitlines()) == 1


def checked(runs: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((runs / "checked.json").read_text(encoding="utf-8"))
    return found


def test_the_same_twice_is_no_difference(runs: Path) -> None:
    again = checked(runs)["again"]
    assert again["gain"]["verdict"] == "no difference"
    assert (again["before"]["made"]["seed"], again["after"]["made"]["seed"]) == (0, 1)
    assert again["after"]["made"]["library"] == again["before"]["made"]["library"]


def test_a_library_is_seen_to_harm_elsewhere(runs: Path) -> None:
    """The rule's mark is wrong where nothing is counted."""
    (elsewhere,) = checked(runs)["elsewhere"]
    assert elsewhere["after"]["made"]["dataset"] == "say.jsonl"
    assert elsewhere["gain"]["verdict"] == "loss"
    assert elsewhere["gain"]["interval"][1] < 0


def test_an_evaluation_leaves_its_report_and_the_figures_of_every_measurement(runs: Path) -> None:
    folder = runs / "output" / "checked"
    names = sorted(file.stem for file in (folder / "evaluations").iterdir())
    assert names == ["again", "also-1-library", "also-1-plain", "library", "plain"]
    assert json.loads((folder / "report.json").read_text(encoding="utf-8")) == checked(runs)
    text, page = ((folder / f"report.{kind}").read_text(encoding="utf-8") for kind in ("md", "html"))
    for said in ("The same twice", "Elsewhere: say.jsonl", "harms here", "What an answer takes", "By level"):
        assert said in text.replace("\\", "")
        assert said in page
    assert page.count("<svg") >= 4


def test_an_evaluation_in_a_training_runs_folder_leaves_that_runs_report(runs: Path) -> None:
    folder = runs / "output" / "trained"
    before = (folder / "report.json").read_bytes()
    done = gym(runs, "eval", "--data", "test.jsonl", *MODEL, "--experiment-name", "trained", "--quiet")
    assert done.returncode == 0, done.stderr
    assert (folder / "report.json").read_bytes() == before
    assert (folder / "eval-report.html").exists()
    assert json.loads((folder / "eval-report.json").read_text(encoding="utf-8"))["n_problems"] == 14


@pytest.mark.parametrize(
    ("options", "said"),
    [(("--also", "say.jsonl"), "--also needs --experiences FILE"), (("--also-reward", "json"), "give it with --also")],
)
def test_a_check_without_what_it_needs_is_refused(runs: Path, options: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        CliRunner().invoke(
            group, ["eval", "--data", str(runs / "test.jsonl"), *MODEL, *options, "--quiet"], catch_exceptions=False
        )
