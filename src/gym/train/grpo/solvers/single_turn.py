"""One question, one reply."""

from collections.abc import Sequence

from gym.core.chat import ChatModel, Message, Sampling
from gym.core.problem import Trajectory


async def single_turn(model: ChatModel, messages: Sequence[Message], sampling: Sampling) -> Trajectory:
    """The trajectory of one call; raises what the model raises."""
    completion = await model.complete(messages, sampling)
    return Trajectory(
        messages=(*messages, Message(role="assistant", content=completion.text)),
        output=completion.text,
        usage=completion.usage,
        finish_reason=completion.finish_reason,
        reasoning=completion.reasoning,
        note=completion.note,
        latency_s=completion.latency_s,
    )
