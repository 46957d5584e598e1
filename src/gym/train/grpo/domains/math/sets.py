"""Names of problem sets and what may be asked of them: `aime:2000-2023`, `aime24:h4`, `dapo_math:en,no_figures`.

A set is a file below `--data-dir` under one of its usual names, else a data set of the Hugging Face hub.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from gym.errors import DataError
from gym.train.grpo.domains import rows
from gym.train.grpo.domains.base import Preset

SUFFIXES = (".jsonl", ".json", ".parquet", ".csv")


class Years(NamedTuple):
    """Of competitions, first and last included."""

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


class Source(NamedTuple):
    """Where a named set is found, and how its hub copy calls things."""

    stems: tuple[str, ...]
    """File names without suffix, the first that exists; letter case, `-` and `_` do not matter."""
    hub: str
    input_key: str = "problem"
    answer_key: str = "answer"
    integers: bool = True
    """Every answer is an integer, so that 025 and 1,000 can only mean 25 and 1000."""
    years: Years | None = None
    """A set of many years: those it has when none are asked for; later ones are for tests."""
    wordings: Mapping[str, tuple[str, ...]] = {}
    """The same problems in other words: name -> file names."""


SETS = {
    "aime24": Source(
        ("aime_2024", "aime24", "aime_2024_h4"), "HuggingFaceH4/aime_2024", wordings={"h4": ("aime_2024_h4", "aime24_h4")}
    ),
    "aime25": Source(("aime_2025", "aime25"), "math-ai/aime25:test"),
    "aime": Source(
        ("aime_2000_2023", "aime_1983_2023", "aime", "aime_dataset_1983_2024"),
        "di-zhang-fdu/AIME_1983_2024",
        "Question",
        "Answer",
        years=Years(1983, 2023),
    ),
    "dapo_math": Source(
        ("dapo_math_17k", "dapo_math", "dapo_math_17k_processed"),
        "open-r1/DAPO-Math-17k-Processed:all:train",
        "prompt",
        "solution",
    ),
    "math500": Source(("math500", "math_500"), "HuggingFaceH4/MATH-500:test", integers=False),
    "gsm8k": Source(("gsm8k_test", "gsm8k"), "openai/gsm8k:main:test", "question", "answer"),
}  # fmt: skip
PRESETS = {"paper_aime": "aime:2000-2023,sample=100"}
TESTS = {"paper_aime": "aime24+aime25"}
"""The paper trains on 100 of AIME 2000-2023 and tests on 2024 and 2025."""


def preset(source: str, seed: int) -> Preset | None:
    """The paper's split: 100 problems drawn by `seed` to learn from, the two later years held out."""
    name, _, options = source.partition(":")
    known = name.strip().lower().replace("-", "_")
    return Preset(f"{known}:seed={seed},{options}", TESTS[known]) if known in TESTS else None


class Options(NamedTuple):
    """What is taken of a set."""

    years: Years | None = None
    language: str = ""
    wording: str = ""
    figures: bool = True
    sample: int | None = None
    """So many at random, in the set's order; always the same for the same `seed`."""
    seed: int = 0


class Wanted(NamedTuple):
    """A set, known by name, or else a file or hub data set, and what is taken of it."""

    name: str
    source: Source | None
    options: Options


def wanted(source: str, data_dir: str = "") -> Wanted:
    """What a source asks for. Raises `DataError` that names the nearest known set, or the known options."""
    if rows.locate(source, data_dir) is not None:
        return Wanted(source, None, Options())
    head, _, tail = source.strip().partition(":")
    name, options = head.lower().replace("-", "_"), tail
    if name in PRESETS:
        name, _, preset = PRESETS[name].partition(":")
        options = f"{preset},{options}"
    if name in SETS:
        return Wanted(name, SETS[name], _options(options, source, SETS[name]))
    file, _, tail = source.rpartition(":")
    if file and rows.locate(file, data_dir) is not None:
        return Wanted(file, None, _options(tail, source, None))
    if "/" in source or Path(source).suffix.lower() in (*SUFFIXES, ".tsv"):
        return Wanted(source, None, Options())
    near = get_close_matches(name, [*SETS, *PRESETS], n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise DataError(
        f"unknown problem set {source!r}: {hint}known are {', '.join([*SETS, *PRESETS])}, a file, or a Hugging Face id"
    )


def local_file(want: Wanted, data_dir: str) -> Path | None:
    """The file of a named set below `data_dir` (without one: below `data/` or here), or None."""
    assert want.source is not None
    folders = [Path(data_dir).expanduser()] if data_dir else [Path("data"), Path()]
    here = {key: path for folder in reversed(folders) for key, path in _files(folder)}
    stems = want.source.wordings.get(want.options.wording, want.source.stems)
    if want.source.years and want.options.years:
        stems = (*_covering(here, want.options.years), "aime")
    return next((here[stem, suffix] for stem in stems for suffix in SUFFIXES if (stem, suffix) in here), None)


def _files(folder: Path) -> Iterator[tuple[tuple[str, str], Path]]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_file():
            yield (path.stem.lower().replace("-", "_"), path.suffix.lower()), path


def _covering(here: Mapping[tuple[str, str], Path], years: Years) -> Sequence[str]:
    """File names that promise all the years, the narrowest first."""
    spans = {
        stem: (int(match[1]), int(match[2] or match[1]))
        for stem, _ in here
        if (match := re.fullmatch(r"aime_(?:dataset_)?(\d{4})(?:_(\d{4}))?", stem))
    }
    covering = [stem for stem, (first, last) in spans.items() if first <= years.first and years.last <= last]
    return sorted(covering, key=lambda stem: spans[stem][1] - spans[stem][0])


def _options(text: str, source: str, known: Source | None) -> Options:
    found = Options()
    for word in filter(None, (word.strip().lower() for word in text.split(","))):
        key, _, value = word.partition("=")
        if known and known.years and (match := re.fullmatch(r"(\d{4})(?:-(\d{4}))?", word)):
            found = found._replace(years=Years(int(match[1]), int(match[2] or match[1])))
        elif known and word in known.wordings:
            found = found._replace(wording=word)
        elif word in ("en", "zh"):
            found = found._replace(language=word)
        elif word == "no_figures":
            found = found._replace(figures=False)
        elif key == "sample" and value.isdecimal() and int(value):
            found = found._replace(sample=int(value))
        elif key == "seed" and value.isdecimal():
            found = found._replace(seed=int(value))
        else:
            raise DataError(f"{source!r}: unknown option {word!r}: known are {', '.join(_known(known))}")
    return found


def _known(source: Source | None) -> Sequence[str]:
    years = ["a year", "years such as 2000-2023"] if source and source.years else []
    return [*years, *(source.wordings if source else ()), "no_figures", "en", "zh", "sample=N", "seed=N"]
