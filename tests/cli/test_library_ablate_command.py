"""`gym library ablate`: effects of every entry, a smaller library, a budget, and nothing paid twice (issue 5, credit)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bench.planted import SCRIPTED, fruit
from gym.cli.library import command
from gym.core.experience import Library
from gym.errors import BudgetReached, ConfigError, LibraryError
from gym.llm.call_log import CallLog

PLANTED = fruit(30)
Gym = Callable[..., Result]


@pytest.fixture
def gym(tmp_path: Path) -> Gym:
    """`gym library ablate` on the planted library of three good sentences, a harmful and a useless one."""
    data, library = PLANTED.write(tmp_path, 0)

    def run(*arguments: str) -> Result:
        asked = ["ablate", str(library), "--data", str(data), "--reward", "exact", "--model", SCRIPTED, "--quiet"]
        place = ["--output-dir", str(tmp_path), "--experiment-name", "run"]
        return CliRunner().invoke(command, [*asked, *place, *arguments])

    return run


def told(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def worths(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["text"]: one for one in found["experiences"]}


def test_it_tells_what_helps_what_harms_and_what_does_nothing(gym: Gym) -> None:
    found = told(gym("--permutations", "4", "--json"))
    by_text = worths(found)
    harmful, useless = by_text[PLANTED.harmful], by_text[PLANTED.useless]
    assert harmful["verdict"] == "harms"
    assert harmful["interval"][1] < 0
    assert harmful["left_out"]["difference"] < -0.1
    assert (useless["shapley"], useless["verdict"]) == (0.0, "unclear")
    assert any(by_text[text]["verdict"] == "helps" for text in PLANTED.good)
    total = sum(one["shapley"] for one in found["experiences"])
    assert total == pytest.approx(found["full"]["mean"] - found["empty"]["mean"])


def test_the_suggested_library_is_measured_and_written_only_when_asked_for(gym: Gym, tmp_path: Path) -> None:
    before = sorted(path.name for path in tmp_path.glob("*.json"))
    suggestion = told(gym("--permutations", "2", "--json"))["suggestion"]
    assert sorted(path.name for path in tmp_path.glob("*.json")) == before
    assert suggestion["against_all"]["verdict"] == "gain"
    assert suggestion["tokens_saved"] > 10
    less = tmp_path / "less.json"
    assert gym("--permutations", "2", "--write", str(less)).exit_code == 0
    written = Library.from_json(less.read_text(encoding="utf-8"))
    assert list(written.ids) == suggestion["ids"]
    assert not {PLANTED.harmful, PLANTED.useless} & set(written.texts)
    assert isinstance(gym("--write", str(less)).exception, ConfigError)


def test_the_same_command_again_pays_nothing_and_more_orders_pay_only_what_is_new(gym: Gym, tmp_path: Path) -> None:
    first = told(gym("--permutations", "2", "--json"))
    again = told(gym("--permutations", "2", "--json"))
    assert again["experiences"] == first["experiences"]
    assert again["spent"]["calls"] == first["spent"]["calls"]
    gym("--permutations", "4")
    with CallLog.open(tmp_path / "run" / "calls.jsonl") as log:
        assert len(log) == len({call.key for call in log}) > first["spent"]["calls"]


def test_a_budget_that_ends_within_the_orders_shows_what_was_found_and_is_a_clean_stop(gym: Gym) -> None:
    result = gym("--permutations", "6", "--budget-calls", "400", "--json")
    assert isinstance(result.exception, BudgetReached)
    found = told(result)
    assert "budget of 400 calls" in found["stopped"]
    assert 0 < found["orders"] < 6
    assert all(one["left_out"]["difference"] is not None for one in found["experiences"])


def test_a_stop_writes_no_library_so_that_the_same_command_goes_on(gym: Gym, tmp_path: Path) -> None:
    less = tmp_path / "less.json"
    stopped = gym("--permutations", "2", "--budget-calls", "260", "--write", str(less))
    assert isinstance(stopped.exception, BudgetReached)
    assert not less.exists()
    assert gym("--permutations", "2", "--write", str(less)).exit_code == 0
    assert less.exists()


def test_a_budget_too_small_for_leave_one_out_is_a_clean_stop_without_figures(gym: Gym) -> None:
    result = gym("--budget-calls", "50", "--json")
    assert isinstance(result.exception, BudgetReached)
    assert result.stdout == ""


def test_without_orders_it_is_leave_one_out_and_an_order_can_be_given_up(gym: Gym) -> None:
    assert "in points of the mean reward\n" in gym("--permutations", "0").stdout
    found = told(gym("--permutations", "0", "--json"))
    assert (found["orders"], found["experiences"][0]["shapley"]) == (0, None)
    assert worths(found)[PLANTED.harmful]["verdict"] == "harms"
    early = told(gym("--permutations", "2", "--truncate", "1", "--json"))
    assert early["given_up"] == early["orders"] == 2
    assert early["spent"]["calls"] <= found["spent"]["calls"] + 30  # the suggestion's


def test_people_see_a_table_with_intervals(gym: Gym) -> None:
    shown = gym("--permutations", "2").stdout
    assert "leave-one-out [95 %]" in shown
    assert "in points of the mean reward; Shapley values over 2 orders" in shown
    assert "Confirm it on other problems." in shown


def test_a_missing_or_empty_library_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text("{}", encoding="utf-8")
    data = PLANTED.write(tmp_path, 0)[0]
    for name, error, said in (
        ("nowhere.json", LibraryError, "no experience file"),
        ("none.json", ConfigError, "is empty"),
    ):
        asked = ["ablate", str(tmp_path / name), "--data", str(data), "--reward", "exact", "--model", SCRIPTED]
        result = CliRunner().invoke(command, [*asked, "--output-dir", str(tmp_path / "o"), "--quiet"])
        assert isinstance(result.exception, error)
        assert said in str(result.exception)
