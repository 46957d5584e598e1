"""Bring your own data: JSONL, JSON, CSV, TSV, Parquet, or a Hugging Face data set; no instructions of our own."""

from gym.train.grpo.domains import columns, rows
from gym.train.grpo.domains.base import Domain, Loaded


def load(source: str, *, data_dir: str, input_key: str, answer_key: str, truncate: int | None) -> Loaded:
    """The problems of a file (as given, or below `data_dir`) or of a hub data set."""
    read = rows.read(source, data_dir)
    return columns.problems(read, source, domain="jsonl", input_key=input_key, answer_key=answer_key, truncate=truncate)


DOMAIN = Domain(name="jsonl", load=load)
