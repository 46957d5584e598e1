"""Settings are parsed once at the edge: every spelling, one precedence, no secret shown (SPEC 4.2, 4.7)."""

import json
from pathlib import Path

import pytest

from gym.config import RunConfig, load_config
from gym.errors import ConfigError

SEEDS_YAML = """
model_name_or_path: deepseek-chat
api_mode: true
api_base_url: https://api.deepseek.com/v1
api_key: ${DEEPSEEK_API_KEY}
finetuning_type: grpo
continuous_learning_grpo: true
grpo_group_size: 5
grpo_normalize_advantages: false  # Not used in training-free
dataset: aime24
dataset_truncate: 100
domain: math
epochs: 3
batch_size: 64
rollout_concurrency: 5
rollout_temperature: 0.7
rollout_max_tokens: 4096
task_timeout: 3600
output_dir: ./output/grpo_free_math
save_steps: 1
logging_steps: 1
experience_lib_path: ""
experience_max_size: 100
semantic_max_operations: 3
use_groundtruth: true
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_of_the_seeds_is_known(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, SEEDS_YAML), environ={"DEEPSEEK_API_KEY": "sk-1"})
    assert config.grpo_group_size == 5
    assert config.api_key is not None
    assert config.api_key.get_secret_value() == "sk-1"
    assert load_config(written(tmp_path, SEEDS_YAML), environ={}).api_key is None


def test_the_command_line_wins_over_the_file_and_the_file_over_the_environment(tmp_path: Path) -> None:
    file = written(tmp_path, "model: from-file\nepochs: 7\n")
    environ = {"UTU_LLM_MODEL": "from-environment", "UTU_LLM_BASE_URL": "http://environment/v1"}
    config = load_config(file, {"epochs": 2}, environ)
    assert (config.model_name_or_path, config.epochs, config.api_base_url) == ("from-file", 2, "http://environment/v1")


HOSTED = {"provider": "openai", "api_base_url": "http://file/v1", "api_key": "sk-file"}


def place(config: RunConfig) -> tuple[str, str, str | None]:
    key = config.api_key.get_secret_value() if config.api_key else None
    return config.provider, config.api_base_url, key


@pytest.mark.parametrize("model", ["local:qwen2.5-coder-1.5b", "~/m/My.GGUF", "scripted:pkg.mod:fn"])
def test_a_model_that_is_its_own_place_takes_no_endpoint_from_a_weaker_source(tmp_path: Path, model: str) -> None:
    file = written(tmp_path, json.dumps({"model": "gpt-4o", **HOSTED}))
    assert place(load_config(file, {"model": "gpt-4o-mini"}, {})) == tuple(HOSTED.values())
    assert place(load_config(file, {"model": model}, {})) == ("", "", None)
    environ = {"UTU_LLM_TYPE": "openai", "UTU_LLM_BASE_URL": "http://environment/v1", "UTU_LLM_API_KEY": "sk"}
    assert place(load_config(written(tmp_path, json.dumps({"model": model})), {}, environ)) == ("", "", None)


def test_an_endpoint_given_with_such_a_model_or_by_a_stronger_source_is_kept(tmp_path: Path) -> None:
    served = {"model": "local:served-elsewhere", "api_base_url": "http://file/v1"}
    assert load_config(written(tmp_path, json.dumps(served)), {}, {}).api_base_url == "http://file/v1"
    given = {"base_url": "http://command/v1"}
    assert load_config(written(tmp_path, json.dumps(served)), given, {}).api_base_url == "http://command/v1"
    hosted = written(tmp_path, json.dumps({"model": "gpt-4o", **HOSTED}))
    assert place(load_config(hosted, {"model": "local:x", **given}, {})) == ("", "http://command/v1", None)


@pytest.mark.parametrize("spelling", ["group_size", "group-size", "grpo_group_size", "--grpo-group-size", "grpo_n"])
def test_a_key_may_be_spelled_with_dashes_underscores_or_its_alias(spelling: str) -> None:
    assert load_config(None, {spelling: 9}, {}).grpo_group_size == 9


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("grpo_grup_size: 3", ["'grpo_grup_size'", "did you mean 'grpo_group_size'"]),
        ("epochs: many", ["epochs", "'many'"]),
        ("epochs: 0", ["epochs", "greater than or equal to 1"]),
        ("[1, 2", ["not valid YAML"]),
        ("just words", ["expected `key: value` lines"]),
        ("gate: maybe", ["gate", "'maybe'"]),
        ("rollout_temperature: .inf", ["rollout_temperature", "finite"]),
        ("prices: {m: {prompt: -5}}", ["prices", "greater than or equal to 0"]),
        ("api_base_url: http://host/${NOWHERE}/v1", ["api_base_url", "NOWHERE is not set"]),
    ],
)
def test_what_cannot_be_understood_says_what_and_where(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(written(tmp_path, text), environ={})
    for word in words:
        assert word in str(caught.value)


def test_all_mistakes_are_told_at_once_each_with_its_place(tmp_path: Path) -> None:
    path = written(tmp_path, "gate: maybe\nepochs: 2\nrollout_temperature: warm\n")
    with pytest.raises(ConfigError) as told:
        load_config(path, {"epochs": 0}, environ={})
    lines = set(map(str.strip, str(told.value).splitlines()))
    assert "command line: epochs: must be greater than or equal to 1 (got 0)" in lines
    assert f"{path}: gate: must be 'auto', 'paired' or 'none' (got 'maybe')" in lines
    assert any(line.startswith(f"{path}: rollout_temperature: must be a valid number") for line in lines)


def test_prices_may_be_given_as_json_on_the_command_line() -> None:
    config = load_config(None, {"prices": '{"m": {"prompt": 1, "completion": 2}}'}, {})
    assert config.prices == {"m": {"prompt": 1.0, "completion": 2.0}}
    with pytest.raises(ConfigError, match="prices"):
        load_config(None, {"prices": "{"}, {})


@pytest.mark.parametrize(("given", "expected"), [("auto", "auto"), ("Auto", "auto"), ("64", 64), (5, 5)])
def test_concurrency_is_a_number_or_auto(given: object, expected: object) -> None:
    assert load_config(None, {"rollout_concurrency": given}, {}).rollout_concurrency == expected
    assert RunConfig().rollout_concurrency == "auto"


@pytest.mark.parametrize("given", ["0", "-1", "fast", 0, -1, 2.5, True, ""])
def test_any_other_concurrency_is_refused_with_what_to_give(given: object) -> None:
    with pytest.raises(ConfigError, match=r"rollout_concurrency: .*a number of 1 or more, or auto") as caught:
        load_config(None, {"rollout_concurrency": given}, {})
    assert repr(given) in str(caught.value)


def test_temperature_zero_is_a_temperature() -> None:
    config = load_config(None, {"temperature": 0, "eval_temperature": 0.0}, {})
    assert (config.rollout_temperature, config.eval_temperature) == (0.0, 0.0)


def test_no_secret_is_shown_saved_or_part_of_an_error(tmp_path: Path) -> None:
    config = load_config(None, {"api_key": "sk-secret", "judge_api_key": "sk-judge"}, {})
    for text in (repr(config), str(config.public()), str(config.identity())):
        assert "sk-" not in text
    with pytest.raises(ConfigError) as caught:
        load_config(written(tmp_path, "api_key: 123456789\n"), environ={})
    assert "123456789" not in str(caught.value)


def test_a_password_in_a_url_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError, match="must not hold a user or password") as caught:
        load_config(None, {"base_url": "http://user:PASSWORD@127.0.0.1/v1"}, {})
    assert "PASSWORD" not in str(caught.value)


def test_the_digest_changes_with_what_decides_the_result_and_with_nothing_else() -> None:
    base = RunConfig(model_name_or_path="m")
    assert base.digest() == RunConfig(model_name_or_path="m", rollout_concurrency=3, budget_calls=4, hedge=3.0).digest()
    assert base.digest() != RunConfig(model_name_or_path="m", seed=1).digest()


FILES = {"files": {"command": "serve-files", "env": {"TOKEN": "${SECRET}"}}}


def test_tools_are_a_list_or_names_between_commas(tmp_path: Path) -> None:
    file = written(tmp_path, "mode: agent\ntools: [python, my.tools:SEARCH]\n")
    assert load_config(file, environ={}).tools == ("python", "my.tools:SEARCH")
    assert load_config(file, {"tools": "python, "}, environ={}).tools == ("python",)


def test_a_servers_secrets_are_filled_in_when_it_starts_and_never_saved() -> None:
    environ = {"SECRET": "s3cret"}
    for given in (FILES, json.dumps(FILES)):
        config = load_config(None, {"mode": "agent", "tools": "mcp:files", "mcp_servers": given}, environ)
        assert config.mcp_servers["files"].env == {"TOKEN": "${SECRET}"}
        assert "s3cret" not in json.dumps(config.public())


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        ({}, "the tool mcp:files has no server here (there: none)"),
        ({"other": {"command": "x"}}, "(there: other)"),
        ({"files": {}}, "give either command (a program to start) or url"),
        ({"files": {"command": "x", "url": "http://y"}}, "give either command (a program to start) or url"),
        ({"files": {"command": "x", "comand": "y"}}, "mcp_servers.files.comand: Extra inputs are not permitted"),
        ({"files": 3}, "mcp_servers.files: expected {command, args, env} or {url, headers}"),
        ("files", "mcp_servers: expected {name: {command, args, env} or {url, headers}}"),
        ({"my files": {"command": "x"}}, "'my files' is no name for a server"),
        ({"files": {"url": "http://y", "headers": {"Authorization": ["s3cret"]}}}, "mcp_servers.files.headers"),
    ],
)
def test_a_server_that_cannot_be_meant_is_refused_without_showing_what_it_holds(servers: object, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(None, {"mode": "agent", "tools": ["mcp:files"], "mcp_servers": servers}, environ={})
    assert words in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed: 1\nmodel: m\nseed: 2\n", r"'seed' stands in line 1 and again in 3"),
        ("group_size: 4\ngrpo_n: 5\n", r"'group_size' and 'grpo_n' are two names of one setting"),
    ],
)
def test_a_setting_that_is_given_twice_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        load_config(tmp_path / "c.yaml", environ={})
