"""A local transformers model behind `ChatModel`, on a tiny random one: what is drawn, when it ends, what is reused."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from gym.core.chat import Completion, Message, Sampling
from gym.errors import ConfigError, ContextExceeded, TimedOut, ToolsRefused
from gym.llm.hf.opening import load
from tests.tiny_model import TRAIN, Tiny, tiny

pytestmark = TRAIN

SYSTEM = Message(role="system", content="You answer briefly.\n[G0]. When asked for a word, say it once and stop there.")


@pytest.fixture(scope="module")
def model() -> Tiny:
    return tiny()


def asking(text: str) -> tuple[Message, ...]:
    return (SYSTEM, Message(role="user", content=text))


async def answers(
    model: Tiny, requests: Sequence[tuple[str, Sampling]], batch_size: int = 8, reuse_prefix: bool = True
) -> list[Completion]:
    """Of all requests, asked at once."""
    adapter = model.adapter(batch_size=batch_size, reuse_prefix=reuse_prefix)
    try:
        return list(await asyncio.gather(*(adapter.complete(asking(text), sampling) for text, sampling in requests)))
    finally:
        adapter.close()


REQUESTS = [
    (text, Sampling(temperature=temperature, max_tokens=limit, seed=seed, top_p=top_p, stop=stop))
    for seed, (text, temperature, limit, top_p, stop) in enumerate(
        [
            ("one", 1.0, 12, None, ()), ("two words", 0.7, 20, 0.9, ()), ("one", 0.0, 9, None, ()), ("one", 1.0, 12, None, ()),
            ("a longer question than the others", 1.3, 16, 0.5, ()), ("x", 1.0, 24, None, ("e", "t")), ("y", 0.2, 5, None, ()),
        ]
    )
]  # fmt: skip


async def test_a_request_is_answered_the_same_whatever_the_batch_is(model: Tiny) -> None:
    alone = [await answers(model, [request], reuse_prefix=False) for request in REQUESTS]
    expected = [(found.text, found.finish_reason, found.usage.completion) for (found,) in alone]
    assert len({text for text, _, _ in expected}) == len(REQUESTS)
    for batch_size, reuse_prefix in ((7, True), (7, False), (3, True), (1, True)):
        for order in (REQUESTS, REQUESTS[::-1]):
            found = await answers(model, order, batch_size, reuse_prefix)
            told = [(one.text, one.finish_reason, one.usage.completion) for one in found]
            assert told == (expected if order is REQUESTS else expected[::-1])


async def test_a_seed_says_what_is_drawn_and_another_seed_draws_something_else(model: Tiny) -> None:
    same, again, other = await answers(
        model, [("one", Sampling(temperature=1.0, max_tokens=30, seed=seed)) for seed in (5, 5, 6)]
    )
    assert same.text == again.text != other.text


async def test_temperature_0_takes_the_likeliest_and_draws_nothing(model: Tiny) -> None:
    cold, colder, plain = await answers(
        model,
        [
            ("one", Sampling(temperature=0.0, max_tokens=8, seed=1)),
            ("one", Sampling(temperature=0.0, max_tokens=8, seed=2)),
            ("one", Sampling(temperature=1.0, top_p=1e-9, max_tokens=8, seed=3)),
        ],
    )
    assert cold.text == colder.text == plain.text


async def test_what_the_models_own_settings_say_of_sampling_has_no_say(
    model: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    told = tiny()
    told.model.generation_config.update(do_sample=True, temperature=0.3, top_k=2, top_p=0.5, repetition_penalty=2.0)
    assert [one.text for one in await answers(told, REQUESTS)] == [one.text for one in await answers(model, REQUESTS)]
    assert caplog.records == []


async def test_an_answer_that_takes_too_long_is_given_up(model: Tiny) -> None:
    adapter = model.adapter(timeout_s=0.2)
    with pytest.raises(TimedOut, match=r"hf:tiny: no answer within 0\.2 s"):
        await adapter.complete(asking("one"), Sampling(temperature=0.0, max_tokens=3900))
    adapter.close()


async def test_draws_follow_the_models_distribution() -> None:
    import torch

    from gym.llm.hf.draw import Draw

    scores = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]])).repeat(4000, 1)
    warm = Draw([Sampling(seed=seed) for seed in range(4000)])(None, scores).argmax(-1).bincount(minlength=4) / 4000
    assert torch.allclose(warm, torch.tensor([0.5, 0.3, 0.15, 0.05]), atol=0.03)
    cooler = Draw([Sampling(temperature=0.5, seed=seed) for seed in range(4000)])(None, scores)
    squares = torch.tensor([0.5, 0.3, 0.15, 0.05]) ** 2
    assert torch.allclose(cooler.argmax(-1).bincount(minlength=4) / 4000, squares / squares.sum(), atol=0.03)
    nucleus = Draw([Sampling(top_p=0.7, seed=seed) for seed in range(4000)])(None, scores)
    assert torch.allclose(
        nucleus.argmax(-1).bincount(minlength=4) / 4000, torch.tensor([0.625, 0.375, 0, 0]), atol=0.03
    )


async def test_a_reply_ends_at_its_limit_at_a_stop_text_or_with_its_turn(model: Tiny) -> None:
    (whole,) = await answers(model, [("one", Sampling(temperature=1.0, max_tokens=40, seed=5))])
    assert (whole.finish_reason, whole.usage.completion) == ("length", 40)
    letter = whole.text[3]
    (cut,) = await answers(model, [("one", Sampling(temperature=1.0, max_tokens=40, seed=5, stop=(letter,)))])
    assert (cut.text, cut.finish_reason) == (whole.text[: whole.text.index(letter)], "stop")
    texts = await answers(model, [("one", Sampling(temperature=1.5, seed=seed, max_tokens=400)) for seed in range(8)])
    ended = [found for found in texts if found.finish_reason == "stop"]
    assert ended
    assert all("<|im_end|>" not in found.text and found.usage.completion < 400 for found in ended)


async def test_the_common_beginning_is_read_once_and_counted_as_cached(model: Tiny) -> None:
    from gym.llm.hf.prefix import overlap

    adapter = model.adapter(batch_size=4)
    one, two = (adapter.template.ids(asking(text)) for text in ("one", "two"))
    first, second = [await adapter.complete(asking(text), Sampling(max_tokens=1)) for text in ("one", "two")]
    assert (first.usage.prompt, first.usage.cached) == (len(one), 0)
    assert (second.usage.prompt, second.usage.cached) == (len(two), overlap([one, two]))
    group = await asyncio.gather(*(adapter.complete(asking("one"), Sampling(max_tokens=1, seed=n)) for n in range(4)))
    assert [found.usage.cached for found in group] == [overlap([one, two]), *[len(one) - 1] * 3]
    adapter.close()


async def test_a_window_that_forgets_is_read_anew_every_time() -> None:
    sliding = tiny(architecture="mistral")
    assert sliding.model.config.sliding_window
    adapter = sliding.adapter()
    found = [await adapter.complete(asking("one"), Sampling(max_tokens=2, seed=0)) for _ in range(2)]
    assert [one.usage.cached for one in found] == [0, 0]
    assert found[0].text == found[1].text
    adapter.close()


async def test_a_prompt_that_leaves_no_room_is_refused_and_one_that_leaves_little_is_cut(model: Tiny) -> None:
    adapter = model.adapter(context=150)
    length = len(adapter.template.ids(asking("")))
    with pytest.raises(ContextExceeded, match=rf"hf:tiny: the prompt is {length + 200} tokens, its context 150"):
        await adapter.complete(asking("a" * 200), Sampling())
    short = await adapter.complete(asking("a" * (147 - length)), Sampling(temperature=0.0, max_tokens=100))
    assert (short.usage.completion, short.finish_reason) == (3, "length")
    adapter.close()


async def test_a_model_without_a_chat_template_is_refused(model: Tiny) -> None:
    base = tiny()
    base.tokenizer.chat_template = None
    with pytest.raises(ConfigError, match="hf:tiny has no chat template: take an instruct model"):
        base.adapter()


async def test_a_template_without_system_turns_gets_the_instructions_in_the_first_question() -> None:
    strict = tiny()
    strict.tokenizer.chat_template = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
        + strict.tokenizer.chat_template
    )
    adapter = strict.adapter()
    said = adapter.template.tokenizer.decode(list(adapter.template.ids(asking("one"))))
    assert said == f"<|im_start|>user\n{SYSTEM.content}\n\none<|im_end|>\n<|im_start|>assistant\n"


async def test_tools_are_refused_so_that_they_are_called_in_text(model: Tiny) -> None:
    from gym.core.chat import ToolSpec

    with pytest.raises(ToolsRefused, match="--tool-calls text"):
        await model.adapter().complete(
            asking("one"), Sampling(tools=(ToolSpec(name="t", description="", parameters={}),))
        )


async def test_whoever_gives_up_waiting_does_not_keep_the_others(model: Tiny) -> None:
    adapter = model.adapter(batch_size=2)
    endless = asyncio.create_task(adapter.complete(asking("one"), Sampling(temperature=0.0, max_tokens=3900)))
    other = asyncio.create_task(adapter.complete(asking("two"), Sampling(temperature=0.0, max_tokens=3)))
    waiting = asyncio.create_task(adapter.complete(asking("three"), Sampling(temperature=0.0, max_tokens=3)))
    await asyncio.sleep(0)
    endless.cancel()
    assert [found.usage.completion for found in await asyncio.gather(other, waiting)] == [3, 3]
    adapter.close()


async def test_an_error_of_the_model_reaches_everyone_who_waits(model: Tiny) -> None:
    def broken(batch: Sequence[object], abandoned: object) -> list[Completion]:
        raise ContextExceeded("no room")

    adapter = model.adapter(shared=lambda generate: broken)
    found = await asyncio.gather(
        *(adapter.complete(asking("one"), Sampling()) for _ in range(3)), return_exceptions=True
    )
    assert [str(error) for error in found] == ["no room"] * 3
    adapter.close()


async def test_the_weights_are_left_as_they_are_and_dropout_as_it_was() -> None:
    busy = tiny()
    busy.model.train()
    before = {name: tensor.clone() for name, tensor in busy.model.state_dict().items()}
    await answers(busy, REQUESTS[:2])
    assert busy.model.training
    assert all(tensor.equal(before[name]) for name, tensor in busy.model.state_dict().items())
    assert all(parameter.grad is None for parameter in busy.model.parameters())


def test_a_folder_whose_tensors_are_not_all_there_is_no_model(tmp_path: Path) -> None:
    folder = tiny().saved(tmp_path / "model")
    assert load(folder).model
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(settings | {"num_hidden_layers": 3}), encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"no whole causal language model: 9 of its tensors .* 'model\.layers\.2\.input"
    ):
        load(folder)
