"""The questions of a site, in three splits that share no fact; no answer is frequent enough to be guessed."""

from collections import Counter
from random import Random
from typing import Literal, NamedTuple

from gym.web.site.built import Built
from gym.web.site.drafts import Drafts
from gym.web.site.proof import Proof, proven
from gym.web.site.question import Draft
from gym.web.survey import Done, untold

Split = Literal["train", "val", "test"]
TURNS: tuple[Split, ...] = ("train", "test", "train", "val", "train", "test", "train", "val", "train", "test")
"""Whose turn it is to get a question."""
PAGES_A_QUESTION = 2
TRIES = 600
"""Draws for one question."""
FEWEST_CLICKS = 2


class Question(NamedTuple):
    """One of a site's questions."""

    split: Split
    draft: Draft
    proof: Proof

    @property
    def level(self) -> Literal["easy", "medium", "hard"]:
        """By clicks."""
        return "easy" if self.proof.hops <= 3 else "medium" if self.proof.hops <= 5 else "hard"

    @property
    def type(self) -> Literal["single_source", "multi_source"]:
        """Whether the evidence is on one page or several."""
        return "single_source" if len(self.proof.pages) == 1 else "multi_source"


def questions(built: Built, done: Done = untold) -> tuple[Question, ...]:
    """As many as the site is good for, in the order of the draw."""
    asking, most = _Asking(built), len(built.files) // PAGES_A_QUESTION
    for number in range(most):
        asking.one_more(TURNS[number % len(TURNS)])
        done(number + 1, most)
    return tuple(asking.questions)


class _Asking:
    """What was asked so far."""

    def __init__(self, built: Built) -> None:
        self.questions: list[Question] = []
        self._built, self._drafts = built, Drafts(built.world, Random(f"questions/{built.seed}"))
        self._owner: dict[str, Split] = {}
        self._answers = Counter[str]()

    def one_more(self, split: Split) -> None:
        """For a split; none when the tries are spent."""
        shape = self._drafts.shape()
        for number in range(TRIES):
            draft = shape() if number < TRIES // 2 else self._drafts.shape()()
            if draft is None or not self._is_new(draft, split):
                continue
            proof = proven(draft, self._built)
            if proof is not None and proof.hops >= FEWEST_CLICKS:
                self.questions.append(Question(split, draft, proof))
                self._answers[draft.answer] += 1
                self._owner |= {fact.key: split for fact in draft.facts}
                return

    def _is_new(self, draft: Draft, split: Split) -> bool:
        """Every answer once, and no fact in two splits."""
        fresh = all(self._owner.get(fact.key, split) == split for fact in draft.facts)
        return fresh and not self._answers[draft.answer]
