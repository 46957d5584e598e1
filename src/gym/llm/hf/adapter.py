"""HFAdapter: a local transformers model behind `ChatModel`, so that the same loop runs without any server."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from gym.core.chat import Completion, Message, Sampling
from gym.errors import ContextExceeded, TimedOut, ToolsRefused
from gym.llm.hf.batcher import Batcher
from gym.llm.hf.generation import Asked, Generator
from gym.llm.hf.opening import BATCH
from gym.llm.hf.place import CONTEXT_KEYS
from gym.llm.hf.prefix import overlap
from gym.llm.hf.prompt import ChatTemplate

ENDLESS = 1 << 20
"""Tokens of a model that sets no limit."""

Generate = Callable[[Sequence[Asked], Callable[[int], bool]], Sequence[Completion]]
"""Completions of a batch; the second argument tells that nobody waits for a place any more."""


class HFAdapter:
    """Answers with `model`, which is not changed: requests that wait are generated together, up to `batch_size` of them.

    Temperature and top_p that a request does not give are 1. A request with a seed is answered the same in any batch, but for
    the rounding of a batch of another shape. Raises `ConfigError` for a tokenizer without a chat template; `complete` raises
    `ContextExceeded` for a prompt that leaves no room, `TimedOut` after `timeout_s`, `ToolsRefused` for tools.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str = "",
        batch_size: int = BATCH,
        context: int | None = None,
        timeout_s: float | None = None,
        reuse_prefix: bool = True,
        shared: Callable[[Generate], Generate] = lambda generate: generate,
    ) -> None:
        """`context`: tokens of a prompt and its reply (default: the model's); `shared` may send parts of a batch elsewhere."""
        self.name = name or f"hf:{model.config.name_or_path or type(model).__name__}"
        self.template = ChatTemplate(tokenizer, self.name, _ends(model))
        self.context, self.timeout_s = context or window(model), timeout_s
        self.generator = Generator(model, self.template, reuse_prefix=reuse_prefix)
        self._batcher = Batcher[Asked, Completion](shared(self.generator.generate), batch_size, alike=_alike)

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """One completion; other requests that wait at the same time are answered with it. A JSON schema is not enforced."""
        asked = self.asked(messages, sampling)
        try:
            async with asyncio.timeout(self.timeout_s):
                return await asyncio.wrap_future(self._batcher.submit(asked))
        except TimeoutError as error:
            raise TimedOut(f"{self.name}: no answer within {self.timeout_s:g} s") from error

    def asked(self, messages: Sequence[Message], sampling: Sampling) -> Asked:
        """The request as the model takes it."""
        if sampling.tools:
            raise ToolsRefused(f"{self.name} takes no tool calls: use --tool-calls text")
        ids = self.template.ids(messages)
        if (room := self.context - len(ids)) < 1:
            raise ContextExceeded(f"{self.name}: the prompt is {len(ids)} tokens, its context {self.context}")
        return Asked(ids, sampling, min(sampling.max_tokens or room, room))

    def close(self) -> None:
        """Answer what is being answered and let the thread go."""
        self._batcher.close()


def _alike(one: Asked, other: Asked) -> int:
    """Prompt tokens that two requests share: the more, the less is computed twice."""
    return overlap((one.ids, other.ids))


def _ends(model: Any) -> tuple[int, ...]:
    told = model.generation_config.eos_token_id
    return tuple(told) if isinstance(told, list | tuple) else () if told is None else (told,)


def window(model: Any) -> int:
    """Tokens of a prompt and its reply that a loaded model takes."""
    config = model.config.get_text_config()
    return next((int(found) for key in CONTEXT_KEYS if (found := getattr(config, key, None))), ENDLESS)
