"""The bench of levers: three families in one data set, one `gym ablate`, its table on the page."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from bench import ablation
from bench.learning.settings import ZOO
from bench.record import pack, unpack
from bench.report import filled
from gym.cli.ablate import command as ablate
from gym.config import load_config
from gym.errors import DataError
from gym.train.grpo.task import held_out_reward, load_task, train_reward


def test_the_files_hold_every_family_in_turn_and_no_problem_twice(tmp_path: Path) -> None:
    config = load_config(ablation.prepare(tmp_path), {}, environ={})
    task = load_task(config, train_reward(config), held_out_reward(config))
    parts = {"train": task.train, "val": task.val, "test": task.test}
    assert {part: len(problems) for part, problems in parts.items()} == {"train": 12, "val": 12, "test": 18}
    queries = [problem.query for problems in parts.values() for problem in problems]
    assert len(set(queries)) == len(queries)
    assert [problem.metadata["family"] for problem in parts["test"]][:4] == ["csv", "dates", "yes_no", "csv"]


def test_every_lever_is_a_setting_whose_first_value_the_base_has(tmp_path: Path) -> None:
    config = ablation.prepare(tmp_path)
    result = CliRunner().invoke(ablate, [*ablation.command(config, "0", "")[1:], "--dry-run"])
    assert result.exit_code == 0, result.output
    base = next(line for line in result.output.splitlines() if line.startswith("base: "))
    firsts = (lever.partition(",")[0] for lever in ablation.LEVERS)
    assert base == "base: " + ", ".join(firsts)
    assert load_config(config, {}, environ={}).screen_keep == 2


def test_the_table_of_a_run_goes_into_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(ablation, "LEVERS", ("gate=auto,none",))
    told = ablation.command(ablation.prepare(tmp_path), "0", "")[1:]
    result = CliRunner().invoke(ablate, [*told, "--model", "scripted:house_script:reply", "--quiet"])
    assert result.exit_code == 0, result.output
    (tmp_path / ablation.name() / ablation.MEASURED).write_text('"on a day"')
    figures = ablation.figures(tmp_path)
    assert "| gate=none | 1 |" in figures
    assert "2 of 2 runs finished" in figures
    assert figures.startswith("Measured on a day; ")
    page = ablation.PAGE.read_text(encoding="utf-8")
    assert figures in filled(page, figures, ablation.BEGIN, ablation.END)

    record, there = tmp_path / "record.jsonl", tmp_path / "there"
    pack(record, tmp_path, ablation.finished_files(tmp_path))
    unpack(record, there)
    assert ablation.figures(there) == figures
    again = CliRunner().invoke(
        ablate,
        [
            *ablation.command(ablation.prepare(there), "0", "")[1:],
            "--model",
            "scripted:house_script:reply",
            "--dry-run",
        ],
    )
    assert "2 runs under seeds 0" in again.output
    assert "2 finished. To go: about 0 calls" in " ".join(again.output.split())
    monkeypatch.setattr("bench.ablation.ZOO", {**ZOO, "epochs": 3})
    with pytest.raises(DataError, match="no run is finished yet"):
        ablation.figures(there)


def test_without_a_finished_run_the_error_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no run is finished yet"):
        ablation.figures(tmp_path)
