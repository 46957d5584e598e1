"""A site's questions as rows of a data file, with absolute addresses and everything that proves them."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from gym.web.site.built import FRONT
from gym.web.site.forms import read
from gym.web.site.question import reckoned
from gym.web.site.questions import Question
from gym.web.site.relations import RELATIONS

Row = Mapping[str, Any]


def row(question: Question, name: str, host: str) -> Row:
    """`evidence` is in the order of the reasoning; `operands` says which of it the answer is reckoned from."""
    draft, proof = question.draft, question.proof
    evidence = [
        {
            "page": address(host, stated.page),
            "regex": stated.pattern,
            "fact": stated.fact.key,
            "kind": RELATIONS[stated.fact.relation].kind,
        }
        for stated in proof.evidence
    ]
    return {
        "id": name,
        "question": draft.question,
        "answer": draft.answer,
        "accept": list(draft.accepted),
        "start": address(host, FRONT),
        "hops": proof.hops,
        "gold_path": [address(host, page) for page in proof.walk],
        "level": question.level,
        "type": question.type,
        "kind": draft.kind,
        "reckoning": draft.reckoning,
        "operands": [draft.facts.index(fact) for fact in draft.operands],
        "evidence": evidence,
        "split": question.split,
    }


def address(host: str, path: str) -> str:
    """The URL of a page."""
    return f"http://{host}/{quote(path)}"


def answer_from(found: Row, text_of: Callable[[str], str]) -> str | None:
    """The answer of a row, read by its evidence from pages' texts; None when a page does not say what it should."""
    values = [_value(piece, text_of(piece["page"])) for piece in found["evidence"]]
    if any(value is None for value in values):
        return None
    operands: Sequence[int] = found["operands"]
    return reckoned(found["reckoning"], [(found["evidence"][place]["kind"], values[place] or "") for place in operands])


def _value(piece: Row, text: str) -> str | None:
    found = re.search(piece["regex"], text)
    return read(piece["kind"], found[1]) if found else None
