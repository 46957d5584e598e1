"""One question, one reply."""

import pytest

from gym.core.chat import Completion, Message, Sampling, Usage
from gym.errors import RateLimited
from gym.llm.scripted import Scripted
from gym.train.grpo.solvers.single_turn import single_turn

ASKED = (Message(role="system", content="s"), Message(role="user", content="u"))


async def test_the_trajectory_holds_what_was_sent_and_all_that_came_back() -> None:
    reply = Completion(
        text="4", reasoning="2+2", finish_reason="length", usage=Usage(prompt=3, completion=1), note="n", latency_s=0.5
    )
    found = await single_turn(Scripted(lambda messages, sampling: reply), ASKED, Sampling(temperature=0))
    assert found.messages == (*ASKED, Message(role="assistant", content="4"))
    assert (found.output, found.reasoning, found.finish_reason) == ("4", "2+2", "length")
    assert (found.usage, found.note, found.latency_s) == (reply.usage, "n", 0.5)


async def test_what_the_model_raises_passes_through() -> None:
    with pytest.raises(RateLimited):
        await single_turn(Scripted(lambda messages, sampling: RateLimited("429")), ASKED, Sampling())
