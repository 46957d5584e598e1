"""A search service of one's own, wherever STUB_URL says."""

from gym.web.searchers import Service

SEARCHER = Service(name="stub", url="find", url_env="STUB_URL", results=("hits",), usd_per_1000=2.0)
