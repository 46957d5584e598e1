"""Questions over web pages from a named set or a file: rows of `question`, `answer`, further accepted forms, a start page.

The start page is `start`, WebWalkerQA's `root_url`, or the head of the click paths of a set over local sites, whose hosts are
then `NAME.example`. It is told to the model below the question. Nothing else of a row is.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gym.core.problem import Problem
from gym.train.grpo.domains import columns, rows
from gym.train.grpo.domains.base import Loaded
from gym.train.grpo.domains.rows import Row
from gym.train.grpo.domains.web.sets import choose, wanted

STARTS = ("start", "root_url", "start_url")
LOCAL = "http://{}.example/{}"
"""Address of a page of a local site, by the site's name."""
WORDS, CHARS = 8, 50
"""From which on an answer, or a part of it, is a sentence."""


def load(source: str, *, data_dir: str, input_key: str, answer_key: str, truncate: int | None) -> Loaded:
    """The problems of a set with its options, or of a file. Raises `DataError` that says what is known and where to put it."""
    want = wanted(source, data_dir)
    read = rows.read(want.path, data_dir)
    found = columns.columns(read, want.path, input_key=input_key, answer_key=answer_key)
    told = [Row(row.line, {**row.fields, **_told(row.fields, found)}) for row in read]
    loaded = columns.problems(told, want.path, domain="web", input_key=found.question, answer_key=found.answer or "")
    notes = list(loaded.notes)
    kept = choose(loaded.problems, want.options, notes)[:truncate]
    return Loaded(kept, (*notes, *_sentences(kept)))


def starts(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The pages to start from, each once; none when the row names none.

    >>> starts({"Root_Url": "https://ehaweb.org/"}), starts({"golden_path": ["lib/index.html -> a.html"], "sites": ["lib"]})
    (('https://ehaweb.org/',), ('http://lib.example/index.html',))
    """
    named = {key.lower(): value for key, value in fields.items()}
    given = next((str(named[key]).strip() for key in STARTS if named.get(key)), "")
    return (given,) if given else tuple(dict.fromkeys(_heads(named)))


def _heads(named: Mapping[str, Any]) -> Iterator[str]:
    sites, paths = named.get("sites"), named.get("golden_path")
    if isinstance(sites, list) and isinstance(paths, list):
        for path in paths:
            site, _, page = str(path).split(" -> ")[0].partition("/")
            if site in sites:
                yield LOCAL.format(site, page)


def _told(fields: Mapping[str, Any], found: columns.Columns) -> dict[str, Any]:
    """The question with its start pages, an answer of several as parts, and other forms as a list."""
    question = columns.answer_text(fields.get(found.question)) or ""
    pages = starts(fields)
    told: dict[str, Any] = {found.question: f"{question}\n\n{_where(pages)}" if question and pages else question}
    if found.answer and isinstance(answer := fields.get(found.answer), list):
        told[found.answer] = "; ".join(str(part).strip() for part in answer)
    if (forms := fields.get("accept")) and not isinstance(forms, list):
        told["accept"] = [str(forms)]
    return told


def _where(pages: Sequence[str]) -> str:
    return f"Start page{'s' if len(pages) > 1 else ''}: {', '.join(pages)}"


def _sentences(found: Sequence[Problem]) -> tuple[str, ...]:
    """A note where many answers are too long to match."""
    long = sum(max(len(part.split()) / WORDS, len(part) / CHARS) >= 1 for part in map(_longest_part, found))
    if long * 10 < len(found):
        return ()
    return (
        f"{long} of {len(found)} answers are sentences, which rarely match word for word: --reward web_judge asks a model",
    )


def _longest_part(problem: Problem) -> str:
    return max((problem.ground_truth or "").split(";"), key=len)
