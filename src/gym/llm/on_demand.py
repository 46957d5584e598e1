"""A model that is opened when it is first asked and closed at the latest when the process ends.

For façades that are plain objects (`LLMClient`, the adapters) and so have no `async with` of their own. Opening, every
call and closing run on the process's background loop, so that one limiter serves callers on any loop.
"""

import asyncio
import contextlib
import weakref
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from gym.core.chat import ChatModel, Completion, Message, Sampling
from gym.llm import blocking
from gym.llm.endpoint import Endpoint, open_model, target


class OnDemand:
    """A `ChatModel` over `open_model(endpoint)`; may be asked from any event loop.

    A hosted endpoint is located at once, so a missing key is a `ConfigError` here and not at the first call.
    """

    def __init__(self, endpoint: Endpoint, environ: Mapping[str, str]) -> None:
        self.name = endpoint.model
        if not endpoint.embedded and not endpoint.scripted:
            self.name = target(endpoint, environ).model
        self._opening = _Opening(endpoint, dict(environ))
        self._finalizer = weakref.finalize(self, _close, self._opening)

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """One completion; the first call opens the model."""
        return await asyncio.wrap_future(blocking.submit(self._opening.complete(messages, sampling)))

    def close(self) -> None:
        """Close connections, and stop a server that we started. A second call does nothing."""
        self._finalizer()


class _Opening:
    """What is open. Entered and left on the background loop alone; `_lock` makes the first call enter once."""

    def __init__(self, endpoint: Endpoint, environ: Mapping[str, str]) -> None:
        self.model: ChatModel | None = None
        self._endpoint, self._environ = endpoint, environ
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        async with self._lock:
            if self.model is None:
                self.model = await self._stack.enter_async_context(open_model(self._endpoint, self._environ))
        return await self.model.complete(messages, sampling)

    async def leave(self) -> None:
        await self._stack.aclose()


def _close(opening: _Opening) -> None:
    if opening.model is not None:
        with contextlib.suppress(RuntimeError):
            blocking.run(opening.leave())
