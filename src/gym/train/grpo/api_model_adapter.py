"""The policy model as the paper's listing uses it: a query and a rendered library in, a text out (SPEC 3.4).

Façades over `gym.llm`; the prompt layout is `gym.core.prompting`'s, the same that training and evaluation use.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from gym.core.chat import ChatModel, Sampling
from gym.core.prompting import solve_messages
from gym.errors import ConfigError
from gym.llm import blocking
from gym.llm.endpoint import Endpoint
from gym.llm.on_demand import OnDemand

TEMPERATURE = 0.7
MAX_TOKENS = 4096


class APIModelAdapter:
    """A model at an OpenAI-compatible endpoint; key and URL default to its provider's.

    `temperature` and `max_tokens` are the defaults of `generate`; `instructions` open every system prompt. Methods
    raise the `ProviderError` family; an empty reply is "".
    """

    def __init__(
        self,
        model: str = "",
        api_key: str | None = None,
        base_url: str = "",
        *,
        provider: str = "",
        temperature: float = TEMPERATURE,
        max_tokens: int = MAX_TOKENS,
        instructions: str = "",
        timeout_s: float = 600.0,
        max_retries: int = 4,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        key = SecretStr(api_key) if api_key else None
        endpoint = Endpoint(model, provider, base_url, key, timeout_s=timeout_s, max_retries=max_retries)
        self.temperature, self.max_tokens, self.instructions = temperature, max_tokens, instructions
        self._on_demand = OnDemand(endpoint, os.environ if environ is None else environ)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r})"

    @property
    def model(self) -> str:
        """The model id."""
        return self._on_demand.name

    @property
    def chat_model(self) -> ChatModel:
        """The same model behind the protocol the rest of the house uses."""
        return self._on_demand

    def generate(self, prompt: str, temperature: float | None = None, max_tokens: int | None = None) -> str:
        """The answer to a prompt; None means the adapter's default, 0 is a temperature."""
        return blocking.run(self.agenerate(prompt, temperature, max_tokens))

    async def agenerate(self, prompt: str, temperature: float | None = None, max_tokens: int | None = None) -> str:
        """The async twin of `generate`."""
        return await self.agenerate_with_experiences(prompt, None, temperature, max_tokens)

    def generate_with_experiences(
        self,
        query: str,
        experiences: str | None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> str:
        """The answer to a query under a rendered library; None, "" and "None" inject nothing at all."""
        return blocking.run(self.agenerate_with_experiences(query, experiences, temperature, max_tokens))

    async def agenerate_with_experiences(
        self,
        query: str,
        experiences: str | None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> str:
        """The async twin of `generate_with_experiences`."""
        sampling = Sampling(
            temperature=self.temperature if temperature is None else temperature,
            max_tokens=self.max_tokens if max_tokens is None else max_tokens,
        )
        messages = solve_messages(query, experiences, self.instructions)
        return (await self._on_demand.complete(messages, sampling)).text

    def close(self) -> None:
        """Close connections, and stop a server that we started; the end of the process does it too."""
        self._on_demand.close()


class DeepSeekAdapter(APIModelAdapter):
    """DeepSeek; the key defaults to DEEPSEEK_API_KEY."""

    def __init__(
        self,
        api_key: str | None = None,
        model: str = "deepseek-chat",
        base_url: str = "",
        *,
        temperature: float = TEMPERATURE,
        max_tokens: int = MAX_TOKENS,
        instructions: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            model,
            api_key,
            base_url,
            provider="deepseek",
            temperature=temperature,
            max_tokens=max_tokens,
            instructions=instructions,
            environ=environ,
        )


class OpenAIAdapter(APIModelAdapter):
    """OpenAI; key and URL default to OPENAI_API_KEY and OPENAI_BASE_URL."""

    def __init__(
        self,
        api_key: str | None = None,
        model: str = "gpt-4o-mini",
        base_url: str = "",
        *,
        temperature: float = TEMPERATURE,
        max_tokens: int = MAX_TOKENS,
        instructions: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            model,
            api_key,
            base_url,
            provider="openai",
            temperature=temperature,
            max_tokens=max_tokens,
            instructions=instructions,
            environ=environ,
        )


class LocalAdapter(APIModelAdapter):
    """A model on this machine: a running server (`base_url`), or a GGUF file or `local:NAME` that we serve."""

    def __init__(
        self,
        base_url: str = "",
        model_path: str | Path = "",
        model: str = "",
        *,
        temperature: float = TEMPERATURE,
        max_tokens: int = MAX_TOKENS,
        instructions: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        if bool(base_url) == bool(model_path or model.startswith("local:")):
            raise ConfigError("LocalAdapter needs one of base_url=URL, model_path=FILE.gguf or model='local:NAME'")
        super().__init__(
            str(model_path) or model or "local",
            None,
            base_url,
            temperature=temperature,
            max_tokens=max_tokens,
            instructions=instructions,
            environ=environ,
        )
