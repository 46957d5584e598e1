"""The transport over a real loopback socket: what is sent, what comes back, what every fault becomes."""

import asyncio
import gc
import logging
import socket
from collections.abc import Callable
from typing import Any

import pytest

from gym.core.chat import Message, Sampling
from gym.errors import (
    AccessDenied,
    ConfigError,
    ConnectionFailed,
    ContextExceeded,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFailed,
    TimedOut,
    ToolsRefused,
)
from gym.llm import blocking
from gym.llm.openai_compatible import OpenAICompatible
from gym.llm.scripted_server import Answer, ScriptedServer, completion_body, error_body

ASK = (Message(role="system", content="Be brief."), Message(role="user", content="2 + 2?"))
KEY = "sk-very-secret-0123456789"


async def error_of(answer: Answer, sampling: Sampling = Sampling(), **options: Any) -> ProviderError:  # noqa: B008
    async with (
        ScriptedServer(lambda body: answer) as server,
        OpenAICompatible("m", server.base_url, KEY, **options) as model,
    ):
        with pytest.raises(ProviderError) as caught:
            await model.complete(ASK, sampling)
        return caught.value


async def test_temperature_zero_is_sent_as_zero_and_none_is_not_sent() -> None:
    async with ScriptedServer(lambda body: "4") as server, OpenAICompatible("m", server.base_url) as model:
        await model.complete(ASK, Sampling(temperature=0, max_tokens=7, seed=3, top_p=0.5, stop=("\n",), sample=9))
        await model.complete(ASK, Sampling())
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]
    full = {"temperature": 0, "max_tokens": 7, "seed": 3, "top_p": 0.5, "stop": ["\n"]}
    assert server.requests == [{"model": "m", "messages": messages} | full, {"model": "m", "messages": messages}]


async def test_a_json_schema_is_sent_as_response_format() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    async with ScriptedServer(lambda body: "{}") as server, OpenAICompatible("m", server.base_url) as model:
        await model.complete(ASK, Sampling(json_schema=schema))
    sent = server.requests[0]["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["schema"] == schema


async def test_a_completion_is_read_whole() -> None:
    body = completion_body("4", system_fingerprint="fp_1")
    async with ScriptedServer(lambda _: Answer(body)) as server, OpenAICompatible("m", server.base_url) as model:
        completion = await model.complete(ASK, Sampling())
    assert (completion.text, completion.finish_reason, completion.model) == ("4", "stop", "scripted-model")
    assert (completion.usage.prompt, completion.usage.completion, completion.system_fingerprint) == (10, 5, "fp_1")
    assert completion.latency_s > 0


async def test_lone_surrogates_survive_both_ways() -> None:
    body = Answer(completion_body("half \ud83c a flag"))
    async with ScriptedServer(lambda _: body) as server, OpenAICompatible("m", server.base_url) as model:
        completion = await model.complete([Message(role="user", content="\ud83c and \ud83c\udf89")], Sampling())
    assert completion.text == "half \ud83c a flag"
    assert server.requests[0]["messages"][0]["content"] == "\ufffd and 🎉"


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (Answer(error_body("Incorrect key"), 401), AccessDenied, "401: Incorrect key (check the API key)"),
        (Answer(error_body("Insufficient Balance"), 402), AccessDenied, "no credit left"),
        (Answer(error_body("no"), 403), AccessDenied, "403: no"),
        (Answer(error_body("no model m"), 404), AccessDenied, "check the model 'm'"),
        (Answer(error_body("slow down"), 429), RateLimited, "429: slow down"),
        (Answer(error_body("pay", code="insufficient_quota"), 429), AccessDenied, "no credit left"),
        (Answer({"detail": "boom"}, 500), ServerFailed, "500: boom"),
        (Answer("<html>Bad gateway</html>", 502), ServerFailed, "502: an HTML page"),
        (Answer("<html>Welcome</html>"), ServerFailed, "200 with an HTML page"),
        (Answer('{"choices": [{"mess'), ServerFailed, "200 with broken JSON"),
        (Answer({"hello": 1}), ServerFailed, "without 'choices'"),
        (Answer(error_body("upstream is down", code=503)), ServerFailed, "503: upstream is down"),
        (Answer(fault="cut"), ServerFailed, "broke off in the middle"),
        (Answer(error_body("too long", code="context_length_exceeded"), 400), ContextExceeded, "does not fit"),
        (Answer(error_body("too long", type="exceed_context_size_error"), 400), ContextExceeded, "does not fit"),
        (Answer(error_body("messages is empty"), 400), RequestRejected, "400: messages is empty"),
        (Answer("", 307, {"Location": "https://elsewhere"}), RequestRejected, "redirects"),
        (Answer(fault="reset"), ConnectionFailed, "closed the connection"),
    ],
)
async def test_each_refusal_becomes_its_error(answer: Answer, kind: type[ProviderError], words: str) -> None:
    error = await error_of(answer)
    assert type(error) is kind
    assert words in str(error)
    assert "\n" not in str(error)
    assert "http://127.0.0.1:" in str(error)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(error_body("registry.ollama.ai/library/gemma:2b does not support tools"), 400),
        Answer(
            {"message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser', "code": 400},
            400,
        ),
        Answer(error_body("tools param requires --jinja flag"), 500),
        Answer(error_body("No endpoints found that support tool use."), 404),
        Answer(
            error_body("Unrecognized request argument supplied: tools", param="tools", code="unknown_parameter"), 400
        ),
        Answer(error_body("This model does not support function calling"), 400),
    ],
)
async def test_a_server_without_tools_is_told_from_one_that_refuses_the_request(answer: Answer) -> None:
    error = await error_of(answer)
    assert type(error) is ToolsRefused
    assert not error.fatal
    assert "--tool-calls text" in str(error)


async def test_a_bad_tool_is_a_bad_request() -> None:
    error = await error_of(Answer(error_body("Invalid schema for function 'add'", param="tools[0].function"), 400))
    assert type(error) is RequestRejected


async def test_a_hang_is_cut_at_the_time_limit() -> None:
    error = await error_of(Answer(fault="hang"), timeout_s=0.05)
    assert isinstance(error, TimedOut)
    assert error.retryable
    assert "no answer within 0.05 s" in str(error)


async def test_a_dead_endpoint_and_an_unknown_name_are_connection_failures() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound, not listening: refused
        async with OpenAICompatible("m", f"http://127.0.0.1:{held.getsockname()[1]}/v1") as model:
            with pytest.raises(ConnectionFailed, match="is the server up"):
                await model.complete(ASK, Sampling())
    async with OpenAICompatible("m", "http://no-such-host.invalid/v1", timeout_s=20) as model:
        with pytest.raises(ConnectionFailed):
            await model.complete(ASK, Sampling())


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "30"}, 30.0),
        ({"retry-after-ms": "1500", "Retry-After": "2"}, 1.5),
        ({"Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({}, None),
    ],
)
async def test_retry_after_is_read_in_every_form(headers: dict[str, str], wait: float | None) -> None:
    assert (await error_of(Answer("", 429, headers))).retry_after_s == wait


def refusing(*wordings: tuple[str, str]) -> Callable[[dict[str, Any]], Answer | str]:
    """A server that refuses parameters with the given wording."""

    def script(body: dict[str, Any]) -> Answer | str:
        for parameter, words in wordings:
            if parameter in body:
                return Answer(error_body(words, type="invalid_request_error"), 400)
        return "4"

    return script


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("temperature", "Unsupported value: 'temperature' does not support 0 with this model."),
        ("response_format", "This response_format type is unavailable now"),
        ("seed", "Unrecognized request argument supplied: seed"),
        ("stop", "Unsupported parameter: 'stop' is not supported with this model."),
        ("top_p", "[{'loc': ['body', 'top_p'], 'msg': 'Extra inputs are not permitted'}]"),
    ],
)
async def test_an_unsupported_parameter_is_left_out_remembered_and_said_once(
    parameter: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    sampling = Sampling(temperature=0, max_tokens=5, seed=1, top_p=0.5, stop=("x",), json_schema={"type": "object"})
    async with ScriptedServer(refusing((parameter, words))) as server, OpenAICompatible("m", server.base_url) as model:
        assert (await model.complete(ASK, sampling)).text == "4"
        assert (await model.complete(ASK, sampling)).text == "4"
    assert [parameter in body for body in server.requests] == [True, False, False]
    assert server.requests[1].keys() == server.requests[0].keys() - {parameter}
    assert [record.levelno for record in caplog.records if repr(parameter) in record.getMessage()] == [logging.WARNING]


async def test_max_tokens_becomes_max_completion_tokens_where_the_server_wants_it() -> None:
    script = refusing(
        ("max_tokens", "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
        ("temperature", "'temperature' does not support 0.7; only the default (1) value is supported."),
    )
    async with ScriptedServer(script) as server, OpenAICompatible("m", server.base_url) as model:
        await model.complete(ASK, Sampling(temperature=0.7, max_tokens=64))
        await model.complete(ASK, Sampling(temperature=0.7, max_tokens=32))
    sent = [{key: body[key] for key in body if key not in ("model", "messages")} for body in server.requests]
    assert sent == [
        {"temperature": 0.7, "max_tokens": 64},
        {"temperature": 0.7, "max_completion_tokens": 64},
        {"max_completion_tokens": 64},
        {"max_completion_tokens": 32},
    ]


async def test_many_calls_that_meet_the_same_refusal_each_retry_once_and_say_it_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script = refusing(("seed", "unknown parameter: seed"))
    async with ScriptedServer(script) as server, OpenAICompatible("m", server.base_url) as model:
        await asyncio.gather(*(model.complete(ASK, Sampling(seed=1)) for _ in range(8)))
    assert len([body for body in server.requests if "seed" not in body]) == 8
    assert len(server.requests) == 16
    assert len(caplog.records) == 1


async def test_a_bad_value_of_a_known_parameter_is_the_users_error_and_not_dropped() -> None:
    error = await error_of(
        Answer(error_body("max_tokens is too large: 99999. At most 16384.", param="max_tokens"), 400),
        Sampling(max_tokens=99999),
    )
    assert type(error) is RequestRejected


async def test_models_are_listed_in_both_shapes() -> None:
    for listing in (("a", "b"), Answer([{"id": "a"}, {"id": "b"}])):
        async with (
            ScriptedServer(lambda body: "", models=listing) as server,
            OpenAICompatible("m", server.base_url) as model,
        ):
            assert await model.models() == ["a", "b"]


async def test_no_key_in_errors_repr_or_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        error = await error_of(Answer(error_body(f"Incorrect API key provided: {KEY}"), 401))
        script = refusing(("seed", f"unsupported: seed for {KEY}"))
        async with ScriptedServer(script) as server:
            address = server.base_url.replace("127.0.0.1", "user:pass-word@127.0.0.1") + "?token=abcdef"
            async with OpenAICompatible("m", address, KEY, extra_headers={"X-Key": "other-secret"}) as model:
                await model.complete(ASK, Sampling(seed=1))
                shown = repr(model) + model.url
    everything = str(error) + shown + caplog.text
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert server.headers[0]["X-Key"] == "other-secret"
    for secret in (KEY, "pass-word", "abcdef", "other-secret"):
        assert secret not in everything


@pytest.mark.parametrize(
    ("base_url", "key", "words"),
    [
        ("127.0.0.1:8080/v1", None, "must start with http"),
        ("ftp://x/v1", None, "must start with http"),
        ("", None, "must start with http"),
        ("http://x/v1", "sk-1\nsk-2", "the API key holds"),
        ("http://x/v1", "sk-…", "the API key holds"),
    ],
)
def test_a_url_or_key_that_cannot_work_is_the_users_error(base_url: str, key: str | None, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        OpenAICompatible("m", base_url, key)


async def test_a_url_pasted_with_its_path_works() -> None:
    async with ScriptedServer(lambda body: "4") as server:
        for tail in ("/", "/chat/completions"):
            async with OpenAICompatible("m", server.base_url + tail) as model:
                assert (await model.complete(ASK, Sampling())).text == "4"


async def test_cancelling_a_call_passes_through_and_leaves_the_model_usable() -> None:
    answers = iter([Answer(fault="hang")])
    async with (
        ScriptedServer(lambda body: next(answers, Answer(completion_body("4")))) as server,
        OpenAICompatible("m", server.base_url) as model,
    ):
        hanging = asyncio.create_task(model.complete(ASK, Sampling()))
        await server.asked.wait()
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        assert (await model.complete(ASK, Sampling())).text == "4"


def test_one_model_serves_one_event_loop_after_another() -> None:
    server = blocking.run(start(ScriptedServer(lambda body: "4")))
    ask_on_three_loops(server.base_url)
    gc.collect()  # an unclosed session would warn here, and warnings are errors
    blocking.run(server.__aexit__())


def ask_on_three_loops(base_url: str) -> None:
    model = OpenAICompatible("m", base_url)

    async def ask() -> str:
        return (await model.complete(ASK, Sampling())).text

    assert [asyncio.run(ask()), asyncio.run(ask()), blocking.run(ask())] == ["4", "4", "4"]


async def start(server: ScriptedServer) -> ScriptedServer:
    return await server.__aenter__()


async def test_a_password_in_the_url_is_sent_as_basic_authorization_and_a_query_is_kept() -> None:
    async with ScriptedServer(lambda body: "4") as server:
        address = server.base_url.replace("127.0.0.1", "user:word@127.0.0.1")
        async with OpenAICompatible("m", address + "?api-version=1") as model:
            await model.complete(ASK, Sampling())
            assert model.url == server.base_url
    assert server.headers[0]["Authorization"] == "Basic dXNlcjp3b3Jk"
    assert server.queries == ["api-version=1"]
