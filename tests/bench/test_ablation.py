"""The bench of levers: three families in one data set, one `gym ablate`, its table on the page."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench import ablation
from bench.record import pack, unpack
from bench.report import filled
from gym.cli.ablate import command as ablate
from gym.config import load_config
from gym.errors import DataError
from gym.train.grpo.task import held_out_reward, load_task, train_reward

LEVERS = ablation.STUDIES["levers"]


def test_the_files_hold_every_family_in_turn_and_no_problem_twice(tmp_path: Path) -> None:
    config = load_config(ablation.prepare(LEVERS, tmp_path), {}, environ={})
    task = load_task(config, train_reward(config), held_out_reward(config))
    parts = {"train": task.train, "val": task.val, "test": task.test}
    assert {part: len(problems) for part, problems in parts.items()} == {"train": 12, "val": 12, "test": 18}
    queries = [problem.query for problems in parts.values() for problem in problems]
    assert len(set(queries)) == len(queries)
    assert [problem.metadata["family"] for problem in parts["test"]][:4] == ["csv", "dates", "yes_no", "csv"]


@pytest.mark.parametrize("study", ablation.STUDIES.values(), ids=ablation.STUDIES)
def test_every_lever_is_a_setting_whose_first_value_the_base_has(study: ablation.Study, tmp_path: Path) -> None:
    config = ablation.prepare(study, tmp_path)
    result = CliRunner().invoke(ablate, [*ablation.command(study, config, "0", "")[1:], "--dry-run"])
    assert result.exit_code == 0, result.output
    base = next(line for line in result.output.splitlines() if line.startswith("base: "))
    firsts = (lever.partition(",")[0] for lever in study.levers)
    assert base == "base: " + ", ".join(firsts)
    assert load_config(config, {}, environ={}).screen_keep == 2


def test_the_table_of_a_run_goes_into_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    study = replace(LEVERS, levers=("gate=auto,none",))
    told = ablation.command(study, ablation.prepare(study, tmp_path), "0", "")[1:]
    result = CliRunner().invoke(ablate, [*told, "--model", "scripted:house_script:reply", "--quiet"])
    assert result.exit_code == 0, result.output
    (tmp_path / study.name / ablation.MEASURED).write_text('"on a day"')
    figures = ablation.figures(study, tmp_path)
    assert "| gate=none | 1 |" in figures
    assert "2 of 2 runs finished" in figures
    assert figures.startswith("Measured on a day; ")
    page = ablation.PAGE.read_text(encoding="utf-8")
    assert figures in filled(page, figures, study.begin, ablation.END)

    record, there = tmp_path / "record.jsonl", tmp_path / "there"
    pack(record, tmp_path, ablation.finished_files(study, tmp_path))
    unpack(record, there)
    assert ablation.figures(study, there) == figures
    again = CliRunner().invoke(
        ablate,
        [
            *ablation.command(study, ablation.prepare(study, there), "0", "")[1:],
            "--model",
            "scripted:house_script:reply",
            "--dry-run",
        ],
    )
    assert "2 runs under seeds 0" in again.output
    assert "2 finished. To go: about 0 calls" in " ".join(again.output.split())
    with pytest.raises(DataError, match="no run is finished yet"):
        ablation.figures(replace(study, base={**study.base, "epochs": 3}), there)


def test_without_a_finished_run_the_error_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no run is finished yet"):
        ablation.figures(LEVERS, tmp_path)


@pytest.mark.parametrize("study", ablation.STUDIES.values(), ids=ablation.STUDIES)
def test_the_page_has_the_figures_of_the_record(study: ablation.Study, tmp_path: Path) -> None:
    unpack(ablation.RECORD, tmp_path)
    text = ablation.PAGE.read_text(encoding="utf-8")
    assert filled(text, ablation.figures(study, tmp_path), study.begin, ablation.END) == text
