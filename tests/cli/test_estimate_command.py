"""SPEC 4.1, 5.3: `gym estimate` says calls, tokens and dollars per stage before spending, and starts no model."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gym.cli.main import gym
from gym.errors import ConfigError


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return written(tmp_path / "train.jsonl", "train", 10)


def written(path: Path, name: str, rows: int) -> Path:
    lines = (json.dumps({"question": f"{name} question {n}?".ljust(80, "."), "answer": str(n)}) for n in range(rows))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(gym, ["estimate", *map(str, arguments)])


def as_json(*arguments: object) -> dict[str, object]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_every_stage_has_its_expected_and_its_upper_figures(data: Path) -> None:
    held_out = written(data.parent / "test.jsonl", "held-out", 4)
    plan = ("--data", data, "--test", held_out, "--reward", "exact", "--model", "gpt-4o-mini", "--epochs", 2)
    found = as_json(*plan, "--batch-size", 5)
    assert found["problems"] == {"train": 10, "val": 0, "test": 4}
    counts = {
        side: {stage: row["calls"] for stage, row in found[side]["stages"].items()}  # type: ignore[index]
        for side in ("expected", "upper")
    }
    assert counts["upper"] == {"rollout": 100, "summarize": 100, "critique": 20, "consolidate": 4, "evaluate": 24}
    assert counts["expected"] == {"rollout": 100, "summarize": 50, "critique": 10, "consolidate": 4, "evaluate": 24}
    assert found["upper"]["usd"] > found["expected"]["usd"] > 0  # type: ignore[index]
    assert found["assumptions"]["query"] == 20  # type: ignore[index]


@pytest.mark.parametrize("given", [("--allow-overlap",), ("--allow-overlap", "on"), ("--allow_overlap", "true")])
def test_a_switch_may_stand_alone_or_take_a_word(data: Path, given: tuple[str, ...]) -> None:
    plan = ("--data", data, "--test", data, "--reward", "exact", "--model", "gpt-4o-mini", "--json")
    for place in (given + plan, plan + given):
        result = run(*place)
        assert result.exit_code == 0, result.output
    assert isinstance(run(*plan, "--allow-overlap", "off").exception, ConfigError)
    assert "is not a valid boolean" in run(*plan, "--allow-overlap", "perhaps").output


def test_the_table_shows_both_columns_and_the_assumptions(data: Path) -> None:
    result = run("--data", data, "--reward", "exact", "--model", "gpt-4o-mini", "--epochs", 1)
    assert result.exit_code == 0
    rows = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line}
    assert rows["critique"][1] == "5"
    assert rows["critique"][4] == "10"
    assert rows["total"][3].startswith("$")
    assert "50 % of the groups" in result.stdout
    assert "query 20" in result.stdout


def test_the_share_of_informative_groups_can_be_given(data: Path) -> None:
    plan = ("--data", data, "--reward", "exact", "--model", "m", "--epochs", 1)
    found = as_json(*plan, "--informative-share", 0.2)
    assert found["expected"]["stages"]["critique"]["calls"] == 2  # type: ignore[index]
    assert run(*plan, "--informative-share", 2).exit_code == 2


def test_a_model_without_a_price_has_unknown_dollars(data: Path) -> None:
    plan = ("--data", data, "--reward", "exact", "--model", "nobody-knows")
    assert as_json(*plan)["upper"]["usd"] is None  # type: ignore[index]
    shown = run(*plan).stdout
    assert "unknown" in shown
    assert "$" not in shown


def test_an_embedded_model_is_free_and_is_not_fetched(data: Path) -> None:
    plan = ("--data", data, "--reward", "exact", "--model", "local:no-such-model", "--rollout-max-tokens", 48)
    found = as_json(*plan)
    assert found["upper"]["usd"] == 0  # type: ignore[index]
    assert found["upper"]["stages"]["summarize"]["calls"] == 0  # type: ignore[index]
    assert found["upper"]["stages"]["consolidate"]["calls"] == 0  # type: ignore[index]
    assert "free" in run(*plan).stdout


def test_prices_of_the_configuration_count(data: Path) -> None:
    config = data.parent / "run.yaml"
    config.write_text(
        f"dataset: {data}\nreward: exact\nmodel: mine\nprices: {{mine: {{prompt: 1, completion: 1}}}}\n",
        encoding="utf-8",
    )
    upper = as_json(config)["upper"]
    assert upper["usd"] == pytest.approx((upper["prompt_tokens"] + upper["completion_tokens"]) / 1e6)  # type: ignore[index]


def test_without_data_the_message_says_what_to_give() -> None:
    result = run("--model", "m")
    assert isinstance(result.exception, ConfigError)
    assert "--data" in str(result.exception)


def test_what_the_figures_leave_out_is_said(data: Path) -> None:
    result = run("--data", data, "--reward", "judge")
    assert result.exit_code == 0
    assert "no model is given" in result.stderr
    assert "judge's own calls" in result.stderr
    assert "each tool step" in run("--data", data, "--reward", "exact", "--mode", "agent").stderr
