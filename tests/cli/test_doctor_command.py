"""`gym doctor`."""

import asyncio
import json
from pathlib import Path

import pytest
from aiohttp import web
from click.testing import CliRunner, Result

from gym import __version__
from gym.cli.doctor import requirements_of_extras
from gym.cli.main import gym

Checks = dict[str, tuple[str, str]]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(gym, ["doctor", *arguments])


def checks_of(result: Result) -> Checks:
    return {check["name"]: (check["status"], check["detail"]) for check in json.loads(result.stdout)["checks"]}


@pytest.fixture(autouse=True)
def silent_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "UTU_LLM_TYPE",
        "UTU_LLM_MODEL",
        "UTU_LLM_BASE_URL",
        "UTU_LLM_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)


def install_other_gym(folder: Path) -> None:
    """What pip leaves of OpenAI's old gym."""
    facts = folder / "gym-0.26.2.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: gym\nVersion: 0.26.2\n")
    (facts / "RECORD").write_text("gym/__init__.py,,\ngym/envs/__init__.py,,\n")


def test_without_a_model_the_installation_is_told_and_nothing_fails() -> None:
    result = run("--json")
    found = checks_of(result)
    assert result.exit_code == 0
    assert found["zoo-gym"][1].startswith(__version__)
    assert found["import name"] == ("ok", "`import gym` is ours alone")
    assert found["[local]"][0] == "ok"
    assert "xllamacpp" in found["[local]"][1]
    assert "GB free" in found["disk"][1]
    assert "endpoint" not in found


def test_every_check_is_one_line_that_starts_with_its_status() -> None:
    lines = run().stdout.splitlines()
    assert len(lines) == len(checks_of(run("--json")))
    assert all(line.split()[0] in ("ok", "warn", "fail") for line in lines)


def test_another_distribution_called_gym_is_found_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_other_gym(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    result = run("--json")
    status, detail = checks_of(result)["import name"]
    assert (status, result.exit_code) == ("fail", 1)
    assert "shared with gym" in detail
    assert "pip uninstall gym" in detail


def test_extras_are_read_from_the_package_itself() -> None:
    assert set(requirements_of_extras()["local"]) >= {"xllamacpp"}


@pytest.mark.usefixtures("smollm")
def test_an_embedded_model_is_started_and_asked() -> None:
    result = run("--model", "local:smollm2-135m", "--json")
    assert checks_of(result)["endpoint"] == ("ok", "local:smollm2-135m answers")
    assert result.exit_code == 0


def test_a_model_that_is_not_cached_is_told_and_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path))
    for arguments in (["--model", "local:qwen2.5-coder-1.5b"], ["--provider", "local"]):
        result = run(*arguments, "--json")
        assert checks_of(result)["endpoint"] == (
            "fail",
            "qwen2.5-coder-1.5b is not here: gym model get qwen2.5-coder-1.5b",
        )
        assert result.exit_code == 1
    assert not list(tmp_path.rglob("*.gguf"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--model", "m", "--base-url", "http://127.0.0.1:9/v1"], "no connection"),
        (["--model", "gpt-4o"], "OPENAI_API_KEY"),
        (["--model", "local:nope"], "unknown embedded model"),
        (["--model", "missing.gguf"], "does not exist"),
    ],
)
def test_an_endpoint_that_does_not_answer_fails_with_the_reason(arguments: list[str], complaint: str) -> None:
    result = run(*arguments, "--json")
    status, detail = checks_of(result)["endpoint"]
    assert (status, result.exit_code) == ("fail", 1)
    assert complaint in detail


async def test_a_wrong_key_fails_and_is_not_printed() -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.json_response({"error": {"message": "bad key"}}, status=401)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", refuse)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        result = await asyncio.to_thread(
            run, "--model", "m", "--base-url", url, "--api-key", "sk-very-secret", "--json"
        )
    finally:
        await runner.cleanup()
    assert checks_of(result)["endpoint"][0] == "fail"
    assert result.exit_code == 1
    assert "sk-very-secret" not in result.output
