"""Serper: Google's results as JSON (serper.dev)."""

from gym.web.searchers import Service

SEARCHER = Service(
    name="serper",
    url="https://google.serper.dev/search",
    key_env="SERPER_API_KEY",
    method="POST",
    headers={"X-API-KEY": "{key}"},
    limit="num",
    most=10,  # a page of Google
    results=("organic",),
    link="link",
    snippet="snippet",
    usd_per_1000=1.00,
)
