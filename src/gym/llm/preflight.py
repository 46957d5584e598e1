"""Before anything is spent: is someone there, is the key right, is the model known?"""

from difflib import get_close_matches
from typing import Any

from gym.core.chat import ChatModel, Message, Sampling
from gym.errors import AccessDenied, RequestRejected
from gym.llm.openai_compatible import OpenAICompatible


async def preflight(model: ChatModel) -> None:
    """Return when the model can be asked; raise the `ProviderError` that the first call would have met.

    One GET /models; a server without that is accepted when it answers at all. A model that is not listed (some servers
    list only part, some accept any name) is asked for one token: the server decides.
    """
    transport = _innermost(model)
    if not isinstance(transport, OpenAICompatible):
        return
    try:
        listed = await transport.models()
    except (RequestRejected, AccessDenied) as error:
        if error.status == 401:
            raise
        return
    if listed and transport.model not in listed and f"{transport.model}:latest" not in listed:
        await _ask(transport, listed)


async def _ask(transport: OpenAICompatible, listed: list[str]) -> None:
    try:
        await transport.complete((Message(role="user", content="Say yes."),), Sampling(max_tokens=1))
    except (RequestRejected, AccessDenied) as error:
        near = get_close_matches(transport.model, listed, n=3, cutoff=0.4) or listed[:8]
        text = f"{transport.url} does not serve {transport.model!r}; it lists {', '.join(near)} ({error})"
        raise AccessDenied(text, status=error.status) from error


def _innermost(model: Any) -> Any:
    while (inner := getattr(model, "inner", None)) is not None:
        model = inner
    return model
