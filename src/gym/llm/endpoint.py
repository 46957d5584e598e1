"""From a model's name to a model: which server, which key, and a guarded `ChatModel` for as long as it is open.

Searched in this order: `scripted:pkg.mod:fn`; `hf:FOLDER`; the given base URL; `local:NAME` or a GGUF file; the given
provider; the provider whose model ids start so; OPENAI_BASE_URL.
"""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pydantic import SecretStr
from yarl import URL

from gym.core.chat import ChatModel
from gym.errors import ConfigError
from gym.llm.guarded import Guarded
from gym.llm.hf.opening import BATCH, open_hf
from gym.llm.hf.place import is_hf
from gym.llm.limiter import Limiter
from gym.llm.local.catalogue import is_embedded
from gym.llm.openai_compatible import Observer, OpenAICompatible
from gym.llm.pacing import Pace
from gym.llm.preflight import preflight
from gym.llm.providers import Provider
from gym.llm.retry import Retry
from gym.llm.scripted import Scripted, blamed
from gym.llm.window import MOST, START
from gym.plugins import import_attribute, names, resolve

if TYPE_CHECKING:
    from gym.llm.local.server import LocalServer

__all__ = ["Endpoint", "Observer", "Opener", "Target", "open_model", "open_transport", "preflight", "target"]

SCRIPTED = "scripted:"
SCRIPTED_AT_ONCE = 64
"""Calls in flight to a script, when nothing else is said: it has no throughput to find out."""
RESERVED_FILES = 128
LOCAL_PATIENCE_S = 30.0
"""For a server of ours: when it died, it does not come back."""
PROTOCOL_NAMES = frozenset({"chat.completions"})
"""What UTU_LLM_TYPE says of the wire format, not of a provider."""


@dataclass(frozen=True)
class Endpoint:
    """What a user says about a model and where it is; whatever is empty is found out."""

    model: str = ""
    """Model id, `local:NAME`, path of a GGUF file, `hf:FOLDER`, or `scripted:pkg.mod:fn`."""
    provider: str = ""
    base_url: str = ""
    api_key: SecretStr | str | None = field(default=None, repr=False)
    timeout_s: float = 600.0
    """Of one attempt."""
    max_retries: int = 4
    concurrency: int | None = None
    """Calls in flight; None: as many as make it faster, for a server started by us its slots."""
    outage_patience_s: float = 0.0
    """How long an endpoint that answers nobody is waited for; 0: each call fails by itself."""
    hedge: float | None = None
    """Send a second copy of a call that takes longer than this many times the median."""
    slots: int = 4
    """Calls that a server started by us answers at once."""
    context: int | None = None
    """Tokens of a prompt and its answer, on a server started by us."""

    @property
    def scripted(self) -> bool:
        """Whether the model is a function."""
        return self.model.startswith(SCRIPTED)

    @property
    def hf(self) -> bool:
        """Whether it is a transformers model in this process."""
        return is_hf(self.model)

    @property
    def embedded(self) -> bool:
        """Whether its weights are in this machine's memory because of us."""
        return self.local or self.hf

    @property
    def local(self) -> bool:
        """Whether the model runs on this machine, in a server that we start."""
        embedded = is_embedded(self.model) or self.provider == "local"
        return embedded and not self.hf and not self.base_url


class Target(NamedTuple):
    """A hosted model, located."""

    model: str
    base_url: str
    api_key: str | None

    def __repr__(self) -> str:
        return f"Target({self.model!r}, {self.base_url!r})"


class Opener(Protocol):
    """Opens the bare model of an endpoint: `open_transport` here, an executor elsewhere."""

    def __call__(
        self,
        endpoint: Endpoint,
        environ: Mapping[str, str] | None = None,
        *,
        on_server: Callable[["LocalServer"], None] | None = None,
        say: Callable[[str], None] = lambda text: None,
        observer: Observer | None = None,
    ) -> AbstractAsyncContextManager[ChatModel]: ...


@asynccontextmanager
async def open_transport(
    endpoint: Endpoint,
    environ: Mapping[str, str] | None = None,
    *,
    on_server: Callable[["LocalServer"], None] | None = None,
    say: Callable[[str], None] = lambda text: None,
    observer: Observer | None = None,
) -> AsyncIterator[ChatModel]:
    """The bare model, which makes one attempt a call and knows no limit; `observer` sees a hosted server's headers."""
    if endpoint.scripted:
        yield _scripted(endpoint.model)
        return
    if endpoint.hf:
        async with open_hf(endpoint.model, endpoint.concurrency or BATCH, endpoint.timeout_s) as adapter:
            yield adapter
        return
    if endpoint.local:
        async with _local(endpoint, on_server, say) as transport:
            yield transport
        return
    model, base_url, key = target(endpoint, os.environ if environ is None else environ)
    async with OpenAICompatible(model, base_url, key, endpoint.timeout_s, observer=observer) as transport:
        yield transport


@asynccontextmanager
async def open_model(
    endpoint: Endpoint,
    environ: Mapping[str, str] | None = None,
    *,
    on_retry: Callable[[Retry], None] | None = None,
    on_server: Callable[["LocalServer"], None] | None = None,
    say: Callable[[str], None] = lambda text: None,
    opener: Opener = open_transport,
) -> AsyncIterator[Guarded]:
    """The model behind a limiter of its own, ready to be asked; its connections (and its server) end with the context.

    `on_server` is told of a server we started, `say` what is being waited for; `opener` opens the transport. Raises
    `ConfigError` when nobody can be asked: no URL, no key, an unknown provider.
    """
    pace = Pace()
    async with opener(endpoint, environ, on_server=on_server, say=say, observer=pace) as transport:
        limiter = _limiter(endpoint, transport, pace, say)
        retries = 0 if isinstance(transport, Scripted) else endpoint.max_retries
        yield Guarded(transport, limiter, max_retries=retries, hedge=endpoint.hedge, on_retry=on_retry)


def _limiter(endpoint: Endpoint, transport: ChatModel, pace: Pace, say: Callable[[str], None]) -> Limiter:
    """The limit that suits the endpoint: a script neither paces nor breaks down, a model of ours has its slots."""
    if endpoint.scripted:
        return Limiter(endpoint.concurrency or SCRIPTED_AT_ONCE, where=endpoint.model, say=say)
    patience_s = endpoint.outage_patience_s
    if endpoint.embedded:
        slots = BATCH if endpoint.hf else endpoint.slots
        return Limiter(
            endpoint.concurrency or slots * getattr(transport, "workers", 1),
            where=transport.name,
            patience_s=min(patience_s, LOCAL_PATIENCE_S),
            say=say,
        )
    where = getattr(transport, "url", transport.name)
    return Limiter(endpoint.concurrency, most=_connections(), where=where, patience_s=patience_s, pace=pace, say=say)


def _connections() -> int:
    """How many calls may be in flight without running out of open files, some left for everything else."""
    try:
        import resource  # not on Windows
    except ImportError:
        return MOST
    return max(START, min(MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED_FILES))


def target(endpoint: Endpoint, environ: Mapping[str, str]) -> Target:
    """Model id, URL and key of a hosted endpoint; raises `ConfigError` that says what is missing and how to give it."""
    provider = _provider(endpoint, environ)
    base_url = endpoint.base_url or _base_url(provider, environ)
    model = endpoint.model or (provider.default_model if provider else "")
    if not model:
        raise ConfigError("no model: give --model NAME (a hosted model, local:NAME, a GGUF file, or hf:FOLDER)")
    if not base_url:
        known = ", ".join(names("provider"))
        raise ConfigError(f"where is {model!r} served? Give --base-url URL or --provider NAME (known: {known})")
    return Target(model, base_url, _key(endpoint, provider, environ))


def _provider(endpoint: Endpoint, environ: Mapping[str, str]) -> Provider | None:
    """The named provider; else the one at the base URL's host; else the one the model id points to."""
    if endpoint.provider and endpoint.provider not in PROTOCOL_NAMES:
        found: Provider = resolve("provider", endpoint.provider)
        return found
    known: list[Provider] = [resolve("provider", name) for name in names("provider")]
    if endpoint.base_url:
        host = URL(endpoint.base_url).host
        return next((one for one in known if one.base_url and URL(one.base_url).host == host), None)
    return next((one for one in known if one.prefixes and endpoint.model.startswith(one.prefixes)), None)


def _base_url(provider: Provider | None, environ: Mapping[str, str]) -> str:
    if provider is None:
        return environ.get("OPENAI_BASE_URL", "")
    return environ.get(provider.base_url_env, "") or provider.base_url


def _key(endpoint: Endpoint, provider: Provider | None, environ: Mapping[str, str]) -> str | None:
    """The given key, else the provider's variable; a server that is no known provider may do without."""
    given = endpoint.api_key
    given = given.get_secret_value() if isinstance(given, SecretStr) else given
    key = (given or environ.get(provider.key_env if provider else "OPENAI_API_KEY") or "").strip()
    if not key and provider and provider.key_env and not endpoint.base_url:
        raise ConfigError(f"{provider.name} needs a key: set {provider.key_env} or give api_key (${{ENV}} is read)")
    return key or None


def _scripted(model: str) -> Scripted:
    script = import_attribute(model.removeprefix(SCRIPTED), what="scripted model")
    if not callable(script):
        raise ConfigError(f"scripted model {model!r}: {script!r} is no function of (messages, sampling)")
    return Scripted(blamed(script, model), name=model)


@asynccontextmanager
async def _local(
    endpoint: Endpoint, on_server: Callable[["LocalServer"], None] | None, say: Callable[[str], None]
) -> AsyncIterator[OpenAICompatible]:
    from gym.llm.local.server import serve  # its own room: hosted models do without it

    model = endpoint.model or resolve("provider", "local").default_model
    model = model if model.startswith("local:") or model.lower().endswith(".gguf") else f"local:{model}"
    context = {} if endpoint.context is None else {"context": endpoint.context}
    async with serve(model, slots=endpoint.slots, say=say, **context) as server:
        if on_server is not None:
            on_server(server)
        name = PurePath(model).name  # a file's place is not part of a call's identity
        async with OpenAICompatible(server.model, server.base_url, None, endpoint.timeout_s, name=name) as transport:
            yield transport
