"""What searches a site or the web: a local index, or a provider's service."""

from typing import Protocol

from gym.core.value import Value


class Hit(Value):
    """One result."""

    title: str
    url: str
    snippet: str = ""


class Searcher(Protocol):
    """Finds pages by words; one of it serves all rollouts of a run at once."""

    async def search(self, query: str, *, count: int) -> tuple[Hit, ...]:
        """At most `count` hits, best first; raises `ProviderError` when the service cannot be asked."""
        ...
