"""Figures get into the page by program: a table per bench, the misses named."""

import json
from pathlib import Path

import pytest

from bench import report
from bench.report import BEGIN, END, Table, filled
from gym.errors import GymError

PAGE = f"# Title\n\n{BEGIN}\n\n{END}\n\nThe rest.\n"


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(report, "KEPT", tmp_path)
    (tmp_path / "machine.txt").write_text("2026-01-01, a machine\n", encoding="utf-8")
    return tmp_path


def test_new_figures_replace_the_old_ones_and_nothing_else() -> None:
    once = filled(PAGE, "| 1 |")
    assert "| 1 |" in once
    assert filled(once, "| 2 |") == filled(PAGE, "| 2 |")
    assert filled(once, "| 2 |").endswith("The rest.\n")
    both = f"{PAGE}<!-- another -->\n\n| 3 |\n\n{END}\n\nThe end.\n"
    assert filled(both, "| 2 |").endswith(f"The rest.\n<!-- another -->\n\n| 3 |\n\n{END}\n\nThe end.\n")


def test_a_missed_target_is_seen_in_exit_code_row_and_summary() -> None:
    table = Table("bench_one", "One")
    table.add("speed", "9", "bare 10", ">= 8", True)
    table.add("for information", "3")
    assert table.close() == 0
    table.add("memory", "90 MB", "", "<= 80 MB", False)
    assert table.close() == 1
    assert report.missed() == ["One: memory: 90 MB, not <= 80 MB"]


def test_the_report_has_a_table_for_each_bench_and_the_words_of_any_other(kept: Path) -> None:
    table = Table("bench_one", "One")
    table.add("speed", "9", "bare 10", ">= 8", True)
    table.close()
    (kept / "bench_one.txt").write_text("its printed lines", encoding="utf-8")
    (kept / "bench_two.txt").write_text("two: 5 s", encoding="utf-8")
    written = report.written()
    assert "| speed | 9 | bare 10 | >= 8 | ok |" in written
    assert "its printed lines" not in written
    assert "```\ntwo: 5 s\n```" in written
    assert json.loads((kept / "bench_one.json").read_text(encoding="utf-8"))["title"] == "One"


def test_tables_of_benches_that_did_not_run_here_stay_as_they_are() -> None:
    table = Table("bench_one", "One")
    table.add("speed", "9")
    table.close()
    before = "### Other\n\nMeasured elsewhere.\n\n| 1 |\n\n### One\n\n| old |\n"
    written = report.written(before)
    assert written.startswith("### Other\n\nMeasured elsewhere.\n\n| 1 |\n\n### One\n\nMeasured ")
    assert "old" not in written
    assert report.written(written) == written


@pytest.mark.parametrize(
    ("raised", "code"),
    [(GymError("no such model"), "error: no such model"), (KeyboardInterrupt(), 130)],
    ids=["fault", "ctrl-c"],
)
def test_a_bench_that_cannot_go_on_ends_with_a_line_not_a_traceback(raised: BaseException, code: object) -> None:
    def main() -> int:
        raise raised

    with pytest.raises(SystemExit) as stopped:
        report.ended(main)
    assert stopped.value.code == code
