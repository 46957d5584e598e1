"""Answers of training items copied into an experience (SPEC 2.3, FAULTS M13)."""

import re
from collections import Counter
from collections.abc import Mapping

MIN_ANSWER = 3
"""Characters from which a ground truth is searched anywhere; a shorter one only where a text states an answer."""
RUN = 8
"""So many consecutive words of a query are a copy of it."""
SHARED_BY = 3
"""A run of words in the queries of so many items is the data set's phrasing, not an item's."""

_WORD = re.compile(r"[^\W_]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_STATED = r"(?:\b(?:answers?|results?|solutions?|outputs?|values?)\s*(?:is|are|was|equals?|[:=])?\s*|\bequals?\s+|=\s*)"


class Leaks:
    """Finds what only one training item has: its ground truth, or a run of its query."""

    def __init__(self, ground_truths: Mapping[str, str], queries: Mapping[str, str]) -> None:
        answers = {problem: _plain(answer) for problem, answer in ground_truths.items()}
        holders = Counter(answers.values())
        self._answers = {answer: problem for problem, answer in answers.items() if answer and holders[answer] == 1}
        self._queries = {problem: f" {' '.join(_words(query))} " for problem, query in queries.items()}

    def find(self, text: str) -> str | None:
        """What `text` leaks, in words; None when it leaks nothing."""
        return self._answer(_plain(text)) or self._query(_words(text))

    def _answer(self, text: str) -> str | None:
        for answer, problem in self._answers.items():
            if answer in text and re.search(_token(answer), text):
                return f"contains {answer!r}, the ground truth of training item {problem!r} alone"
        return None

    def _query(self, words: list[str]) -> str | None:
        for start in range(len(words) - RUN + 1):
            run = " ".join(words[start : start + RUN])
            holders = [problem for problem, query in self._queries.items() if f" {run} " in query]
            if 0 < len(holders) < SHARED_BY:
                return f"copies {run!r} from the query of training item {holders[0]!r}"
        return None


def _plain(text: str) -> str:
    return _THOUSANDS.sub("", " ".join(text.split()).casefold())


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _token(answer: str) -> str:
    """A pattern for the answer as a whole token: 100 is neither in 1000 nor in 100.5."""
    whole = rf"(?<!\w)(?<!\d[.,]){re.escape(answer)}(?!\w)(?![.,]\d)"
    return whole if len(answer) >= MIN_ANSWER else rf"{_STATED}(?:\$|\\boxed\{{)?{whole}"
