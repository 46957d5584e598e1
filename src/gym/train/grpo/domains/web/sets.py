"""Sets of web questions by name and what may be asked of them: `webwalkerqa:en,easy,sample=50`, `web_local`, `webdancer`.

A set is a file below `--data-dir` under one of its usual names. Options choose by the rows' own columns.
"""

import random
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from gym.core.problem import Problem
from gym.errors import DataError
from gym.train.grpo.domains import rows

SETS: Mapping[str, tuple[str, ...]] = {
    "webwalkerqa": ("webwalkerqa", "webwalker_main", "webwalkerqa_main"),
    "web_local": ("web_local_qa", "web_local"),
    "webdancer": ("webdancer_sample_qa", "webdancer"),
}
"""Name -> file names without suffix, the first that exists."""
SUFFIXES = (".jsonl", ".json", ".parquet", ".csv")
MADE = ("train.jsonl", "val.jsonl", "test.jsonl", "questions.jsonl")
"""What `gym web make-site` writes beside its pages."""
COLUMNS = ("lang", "level", "type", "tag", "domain")
"""What an option may be a value of."""


class Wanted(NamedTuple):
    """A file of rows, and what is taken of it."""

    path: str
    options: tuple[str, ...]


def wanted(source: str, data_dir: str) -> Wanted:
    """The file that a source names, by a set's name or its own; raises `DataError` with the nearest name, or where to put it."""
    if rows.locate(source, data_dir):
        return Wanted(source, ())
    head, _, tail = source.partition(":")
    name = head.strip().lower().replace("-", "_")
    options = tuple(filter(None, (word.strip().lower() for word in tail.split(","))))
    if name in SETS:
        return Wanted(str(_file(name, data_dir)), options)
    if Path(source).name in MADE and not Path(source).parent.is_dir():
        place = shlex.quote(str(Path(source).parent))
        raise DataError(
            f"data file {source!r} does not exist: `gym web make-site --output {place}` makes a site with questions"
        )
    if "/" in source or Path(head).suffix.lower() in SUFFIXES:
        return Wanted(head if rows.locate(head, data_dir) else source, options)
    near = get_close_matches(name, SETS, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise DataError(f"unknown problem set {source!r}: {hint}known are {', '.join(SETS)}, or a file")


def _file(name: str, data_dir: str) -> Path:
    folders = [Path(data_dir).expanduser()] if data_dir else [Path("data"), Path()]
    for folder in folders:
        here = {(path.stem.lower(), path.suffix.lower()): path for path in folder.glob("*") if path.is_file()}
        if found := next((here[stem, end] for stem in SETS[name] for end in SUFFIXES if (stem, end) in here), None):
            return found
    where = f"in {data_dir!r}" if data_dir else "here or in data/"
    raise DataError(
        f"problem set {name!r} is not {where}: put {SETS[name][0]}.jsonl into a folder and give --data-dir FOLDER"
    )


def choose(found: Sequence[Problem], options: Sequence[str], notes: list[str]) -> tuple[Problem, ...]:
    """The problems that have every value asked for, and of these a sample where one is asked for, in their order.

    Raises `DataError` for an option that no problem has, and when fewer are left than the sample wants.
    """
    kept, sample, seed = tuple(found), None, 0
    for word in options:
        if match := re.fullmatch(r"(sample|seed)=(\d+)", word):
            sample, seed = (int(match[2]), seed) if match[1] == "sample" else (sample, int(match[2]))
        else:
            kept = _only(kept, word, notes)
    if sample is None:
        return kept
    if not 0 < sample <= len(kept):
        raise DataError(f"sample={sample} of {len(kept)} problems")
    notes.append(f"{sample} of {len(kept):,} problems drawn with seed {seed}")
    return tuple(kept[place] for place in sorted(random.Random(f"sample {seed}").sample(range(len(kept)), sample)))


def _only(found: Sequence[Problem], word: str, notes: list[str]) -> tuple[Problem, ...]:
    kept = tuple(problem for problem in found if word in _values(problem))
    if not kept:
        known = sorted({value for problem in found for value in _values(problem)})
        raise DataError(f"no problem is {word!r}: known are {', '.join(known)}, sample=N and seed=N")
    if len(kept) < len(found):
        notes.append(f"{len(found) - len(kept):,} of {len(found):,} problems left out: not {word}")
    return kept


def _values(problem: Problem) -> set[str]:
    said: Callable[[str], Any] = problem.metadata.get
    values = {str(said(name)).lower() for name in COLUMNS if said(name)}
    return values if said("lang") else values | {"zh" if re.search("[\u4e00-\u9fff]", problem.query) else "en"}
