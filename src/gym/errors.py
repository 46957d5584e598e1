"""Every exception of the house.

    GymError
    ├── ConfigError              the user's: what, where, what to do                         exit 2
    │   ├── DataError            a data file or a row of it
    │   ├── LibraryError         an experience file or its journal
    │   └── MissingExtra         an optional dependency, told with the extra that brings it
    ├── RunFailed                the run cannot give a result (every rollout failed, say)    exit 1
    ├── StorageError             the disk is full or refuses; what was saved is said         exit 5
    ├── WeightsChanged           a frozen model was not frozen                               exit 4
    ├── AggregationError         vectors that no rule can aggregate                          exit 1
    │   └── TooFewNodes          fewer than the rule needs
    ├── Stopped                  a clean stop: state is saved, the same command continues
    │   ├── BudgetReached                                                                    exit 3
    │   └── Interrupted          Ctrl-C                                                      exit 130
    └── ProviderError            the world's: a model server's answer, or none               exit 6
        ├── ConnectionFailed     refused, reset, no name                         retryable
        │   └── TimedOut         no answer in time; it may still be billed
        ├── WorkerLost           the process that had the call ended             retryable
        ├── RateLimited          429                                             retryable
        ├── ServerFailed         5xx, or a body that is no completion            retryable
        ├── RequestRejected      any other 4xx: asking again gives the same
        │   ├── ContextExceeded  the prompt is longer than the model's window
        │   └── ToolsRefused     this server or model takes no tools
        ├── AccessDenied         401, 403, 404 (no such model): fatal, the run stops
        ├── EndpointDown         nobody answered for too long: fatal; state is saved, the same command continues
        └── HistoryMismatch      a chain's events do not give what its registry holds: fatal

What a caller should expect (a rejected operation, a failed rollout) is a value, not an exception.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar


class GymError(Exception):
    """Base of all; `str(error)` is the one message a user sees."""

    exit_code: ClassVar[int] = 1


class ConfigError(GymError):
    """Something the user wrote is wrong: the message says what, where and what to do."""

    exit_code = 2


class DataError(ConfigError):
    """A data file is missing, unreadable, empty, or a row of it is malformed."""


class LibraryError(ConfigError):
    """An experience file or its journal is unreadable or inconsistent."""


class MissingExtra(ConfigError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the extra [{extra}]: pip install 'zoo-gym[{extra}]' (in a checkout: pip install -e '.[{extra}]')"
        )
        self.what, self.extra = what, extra

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickled by what it was made of, so that a worker process can raise it here."""
        return type(self), (self.what, self.extra)


class RunFailed(GymError):
    """The run ended without a result."""


class StorageError(GymError):
    """A file could not be written; what was saved before stays."""

    exit_code = 5


class WeightsChanged(GymError):
    """The weights' digest after the run differs from the one before."""

    exit_code = 4


class AggregationError(GymError):
    """A vector that would spoil the aggregate (NaN, infinity)."""


class TooFewNodes(AggregationError):
    """The rule says nothing for so many liars among so few nodes."""


class Stopped(GymError):
    """A clean stop: everything paid is saved, and the same command continues."""


class BudgetReached(Stopped):
    """A budget in dollars, tokens or calls leaves no room for the next call."""

    exit_code = 3


class Interrupted(Stopped):
    """The user pressed Ctrl-C."""

    exit_code = 130


class ProviderError(GymError):
    """A model server failed to give a completion."""

    exit_code = 6
    retryable: ClassVar[bool] = False
    fatal: ClassVar[bool] = False
    """True: no other call to this endpoint can succeed, so the run stops instead of failing every rollout."""

    def __init__(self, message: str, *, status: int | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickled with its keywords, which `Exception` would forget."""
        return partial(type(self), status=self.status, retry_after_s=self.retry_after_s), self.args


class ConnectionFailed(ProviderError):
    """No answer: refused, reset, unresolved, or the time limit passed."""

    retryable = True


class TimedOut(ConnectionFailed):
    """No answer within the time limit: the server may still have worked, and billed (FAULTS P5)."""


class WorkerLost(ProviderError):
    """A worker process ended before it answered. That says nothing of the endpoint, which may have worked, and billed."""

    retryable = True


class RateLimited(ProviderError):
    """429: too many requests; `retry_after_s` when the server said when."""

    retryable = True


class ServerFailed(ProviderError):
    """5xx, or a 200 whose body is not a chat completion."""

    retryable = True


class RequestRejected(ProviderError):
    """The server understood and refuses; the same request would be refused again."""


class ContextExceeded(RequestRejected):
    """The prompt does not fit into the model's context window."""


class ToolsRefused(RequestRejected):
    """The server, or this model of it, knows no tool calls."""


class AccessDenied(ProviderError):
    """Wrong key, no permission, or no such model."""

    fatal = True


class EndpointDown(ProviderError):
    """The endpoint was waited for as long as the run has patience, and did not answer."""

    fatal = True


class HistoryMismatch(ProviderError):
    """The events that a chain node gives do not lead to the hash or the root that the registry holds."""

    fatal = True
