"""Jina Search (s.jina.ai): billed in tokens, from 10,000 a query, at the price of the tokens that one bought."""

from gym.web.searchers import Service

SEARCHER = Service(
    name="jina",
    url="https://s.jina.ai/",
    key_env="JINA_API_KEY",
    headers={"Authorization": "Bearer {key}", "Accept": "application/json", "X-Respond-With": "no-content"},
    results=("data",),
    snippet="description",
)
