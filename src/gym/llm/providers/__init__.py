"""Who serves models: one file a provider, each `PROVIDER = Provider(…)`, found by name (`gym.plugins`).

Providers differ in this small table, not in clients: all speak the OpenAI wire format.
"""

from typing import NamedTuple


class Provider(NamedTuple):
    """Where a provider's models are and how a key is found."""

    name: str
    base_url: str
    """What stands before /chat/completions; empty: the server is started by us."""
    key_env: str
    """Environment variable of the key; empty: none is needed."""
    default_model: str
    prefixes: tuple[str, ...] = ()
    """Model ids that start so are this provider's, when nothing else says whose they are."""
    base_url_env: str = ""
    """Environment variable that moves the base URL."""
    notes: str = ""
    """One line for people."""
