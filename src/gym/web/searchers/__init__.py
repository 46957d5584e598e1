"""Who searches the web: one file a service, each `SEARCHER = Service(…)`, found by name (`gym.plugins`).

Services differ in this small table, not in clients. Prices are list prices of November 2026 without discounts; they change.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple


class Service(NamedTuple):
    """How a service is asked and how its reply is read."""

    name: str
    url: str
    """Where queries go; a path alone is below the server that the variable `url_env` names."""
    results: tuple[str, ...]
    """Keys that lead to the list of hits in the JSON reply."""
    key_env: str = ""
    """Environment variable of the key; empty: none is needed."""
    url_env: str = ""
    """Environment variable of the server, for services that anybody can run."""
    method: Literal["GET", "POST"] = "GET"
    """GET sends the query in the URL, POST as JSON."""
    headers: Mapping[str, str] = {}
    """`{key}` stands for the key."""
    query: str = "q"
    """Name of the query's parameter."""
    limit: str = ""
    """Name of the parameter for the number of hits; empty: there is none."""
    most: int = 20
    """Hits that may be asked for."""
    fixed: Mapping[str, str] = {}
    """Further parameters."""
    title: str = "title"
    link: str = "url"
    snippet: str = "content"
    usd_per_1000: float | None = None
    """Dollars for a thousand queries; None: unknown, never 0."""
