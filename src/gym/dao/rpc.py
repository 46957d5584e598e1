"""A chain's node by its JSON-RPC URL. What it fails with becomes one line of ours.

A URL's path may hold a key, so messages name the host alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gym.core.text import visible_line
from gym.dao.answers import well_formed
from gym.dao.reverts import said
from gym.dao.units import host, is_http
from gym.errors import (
    AccessDenied,
    ConfigError,
    ConnectionFailed,
    MissingExtra,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFailed,
    TimedOut,
)

try:
    import requests
    from web3 import Web3
    from web3.exceptions import (
        BadFunctionCallOutput,
        ContractLogicError,
        TimeExhausted,
        Web3Exception,
        Web3RPCError,
    )
    from web3.middleware import ExtraDataToPOAMiddleware
    from web3.providers.rpc import HTTPProvider
    from web3.providers.rpc.utils import ExceptionRetryConfiguration
    from web3.types import RPCEndpoint, RPCResponse
except ImportError as error:
    raise MissingExtra("governance", "dao") from error

TIMEOUT_S = 30.0


class Rpc(HTTPProvider):
    """A node over HTTP. Its failures are `ProviderError`s that name the host alone."""

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self.host = host(url)
        again = ExceptionRetryConfiguration(errors=(requests.ConnectionError, requests.HTTPError))  # but not TimedOut
        super().__init__(url, request_kwargs={"timeout": timeout_s}, exception_retry_configuration=again)

    def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        try:
            answer = super().make_request(method, params)
        except OSError as error:  # whatever `requests` raises is one
            raise _failure(self.host, error) from None
        except ValueError:
            raise ServerFailed(f"{self.host} answers, but not as a node of a chain (JSON-RPC) does") from None
        if not well_formed(method, answer):
            raise ServerFailed(f"{self.host} answers {method} in a way that no node of a chain does")
        return answer


def connect(url: str, *, timeout_s: float = TIMEOUT_S) -> Web3:
    """The node at this URL, which is not asked yet; raises `ConfigError` for what is no http(s) URL."""
    if not is_http(url):
        raise ConfigError(f"{host(url)!r} is no URL of a chain's node: expected http:// or https://")
    web3 = Web3(Rpc(url, timeout_s=timeout_s))
    web3.middleware_onion.inject(ExtraDataToPOAMiddleware, layer=0)  # chains of few known makers sign in that field
    return web3


@contextmanager
def translated() -> Iterator[None]:
    """While inside, what web3 raises is raised as ours, a contract's refusal in words (`RequestRejected`)."""
    try:
        yield
    except ContractLogicError as error:
        raise RequestRejected(f"refused: {said(error)}") from error
    except BadFunctionCallOutput as error:
        raise ConfigError(
            "there is no such contract on this chain: is it the right one, and the right address?"
        ) from error
    except TimeExhausted as error:
        raise TimedOut(f"sent, but in no block yet; look again later: {error}") from error
    except Web3RPCError as error:
        raise ServerFailed(f"the chain's node refused: {rpc_message(error)}") from error
    except Web3Exception as error:
        raise ProviderError(f"the chain's node answered something unexpected: {visible_line(str(error))}") from error


def rpc_message(error: Web3RPCError) -> str:
    """What a node said when it refused."""
    told = (error.rpc_response or {}).get("error")
    return visible_line(str(told.get("message", told)) if isinstance(told, dict) else str(error))


def rpc_code(error: Web3RPCError) -> int | None:
    """The number of that."""
    told = (error.rpc_response or {}).get("error")
    return told.get("code") if isinstance(told, dict) else None


def _failure(where: str, error: OSError) -> ProviderError:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is None:
        kind = TimedOut if "Timeout" in type(error).__name__ else ConnectionFailed
        return kind(f"{where}: nobody answers there ({_reason(error)})")
    if status in (401, 403):
        return AccessDenied(f"{where} refuses access (status {status}): check the key in the URL", status=status)
    if status == 429:
        return RateLimited(f"{where}: too many requests", status=status)
    return ServerFailed(f"{where} failed (status {status})", status=status)


def _reason(error: BaseException) -> str:
    """The innermost reason: the outer ones repeat the URL."""
    text = str(error)
    for known in ("Connection refused", "Name or service not known", "timed out", "certificate"):
        if known.lower() in text.lower():
            return known.lower()
    return type(error).__name__
