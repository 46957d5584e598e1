"""`gym ablate`: lists are varied, the plan costs nothing, the table is printed and kept."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gym.cli.main import gym
from gym.errors import BudgetReached, ConfigError

SCRIPTS = Path(__file__).parents[1] / "train"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Run":
    monkeypatch.syspath_prepend(str(SCRIPTS))
    for name, numbers in (("train", range(6)), ("test", range(6, 14))):
        rows = [json.dumps({"question": f"How many are {n}?", "answer": f"{n}!"}) for n in numbers]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return Run(tmp_path)


class Run:
    """The command over six training and eight held-out problems."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *more: str) -> Result:
        fixed = {
            "data": self.folder / "train.jsonl", "test": self.folder / "test.jsonl", "reward": "exact", "epochs": 1, "eval-k": 1,
            "model": "scripted:desk_script:reply", "output-dir": self.folder / "output", "experiment-name": "x",
        }  # fmt: skip
        options = [text for key, value in fixed.items() for text in (f"--{key}", str(value))]
        return CliRunner().invoke(gym, ["ablate", *options, *more])


def test_the_plan_names_every_variant_and_its_calls_and_starts_nothing(run: Run) -> None:
    done = run("--group-size", "1,5", "--ground-truth", "on,off", "--seeds", "0,1", "--dry-run")
    assert done.exit_code == 0, done.output
    assert "grpo_group_size=1" in done.stdout
    assert "use_groundtruth=off" in done.stdout
    assert "6 runs under seeds 0, 1" in done.stdout
    assert "less 32 that the variants of a seed share" in done.stdout
    assert not (run.folder / "output").exists()


def test_the_plan_as_one_object(run: Run) -> None:
    done = run("--vary", "curriculum=off,on", "--seeds", "3", "--dry-run", "--json")
    found = json.loads(done.stdout)
    assert [(one["variant"], one["seed"], one["finished"]) for one in found["runs"]] == [
        ("base", 3, False), ("curriculum=on", 3, False),
    ]  # fmt: skip
    assert found["runs"][0]["upper_calls"] >= found["runs"][0]["expected_calls"] > 30


def test_a_switch_may_stand_alone(run: Run) -> None:
    done = run("--curriculum", "--group-size", "3,5", "--seeds", "0", "--dry-run")
    assert done.exit_code == 0, done.output
    assert "base: grpo_group_size=5" in done.stdout


def test_the_table_is_printed_and_json_is_one_object(run: Run) -> None:
    done = run("--group-size", "5,1", "--seeds", "0", "--quiet")
    assert done.exit_code == 0, done.output
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert {"base", "grpo_group_size=1"} <= rows.keys()
    assert "+0.000" in rows["grpo_group_size=1"]
    again = run("--group-size", "5,1", "--seeds", "0", "--quiet", "--json")
    found = json.loads(again.stdout)
    assert found == json.loads((run.folder / "output" / "x" / "ablation.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in found["rows"]] == ["base", "grpo_group_size=1"]


def test_no_figure_is_cut_however_long_a_variants_name(run: Run) -> None:
    long = f"system_prompt=Answer with the number [/b] {'and nothing else ' * 6},Answer."
    done = run("--vary", long, "--seeds", "0", "--quiet")
    assert done.exit_code == 0, done.output
    assert "…" not in done.stdout
    assert "[/b]" in done.stdout
    assert done.stdout.count("[+0.") + done.stdout.count("[-0.") >= 3  # gain of both, and the difference


def test_a_stop_shows_what_is_finished(run: Run) -> None:
    done = run("--group-size", "1,3", "--seeds", "0", "--budget-calls", "20")
    assert isinstance(done.exception, BudgetReached)
    assert done.exception.exit_code == 3
    assert "1 of 2 runs finished" in done.stdout
    again = run("--group-size", "1,3", "--seeds", "0", "--budget-calls", "20", "--quiet", "--json")
    assert json.loads(again.stdout)["finished"] == 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--group-size", "5"), "nothing to compare"),
        (("--vary", "curriculum"), "give KEY=V1,V2"),
        (("--vary", "curiculum=on,off"), "did you mean 'curriculum'"),
        (("--vary", "group_size=3,5", "--group-size", "1,2"), "varied twice"),
        (("--group-size", "3,lots"), "grpo_group_size"),
        (("--group-size", "3,5", "--seeds", "0,x"), "--seeds 0,x: give whole numbers"),
    ],
)
def test_what_cannot_be_is_one_message(run: Run, more: tuple[str, ...], words: str) -> None:
    done = run(*more)
    assert isinstance(done.exception, ConfigError)
    assert words in str(done.exception)
