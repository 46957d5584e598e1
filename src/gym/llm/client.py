"""LLMClient: a prompt in, a text out (SPEC 3.6)."""

import os
from collections.abc import Mapping

from pydantic import SecretStr

from gym.core.chat import ChatModel, Message, Sampling
from gym.llm import blocking
from gym.llm.endpoint import Endpoint
from gym.llm.on_demand import OnDemand

MAX_TOKENS = 4096


class LLMClient:
    """A chat model for plain prompts. Key and URL default to the provider's environment variables and address.

    Any model of `gym.llm.endpoint` works: a hosted id, `local:NAME`, a GGUF file, `scripted:pkg.mod:fn`.
    """

    def __init__(
        self,
        api_key: str | None = None,
        model: str = "deepseek-chat",
        base_url: str = "",
        *,
        provider: str = "",
        timeout_s: float = 600.0,
        max_retries: int = 4,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        key = SecretStr(api_key) if api_key else None
        endpoint = Endpoint(model, provider, base_url, key, timeout_s=timeout_s, max_retries=max_retries)
        self._on_demand = OnDemand(endpoint, os.environ if environ is None else environ)

    def __repr__(self) -> str:
        return f"LLMClient(model={self.model!r})"

    @property
    def model(self) -> str:
        """The model id."""
        return self._on_demand.name

    @property
    def chat_model(self) -> ChatModel:
        """The same model behind the protocol the rest of the house uses."""
        return self._on_demand

    async def achat(self, prompt: str, temperature: float | None = 0, max_tokens: int | None = MAX_TOKENS) -> str:
        """The reply's text, "" when there is none. Temperature 0 is sent as 0, None is left to the server.

        Raises the `ProviderError` family.
        """
        sampling = Sampling(temperature=temperature, max_tokens=max_tokens)
        return (await self._on_demand.complete((Message(role="user", content=prompt),), sampling)).text

    def chat(self, prompt: str, temperature: float | None = 0, max_tokens: int | None = MAX_TOKENS) -> str:
        """The sync twin of `achat`; works inside a running event loop too."""
        return blocking.run(self.achat(prompt, temperature, max_tokens))

    def close(self) -> None:
        """Close connections, and stop a server that we started; the end of the process does it too."""
        self._on_demand.close()
