"""`gym web index` and `gym web search`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gym.cli.web import command


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "vard.html").write_text(
        "<title>Vard</title><p>Nora Lind leads the Vard pump.", encoding="utf-8"
    )
    return tmp_path / "site"


def test_a_folder_is_indexed_once_and_searched(site: Path) -> None:
    run = CliRunner()
    made = json.loads(run.invoke(command, ["index", str(site), "--json"], catch_exceptions=False).stdout)
    assert made["pages"] == 1
    assert Path(made["index"]).is_file()
    told = run.invoke(command, ["search", str(site), "who", "leads", "the", "pump?"], catch_exceptions=False)
    assert told.stdout == "Vard\n  http://site.example/vard.html\n  Nora Lind leads the Vard pump.\n"
    found = run.invoke(
        command, ["search", str(site), "pump", "--host", "halden.example", "--json"], catch_exceptions=False
    )
    assert [hit["url"] for hit in json.loads(found.stdout)] == ["http://halden.example/vard.html"]
    assert run.invoke(command, ["search", str(site), "zebra"], catch_exceptions=False).stdout == "nothing found\n"
