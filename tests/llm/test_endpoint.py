"""From a model's name to a model: which server, which key, and what is checked before anything is spent."""

import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import SecretStr

from gym.core.chat import Message, Sampling
from gym.errors import AccessDenied, ConfigError, ConnectionFailed, ServerFailed
from gym.llm.endpoint import Endpoint, open_model, preflight, target
from gym.llm.guarded import Guarded
from gym.llm.openai_compatible import OpenAICompatible
from gym.llm.scripted import Scripted
from gym.llm.scripted_server import Answer, ScriptedServer, error_body

ASK = (Message(role="user", content="2 + 2?"),)
KEYS = {"DEEPSEEK_API_KEY": "sk-deep", "OPENAI_API_KEY": "sk-open"}


def answer(messages: Sequence[Message], sampling: Sampling) -> str:
    """Found by `scripted:math:factorial`'s sibling below through its import path."""
    return messages[-1].content.upper()


@pytest.mark.parametrize(
    ("endpoint", "environ", "expected"),
    [
        (Endpoint("deepseek-chat"), KEYS, ("deepseek-chat", "https://api.deepseek.com/v1", "sk-deep")),
        (Endpoint("gpt-4o-mini"), KEYS, ("gpt-4o-mini", "https://api.openai.com/v1", "sk-open")),
        (Endpoint("o3-mini"), KEYS, ("o3-mini", "https://api.openai.com/v1", "sk-open")),
        (Endpoint("gpt-4o"), KEYS | {"OPENAI_BASE_URL": "http://x/v1"}, ("gpt-4o", "http://x/v1", "sk-open")),
        (Endpoint("qwen"), KEYS | {"OPENAI_BASE_URL": "http://x/v1"}, ("qwen", "http://x/v1", "sk-open")),
        (Endpoint("qwen", base_url="http://x/v1"), {}, ("qwen", "http://x/v1", None)),
        (Endpoint("qwen", base_url="http://x/v1"), KEYS, ("qwen", "http://x/v1", "sk-open")),
        (Endpoint("deepseek-r1", base_url="http://x/v1"), KEYS, ("deepseek-r1", "http://x/v1", "sk-open")),
        (Endpoint("x", base_url="https://api.deepseek.com"), KEYS, ("x", "https://api.deepseek.com", "sk-deep")),
        (Endpoint("mine.gguf", base_url="http://x/v1"), {}, ("mine.gguf", "http://x/v1", None)),
        (Endpoint(provider="deepseek"), KEYS, ("deepseek-chat", "https://api.deepseek.com/v1", "sk-deep")),
        (Endpoint("m", "deepseek", api_key=SecretStr("k")), KEYS, ("m", "https://api.deepseek.com/v1", "k")),
        (Endpoint("m", "deepseek", "http://x/v1", "k"), KEYS, ("m", "http://x/v1", "k")),
        (Endpoint("gpt-4o", "chat.completions"), KEYS, ("gpt-4o", "https://api.openai.com/v1", "sk-open")),
    ],
)
def test_an_endpoint_is_located_by_url_provider_name_or_environment(
    endpoint: Endpoint, environ: dict[str, str], expected: tuple[str, str, str | None]
) -> None:
    assert tuple(target(endpoint, environ)) == expected


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        (Endpoint("deepseek-chat"), "set DEEPSEEK_API_KEY"),
        (Endpoint("gpt-4o"), "set OPENAI_API_KEY"),
        (Endpoint("qwen"), "where is 'qwen' served\\? Give --base-url"),
        (Endpoint(), "no model"),
        (Endpoint("m", "deepsek"), "did you mean 'deepseek'"),
    ],
)
def test_what_is_missing_is_said_with_how_to_give_it(endpoint: Endpoint, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        target(endpoint, {})


def test_a_key_is_in_no_repr() -> None:
    assert "sk-1" not in repr(Endpoint("m", api_key="sk-1")) + repr(
        target(Endpoint("m", "deepseek", api_key="sk-1"), {})
    )


async def test_a_hosted_model_is_opened_behind_retries() -> None:
    async with (
        ScriptedServer(lambda body: "4") as server,
        open_model(Endpoint("m", base_url=server.base_url, api_key="sk-1", max_retries=2), {}) as model,
    ):
        assert isinstance(model, Guarded)
        assert isinstance(model.inner, OpenAICompatible)
        assert (model.name, model.max_retries) == ("m", 2)
        assert (await model.complete(ASK, Sampling())).text == "4"
    assert server.headers[0]["Authorization"] == "Bearer sk-1"


async def test_a_scripted_model_is_found_by_its_import_path() -> None:
    async with open_model(Endpoint("scripted:gym.llm.scripted:echo"), {}) as model:
        assert model.name == "scripted:gym.llm.scripted:echo"
        assert (await model.complete(ASK, Sampling())).text == "2 + 2?"
        await preflight(model)
    for wrong in (
        "scripted:gym.llm.nothing:fn",
        "scripted:gym.llm.scripted:nothing",
        "scripted:gym.llm.endpoint:SCRIPTED",
    ):
        with pytest.raises(ConfigError):
            async with open_model(Endpoint(wrong), {}):
                pass


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "return messages[-1]['content']",
            "raised TypeError: 'Message' object is not subscriptable (mine_wrong.py, line 2)",
        ),
        ("return None", "returned None: a script returns a text"),
    ],
)
async def test_a_script_that_fails_is_told_in_one_line(
    body: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine_wrong.py").write_text(f"def reply(messages, sampling):\n    {body}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mine_wrong", raising=False)
    async with open_model(Endpoint("scripted:mine_wrong:reply"), {}) as model:
        with pytest.raises(ConfigError) as failed:
            await model.complete(ASK, Sampling())
    assert str(failed.value) == f"scripted model 'scripted:mine_wrong:reply' {told}"


async def test_preflight_accepts_a_listed_model_and_spends_nothing() -> None:
    async with ScriptedServer(lambda body: "4", models=("m", "llama:latest")) as server:
        for name in ("m", "llama"):
            async with open_model(Endpoint(name, base_url=server.base_url), {}) as model:
                await preflight(model)
    assert server.requests == []


@pytest.mark.parametrize("models", [None, (), Answer(error_body("missing scope"), 403)])
async def test_preflight_accepts_a_server_that_lists_nothing(models: tuple[str, ...] | Answer | None) -> None:
    async with (
        ScriptedServer(lambda body: "4", models=models) as server,
        open_model(Endpoint("m", base_url=server.base_url), {}) as model,
    ):
        await preflight(model)
    assert server.requests == []


async def test_preflight_names_a_wrong_key() -> None:
    async with (
        ScriptedServer(lambda body: "4", models=Answer(error_body("Incorrect API key"), 401)) as server,
        open_model(Endpoint("m", base_url=server.base_url), {}) as model,
    ):
        with pytest.raises(AccessDenied, match="401: Incorrect API key \\(check the API key\\)"):
            await preflight(model)


async def test_preflight_names_an_unknown_model_and_near_ones() -> None:
    refused = Answer(error_body("The model does not exist"), 404)
    async with (
        ScriptedServer(lambda body: refused, models=("deepseek-chat", "deepseek-reasoner")) as server,
        open_model(Endpoint("deepseek-chta", base_url=server.base_url), {}) as model,
    ):
        with pytest.raises(AccessDenied, match="does not serve 'deepseek-chta'; it lists deepseek-chat"):
            await preflight(model)


async def test_preflight_lets_a_server_decide_on_a_model_it_does_not_list() -> None:
    async with (
        ScriptedServer(lambda body: "4", models=("/models/file.gguf",)) as server,
        open_model(Endpoint("anything", base_url=server.base_url), {}) as model,
    ):
        await preflight(model)
    assert [body["max_tokens"] for body in server.requests] == [1]


async def test_preflight_names_a_dead_endpoint() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        async with open_model(Endpoint("m", base_url=url), {}) as model:
            with pytest.raises(ConnectionFailed, match="is the server up and the URL right"):
                await preflight(model)
    async with (
        ScriptedServer(lambda body: "4", models=Answer("<html>", 502)) as server,
        open_model(Endpoint("m", base_url=server.base_url), {}) as model,
    ):
        with pytest.raises(ServerFailed):
            await preflight(model)


async def test_a_scripted_model_takes_sync_and_async_functions_and_errors() -> None:
    async def slow(messages: Sequence[Message], sampling: Sampling) -> str:
        return answer(messages, sampling)

    model = Scripted(slow)
    completion = await model.complete((Message(role="user", content="two words"),), Sampling())
    assert (completion.text, completion.usage.prompt, completion.usage.completion, model.calls) == (
        "TWO WORDS",
        2,
        2,
        1,
    )
    with pytest.raises(ServerFailed):
        await Scripted(lambda messages, sampling: ServerFailed("503")).complete(ASK, Sampling())
