"""SearXNG: a metasearch server of one's own (docs.searxng.org); its settings must list `json` under `search: formats`."""

from gym.web.searchers import Service

SEARCHER = Service(
    name="searxng",
    url="search",
    url_env="SEARXNG_URL",
    fixed={"format": "json"},
    results=("results",),
    usd_per_1000=0.0,
)
