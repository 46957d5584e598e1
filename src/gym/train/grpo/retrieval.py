"""Retrieval: of a library that is too long for a prompt, what is nearest to the problem (SPEC 2.9).

A `Choose` of `RolloutManager`. A library that fits is shown whole and nothing is embedded; so the switch costs nothing until
it is needed. What is shown stays in id order, whatever its rank: the beginning of the prompt changes as little as it can.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from gym.core.admission import count_wide, estimate_tokens
from gym.core.experience import Library
from gym.core.problem import Problem
from gym.embedding import Embedder, Vectors
from gym.embedding.hashing import HashingEmbedder
from gym.embedding.scan import Scan, scan
from gym.embedding.search import BLOCK, best, cosines
from gym.embedding.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_REMEMBERED = 2
"""Libraries at a time: a gate compares two, and one of 100,000 entries may take 154 MB."""


class Rule(NamedTuple):
    """How much of a library a prompt shows."""

    mode: Literal["all", "top_k", "auto"] = "auto"
    """`auto`: everything while it fits the budget, the `k` nearest above it."""
    k: int = 20
    relevance: float | None = None
    """Entries whose cosine to the query is below are left out; None: no such limit."""
    token_budget: int = 4000
    """Of what is shown, by the estimate of `gym.core.admission`; `all` has no limit."""


class Retrieval:
    """What of a library each problem is shown; the same for every rollout of the problem.

    Each text is embedded once, and kept on disk. The encoder is opened when the first choice has to be made.
    """

    def __init__(
        self,
        rule: Rule,
        encoder: Callable[[], Embedder] = HashingEmbedder,
        *,
        store: Callable[[Embedder], Store] = Store,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.rule = rule
        self._encoder, self._open_store, self._say = encoder, store, say
        self._expected: dict[str, int] = {}
        """The place of each query among those that will come."""
        self._recent: deque[_Ranking] = deque(maxlen=_REMEMBERED)

    def __call__(self, library: Library, problem: Problem, index: int = 0, epoch: int = 0) -> Library:
        """The part of `library` for `problem`: itself when that is all of it, empty when nothing is relevant."""
        return self._shown(library, problem, self.rule)

    def near(self, library: Library, problem: Problem) -> Library:
        """What reflection on `problem` sees: as much as a prompt may hold, relevant or not; with `all`, everything."""
        wide = self.rule._replace(relevance=None)
        return self._shown(library, problem, wide if wide.mode == "all" else wide._replace(mode="auto"))

    def expect(self, problems: Sequence[Problem]) -> None:
        """Problems that will come: they are embedded and ranked in blocks when the first of them does."""
        for problem in problems:
            self._expected.setdefault(problem.query, len(self._expected))

    @cached_property
    def store(self) -> Store:
        """The vectors, with the encoder that made them."""
        encoder = self._encoder()
        self._say(f"retrieval: a problem is shown the experiences nearest to it, by the encoder {encoder.name}")
        return self._open_store(encoder)

    def block(self, query: str) -> list[str]:
        """The query and those expected after it, as many as are asked at once."""
        start = self._expected.get(query)
        return [query] if start is None else list(islice(self._expected, start, start + BLOCK))

    def _shown(self, library: Library, problem: Problem, rule: Rule) -> Library:
        if rule.mode == "all" and rule.relevance is None:
            return library
        ranking = next((known for known in self._recent if known.library is library), None)
        if ranking is None:  # by identity: comparing the content would take longer than the search
            ranking = _Ranking(library, self)
            self._recent.append(ranking)
        return ranking.shown(problem.query, rule)


class _Ranking:
    """One library, measured against the queries as they come."""

    def __init__(self, library: Library, retrieval: Retrieval) -> None:
        self.library, self._retrieval = library, retrieval
        self._known: dict[tuple[str, Rule], Library] = {}

    def shown(self, query: str, rule: Rule) -> Library:
        """The part of the library for a query under a rule that may leave some out."""
        if not len(self.library) or (rule.relevance is None and self._fits_whole(rule)):
            return self.library
        if (query, rule) not in self._known:
            asked = [each for each in self._retrieval.block(query) if (each, rule) not in self._known]
            scores = self._scores(asked, rule)
            self._known.update(((each, rule), self._chosen(row, rule)) for each, row in zip(asked, scores, strict=True))
        return self._known[query, rule]

    def _scores(self, asked: Sequence[str], rule: Rule) -> Vectors:
        rows, queries = self._rows, self._retrieval.store.rows(asked)
        if len(asked) > 1 or self._scan is None:
            return cosines(rows, queries)
        return self._scan.cosines(queries[0], k=rule.k, relevance=rule.relevance)[None]

    def _fits_whole(self, rule: Rule) -> bool:
        return self._tokens <= rule.token_budget and (rule.mode == "auto" or len(self.library) <= rule.k)

    def _chosen(self, scores: Vectors, rule: Rule) -> Library:
        import numpy as np

        relevant = np.arange(len(scores)) if rule.relevance is None else np.flatnonzero(scores >= rule.relevance)
        if rule.mode == "all" or (rule.mode == "auto" and self._fit(relevant, rule)):
            return self.library.at(relevant.tolist())
        ranked = best(scores, min(rule.k, len(relevant)))
        fitting = self._tokens_up_to(ranked) <= rule.token_budget
        return self.library.at(np.sort(ranked[fitting]).tolist())

    def _fit(self, places: "NDArray[np.intp]", rule: Rule) -> bool:
        if len(places) == len(self.library):
            return self._tokens <= rule.token_budget
        return not len(places) or bool(self._tokens_up_to(places)[-1] <= rule.token_budget)

    def _tokens_up_to(self, places: "NDArray[np.intp]") -> "NDArray[np.int_]":
        """`estimate_tokens` of the first 1, 2, 3 … of the entries as a prompt would hold them."""
        import numpy as np

        characters, wide = (np.cumsum(column) for column in self._sizes[:, places])
        breaks = np.arange(len(places))
        tokens: NDArray[np.int_] = wide - (wide - characters - breaks) // 4
        return tokens

    @cached_property
    def _tokens(self) -> int:
        return estimate_tokens(self.library.render())

    @cached_property
    def _rows(self) -> Vectors:
        return self._retrieval.store.rows(self.library.texts)

    @cached_property
    def _scan(self) -> Scan | None:
        return scan(self._rows)

    @cached_property
    def _sizes(self) -> "NDArray[np.int_]":
        """Characters and, among them, wide ones of each entry's line, (2, entries)."""
        import numpy as np

        lines = [entry.line for entry in self.library]
        return np.array([[len(line) for line in lines], [count_wide(line) for line in lines]])
