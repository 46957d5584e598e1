"""Tavily: search for agents (docs.tavily.com); a basic search is one credit."""

from gym.web.searchers import Service

SEARCHER = Service(
    name="tavily",
    url="https://api.tavily.com/search",
    key_env="TAVILY_API_KEY",
    method="POST",
    headers={"Authorization": "Bearer {key}"},
    query="query",
    limit="max_results",
    results=("results",),
    usd_per_1000=8.00,
)
