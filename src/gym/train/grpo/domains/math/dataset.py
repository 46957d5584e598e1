"""Named sets of competition mathematics: from files below `--data-dir`, or from the Hugging Face hub.

Answers are kept as their source writes them (`025` stays `025`): the grader compares values, not digits.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from gym.errors import DataError, MissingExtra
from gym.train.grpo.domains import columns, rows
from gym.train.grpo.domains.base import Loaded
from gym.train.grpo.domains.rows import Row


class Source(NamedTuple):
    """Where a named set is found, and how its hub copy calls things."""

    stems: tuple[str, ...]
    """File names without suffix, the first that exists below the data directory."""
    hub: str
    input_key: str = "problem"
    answer_key: str = "answer"


SETS = {
    "aime24": Source(("aime_2024", "aime24"), "HuggingFaceH4/aime_2024"),
    "aime25": Source(("aime_2025", "aime25"), "math-ai/aime25:test"),
    "aime": Source(("aime_2000_2023", "aime_1983_2023", "aime"), "di-zhang-fdu/AIME_1983_2024", "Question", "Answer"),
    "dapo_math": Source(
        ("dapo_math_17k", "dapo_math"), "open-r1/DAPO-Math-17k-Processed:all:train", "prompt", "solution"
    ),
    "math500": Source(("math500", "math_500"), "HuggingFaceH4/MATH-500:test"),
    "gsm8k": Source(("gsm8k_test", "gsm8k"), "openai/gsm8k:main:test", "question", "answer"),
}
SUFFIXES = (".jsonl", ".json", ".parquet", ".csv")


def load(source: str, *, data_dir: str, input_key: str, answer_key: str, truncate: int | None) -> Loaded:
    """The problems of a named set, a file, or a hub data set.

    Raises `DataError` with the nearest name for an unknown set, and with both ways to get it for one that is nowhere.
    """
    name = source.strip().lower().replace("-", "_")
    if rows.locate(source, data_dir) is None and name in SETS:
        found, path, keys = _named(name, data_dir)
    elif _could_be_elsewhere(source, data_dir):
        found, path, keys = rows.read(source, data_dir), source, ("", "")
    else:
        near = get_close_matches(name, SETS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise DataError(
            f"unknown problem set {source!r}: {hint}known are {', '.join(SETS)}, a file, or a Hugging Face id"
        )
    return columns.problems(
        found, path, domain="math", input_key=input_key or keys[0], answer_key=answer_key or keys[1], truncate=truncate
    )


def _named(name: str, data_dir: str) -> tuple[Sequence[Row], str, tuple[str, str]]:
    where = SETS[name]
    folders = [Path(data_dir).expanduser()] if data_dir else [Path("data"), Path()]
    for path in (folder / f"{stem}{suffix}" for folder in folders for stem in where.stems for suffix in SUFFIXES):
        if path.is_file():
            return rows.read(str(path)), str(path), ("", "")
    try:
        found = rows.read(where.hub)
    except (DataError, MissingExtra) as error:
        raise DataError(
            f"problem set {name!r} is not here: put {where.stems[0]}.jsonl into a folder and give --data-dir FOLDER, "
            f"or install 'zoo-gym[data]' where there is internet ({where.hub.partition(':')[0]}): {error}"
        ) from error
    return [_without_working(row) for row in found], name, (where.input_key, where.answer_key)


def _without_working(row: Row) -> Row:
    """GSM8K's hub copy keeps the working in the answer, before `####`."""
    fields = {
        key: value.rpartition("####")[2].strip() if _has_working(value) else value for key, value in row.fields.items()
    }
    return Row(row.line, fields)


def _has_working(value: object) -> bool:
    return isinstance(value, str) and "\n#### " in value


def _could_be_elsewhere(source: str, data_dir: str) -> bool:
    return (
        rows.locate(source, data_dir) is not None or "/" in source or Path(source).suffix.lower() in (*SUFFIXES, ".tsv")
    )
