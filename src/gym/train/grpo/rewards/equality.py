r"""Whether two mathematical answers are the same, decided by rules that need no algebra system.

Each rule decides or passes on; what no rule decides goes to `math_verify` in a worker. The rules exist where a general
engine errs: marks on numbers, units, intervals, kinds of brackets, lists, choices, words (FAULTS G13 to G16).
"""

import re
from collections.abc import Callable, Sequence
from functools import partial

from gym.train.grpo.rewards.choices import choice
from gym.train.grpo.rewards.exactly import value
from gym.train.grpo.rewards.hostile import hostile
from gym.train.grpo.rewards.intervals import interval, union
from gym.train.grpo.rewards.latex import plain, split_top, unwrapped
from gym.train.grpo.rewards.marked import base, clock, modulus, percent
from gym.train.grpo.rewards.ruling import UNDECIDED, Ruling
from gym.train.grpo.rewards.statements import SEVERAL_EQUATIONS, same_constant, statement
from gym.train.grpo.rewards.units import measure

MAX_LENGTH = 500
"""Characters of an answer, or four times its gold, beyond which nobody reads it."""


def compare(gold: str, answer: str, question: str = "") -> Ruling:
    r"""Whether `answer` is `gold`, both as written.

    >>> compare("pi/2", "\\frac{\\pi}{2}"), compare("7", "17, 27, 70"), compare("(1,3]", "1<x\\le 3")
    (Ruling(equal=None, rule=''), Ruling(equal=False, rule='list'), Ruling(equal=True, rule='exact'))
    """
    if len(answer) > max(MAX_LENGTH, 4 * len(gold)):
        return Ruling(False, "too long")
    wanted, given = _without_approx(plain(gold)), _without_approx(plain(answer))
    if len(given) > 2 * max(MAX_LENGTH, 4 * len(wanted)):
        return Ruling(False, "too long")
    pair = same_constant(*_without_names(wanted, given))
    return _decide(interval(pair[0]), interval(pair[1]), question)


_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def integers(gold: str, answer: str) -> Ruling | None:
    """What `compare` says of two integers in digits, at a hundredth of its cost; None of anything else.

    >>> integers("25", "025"), integers("25", "26"), integers("25", "25.0")
    (Ruling(equal=True, rule='integer'), Ruling(equal=False, rule='integer'), None)
    """
    wanted, given = gold.strip(), answer.strip()
    if not (_INTEGER.fullmatch(wanted) and _INTEGER.fullmatch(given)):
        return None
    return Ruling(True, "exact") if wanted == given else Ruling(int(wanted) == int(given), "integer")


def _decide(gold: str, answer: str, question: str) -> Ruling:
    if not answer:
        return Ruling(False, "empty")
    if _compact(gold) == _compact(answer):
        return Ruling(True, "exact")
    rules: tuple[Callable[[str, str], Ruling], ...] = (
        choice, partial(percent, question=question), clock, base, modulus, _unit, _rational, _comma, _words, _hostile,
        statement, _union, partial(_collection, question=question), _letter_case,
    )  # fmt: skip
    for rule in rules:
        ruling = rule(gold, answer)
        if ruling.equal is not None:
            return ruling
    return UNDECIDED


def _unit(gold: str, answer: str) -> Ruling:
    """Numbers with units: two units must agree, one alone is dropped, "units" is any."""
    wanted, given = measure(gold), measure(answer)
    if wanted.unit and given.unit and wanted.unit != given.unit:
        return Ruling(False, "unit")
    if (wanted.number, given.number) == (gold, answer):
        return UNDECIDED
    ruling = _decide(wanted.number, given.number, "")
    return Ruling(ruling.equal, "unit") if ruling.equal is not None else UNDECIDED


def _rational(gold: str, answer: str) -> Ruling:
    wanted, given = value(gold), value(answer)
    if wanted is not None and given is not None:
        whole = wanted.denominator == 1 and given.denominator == 1
        return Ruling(wanted == given, "integer" if whole else "rational")
    return UNDECIDED


def _comma(gold: str, answer: str) -> Ruling:
    """A decimal comma, where the gold is one number that is not whole: `2,5` is 2.5, not 2 and 5."""
    wanted = value(gold)
    if wanted is None or wanted.denominator == 1 or not re.fullmatch(r"[+-]?\d+,\d+", answer):
        return UNDECIDED
    return Ruling(True, "decimal comma") if value(answer.replace(",", ".")) == wanted else UNDECIDED


_NONE = re.compile(r"(?:there (?:is|are) )?no solutions?|\\emptyset", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the)\s+")
_PLAIN_WORDS = re.compile(r"[A-Za-z][A-Za-z' -]{2,}")


def _words(gold: str, answer: str) -> Ruling:
    """A gold in words is matched as words; a number is never matched by words."""
    if _NONE.fullmatch(_spelled(gold)) and _NONE.fullmatch(_spelled(answer)):
        return Ruling(True, "words")
    words = _PLAIN_WORDS.fullmatch(_spelled(gold)) and not re.search(r"\s-|-\s", gold)
    if words and (" " in gold or len(gold) >= 4) and not re.search(r"\\(?!text)", gold):
        same = _ARTICLE.sub("", _spelled(gold).casefold()) == _ARTICLE.sub("", _spelled(answer).casefold())
        return Ruling(same, "words")
    if value(gold) is not None and _PLAIN_WORDS.fullmatch(_spelled(answer)):
        return Ruling(False, "words")
    return UNDECIDED


def _spelled(text: str) -> str:
    return " ".join(re.sub(r"\\text\{([^{}]*)\}", r"\1", text).split()).rstrip(".")


def _hostile(gold: str, answer: str) -> Ruling:
    """What could keep an algebra system busy for ever is not an answer to a question with a sane one."""
    found = hostile(answer)
    return Ruling(False, found) if found and hostile(gold) != found else UNDECIDED


_VARIABLE = re.compile(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])")


def _letter_case(gold: str, answer: str) -> Ruling:
    """Algebra takes `R` for `r`; a problem may use both."""
    wanted, given = (set(_VARIABLE.findall(text)) - set("eEiI") for text in (gold, answer))
    if wanted != given and {name.lower() for name in wanted} == {name.lower() for name in given}:
        return Ruling(False, "letter case")
    return UNDECIDED


_SEPARATORS = r",|;|\\(?:lor|vee)(?![a-z])|\\text\{\s*(?:,?\s*and|or)\s*\}|\b(?:and|or)\b"
_BRACKETED = re.compile(r"(\\?[({\[])(.*?)(\\?[)}\]])", re.DOTALL)


def _union(gold: str, answer: str) -> Ruling:
    """The same intervals, in any order; other ways to cut one set in pieces are left to algebra."""
    wanted, given = union(gold), union(answer)
    if len(wanted) < 2 and len(given) < 2:
        return UNDECIDED
    same = len(wanted) == len(given) and _in_any_order(wanted, given, "")
    return Ruling(True, "union") if same else UNDECIDED


def _collection(gold: str, answer: str, question: str) -> Ruling:
    """Tuples and intervals in order, sets and bare lists in any order; kinds of brackets must agree."""
    (wanted_kind, wanted), (given_kind, given) = _parts(gold), _parts(answer)
    if len(wanted) == len(given) == 1:
        return UNDECIDED
    if wanted_kind and given_kind and wanted_kind != given_kind:
        return Ruling(False, "brackets")
    if len(wanted) != len(given):
        return Ruling(False, "list")
    ordered = "(" in wanted_kind + given_kind or "[" in wanted_kind + given_kind
    same = _in_order(wanted, given, question) if ordered else _in_any_order(wanted, given, question)
    return Ruling(same, "list")


def _parts(text: str) -> tuple[str, list[str]]:
    """The kind of brackets around a collection ("" for none) and its members."""
    kind, inner = "", text
    outer = _BRACKETED.fullmatch(text)
    if outer and outer[1] != "{" and len(split_top(text, _SEPARATORS)) == 1 and _never_closed(outer[2]):
        kind, inner = outer[1].replace("\\", "") + outer[3].replace("\\", ""), outer[2]
    members = [part for part in split_top(inner, _SEPARATORS) if part]
    if len(members) > 1 and kind in ("", "{}"):
        members = [_without_names("", member)[1] for member in members]
    members = [one for member in members for one in _both_signs(member)]
    if len(members) < 2 and kind != "{}":
        return "", members or [text]
    return kind, members


def _never_closed(inner: str) -> bool:
    """Whether the brackets around it are one pair: `(1,2)\\cup(3,4)` has two."""
    depth = 0
    for token in re.finditer(r"\\?[(\[{]|\\?[)\]}]", inner):
        depth += 1 if token[0][-1] in "([{" else -1
        if depth < 0:
            return False
    return True


def _both_signs(member: str) -> list[str]:
    if member.count(r"\pm") != 1:
        return [member]
    return [member.replace(r"\pm", sign).lstrip("+ ") for sign in ("+", "-")]


def _in_order(wanted: Sequence[str], given: Sequence[str], question: str) -> bool | None:
    found = [_decide(_member(one), _member(other), question).equal for one, other in zip(wanted, given, strict=True)]
    return False if False in found else None if None in found else True


def _in_any_order(wanted: Sequence[str], given: Sequence[str], question: str) -> bool | None:
    left = list(given)
    for one in wanted:
        found = [_decide(_member(one), _member(other), question).equal for other in left]
        if True in found:
            left.pop(found.index(True))
        else:
            return None if None in found else False
    return True


def _member(text: str) -> str:
    return unwrapped(text.strip())


_TURNED_NAME = re.compile(r"([^=]+)=\s*[A-Za-z](?:_\{?\w+\}?)?\s*")
_NAME = re.compile(
    r"\s*(?:\((?:[a-z]|\\[a-z]+)(?:,\s*(?:[a-z]|\\[a-z]+))+\)|[A-Za-z](?:_\{?\w+\}?)?|[A-Za-z]\([a-z]\)|\\[a-z]+)\s*(?:=|\\in(?![A-Za-z]))\s*([^=]+)"
)


def _without_names(gold: str, answer: str) -> tuple[str, str]:
    """`x = 5` is 5 when the other side has no equation, or the same name; `a = b = 5` is 5 likewise."""
    names = [(_NAME.fullmatch(side), side) for side in (gold, answer)]
    gold_name, answer_name = (side[: match.start(1)] if match else "" for match, side in names)
    if gold_name and answer_name and _compact(gold_name) != _compact(answer_name):
        return gold, answer
    has = [re.search(r"=|\\in(?![A-Za-z])", side) is not None for side in (gold, answer)]
    if has[0] and (gold_name and (answer_name or not has[1])):
        gold = gold[len(gold_name) :].strip()
    if has[1] and (answer_name and (gold_name or not has[0])):
        answer = answer[len(answer_name) :].strip()
    elif has[1] and not has[0] and (turned := _TURNED_NAME.fullmatch(answer)):
        answer = turned[1].strip()
    elif has[1] and not has[0] and not SEVERAL_EQUATIONS.search(answer):
        answer = answer.rpartition("=")[2].strip()
    return _without_point(gold), _without_point(answer)


def _without_point(text: str) -> str:
    """The coordinates of a named point."""
    return re.sub(r"^[A-Z]\s*(?=\([^()]*,[^()]*\)$)", "", text)


def _without_approx(text: str) -> str:
    return re.sub(r"^\s*\\(?:approx|sim)(?:eq)?\s*", "", text)


def _compact(text: str) -> str:
    return re.sub(r"(?<!\d)\s+|\s+(?!\d)", "", text)
