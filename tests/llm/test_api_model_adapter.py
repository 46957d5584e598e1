"""The policy model's façades: the paper's calls over a real socket."""

from collections.abc import Iterator

import pytest

from gym.core.prompting import LIBRARY_HEADING
from gym.errors import ConfigError
from gym.llm import blocking
from gym.llm.scripted_server import ScriptedServer
from gym.train.grpo.api_model_adapter import APIModelAdapter, DeepSeekAdapter, LocalAdapter, OpenAIAdapter


async def start(server: ScriptedServer) -> ScriptedServer:
    return await server.__aenter__()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    running = blocking.run(start(ScriptedServer(lambda body: "4")))
    yield running
    blocking.run(running.__aexit__())


def test_a_library_goes_into_the_system_prompt_and_the_query_comes_last(server: ScriptedServer) -> None:
    model = DeepSeekAdapter("sk-1", base_url=server.base_url, instructions="Be brief.", environ={})
    assert model.generate_with_experiences("2 + 2?", "[G0]. When adding, align.") == "4"
    (body,) = server.requests
    assert body["model"] == "deepseek-chat"
    assert body["messages"] == [
        {"role": "system", "content": f"Be brief.\n\n{LIBRARY_HEADING}\n[G0]. When adding, align."},
        {"role": "user", "content": "2 + 2?"},
    ]
    assert body["temperature"] == 0.7
    model.close()


@pytest.mark.parametrize("experiences", [None, "", "None"])
def test_without_experiences_the_request_is_that_of_generate(server: ScriptedServer, experiences: str | None) -> None:
    model = OpenAIAdapter("sk-1", base_url=server.base_url, environ={})
    model.generate_with_experiences("2 + 2?", experiences, temperature=0, max_tokens=5)
    model.generate("2 + 2?", temperature=0, max_tokens=5)
    first, second = server.requests
    assert first == second
    assert first["messages"] == [{"role": "user", "content": "2 + 2?"}]
    assert (first["temperature"], first["max_tokens"], first["model"]) == (0, 5, "gpt-4o-mini")
    model.close()


async def test_the_async_twins(server: ScriptedServer) -> None:
    model = APIModelAdapter("m", base_url=server.base_url, environ={})
    assert await model.agenerate("2 + 2?", 0.0) == "4"
    assert await model.agenerate_with_experiences("2 + 2?", "[G0]. When adding, align.") == "4"
    assert [body["temperature"] for body in server.requests] == [0.0, 0.7]
    model.close()


def test_a_local_adapter_talks_to_a_running_server(server: ScriptedServer) -> None:
    model = LocalAdapter(base_url=server.base_url, environ={})
    assert model.generate("2 + 2?") == "4"
    model.close()


def test_a_local_adapter_wants_one_place() -> None:
    for base_url, path in (("", ""), ("http://x/v1", "a.gguf")):
        with pytest.raises(ConfigError, match="LocalAdapter needs one of"):
            LocalAdapter(base_url, path)


def test_a_missing_key_names_its_variable() -> None:
    with pytest.raises(ConfigError, match="DEEPSEEK_API_KEY"):
        DeepSeekAdapter(environ={})


def test_no_key_in_repr() -> None:
    assert repr(DeepSeekAdapter("sk-secret", environ={})) == "DeepSeekAdapter(model='deepseek-chat')"
