"""Brave Search: an index of its own (api-dashboard.search.brave.com/documentation)."""

from gym.web.searchers import Service

SEARCHER = Service(
    name="brave",
    url="https://api.search.brave.com/res/v1/web/search",
    key_env="BRAVE_API_KEY",
    headers={"X-Subscription-Token": "{key}", "Accept": "application/json"},
    limit="count",
    fixed={"text_decorations": "false"},
    results=("web", "results"),
    snippet="description",
    usd_per_1000=5.00,
)
