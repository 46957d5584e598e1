"""What a sentence gives as the answer: the one thing in it that could be meant, unless its words deny, compare or ask."""

import re
from collections.abc import Iterator

from gym.train.grpo.rewards.answers import Found

_MATH_SPAN = re.compile(r"\$([^$]+)\$|\\\((.+?)\\\)")
_NUMBER = re.compile(r"(?<![\w.,])[-+−]?\d[\d,]*(?:\.\d+)?(?:/\d+)?(?![\w/])")
_LONGEST = 1_000
"""Characters at the end of a line that are read as a sentence."""
_IS = re.compile(r"\bis\b|\bare\b|:")
_JOINED = re.compile(r"[\s,;.]*(?:\b(?:and|or)\b)?[\s,;.]*", re.IGNORECASE)
_SEVERAL = re.compile(r"\b(?:and|or)\b|[,;]", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:is|are|be|was|were|equals?|can|could|do|does|did|would|should)\s*(?:not\b|n['’]?t\b)|^\s*not\b|\bcannot\b|\bnever\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;]|\b(?:so|thus|hence|therefore|then)\b", re.IGNORECASE)
_QUALIFIED = re.compile(
    r"\b(?:less|more|greater|fewer|larger|smaller|bigger|higher|lower|other)\s+than\b|\bat\s+(?:least|most)\b"
    r"|\b(?:could|might|may)\s+be\b|\b(?:maybe|perhaps|possibly|between)\b"
    r"|\b(?:times|twice|double|triple|half|divisible by|divides|(?:root|square|cube|multiple|factor|divisor|power) of)\s*$",
    re.IGNORECASE,
)
_CONTINUED = re.compile(r"\s*(?:times|squared|cubed|(?:st|nd|rd|th)\b)", re.IGNORECASE)
_RETRACTED = re.compile(
    r"(?:,\s*(?:(?:and|but)\s+)?|\s(?:and|but)\s+)not\b.*$|,?\s*\b(?:rather than|instead of|since|because)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_SAID_AGAIN = re.compile(r"\s*\([A-Za-z][A-Za-z -]*\)\s*\.?$")

MARKED = frozenset({"box", "json"})
"""Rules whose text is the answer and nothing else."""


def readings(found: Found) -> Iterator[str]:
    """The answer as marked; and, when it stands in a sentence, the one thing in it that could be meant."""
    if found.rule in MARKED:
        yield found.text
        return
    sentence = found.text[-_LONGEST:]
    if asks_or_denies(sentence):
        return
    yield found.text
    plain = _SAID_AGAIN.sub("", _RETRACTED.sub("", sentence))
    if plain != sentence:
        yield plain
    if re.search(r"[A-Za-z]{2}[\s:]|\$|=", plain):
        yield from _in_words(plain)


def asks_or_denies(sentence: str) -> bool:
    """Whether it gives no value: "The answer is not 7", "Is it 7?"."""
    asked = sentence.rstrip().endswith(("?", "？")) and " " in sentence.strip()
    return asked or _DENIED.search(_RETRACTED.sub("", sentence)) is not None


def is_prose(text: str) -> bool:
    """Whether two words follow each other, so that an algebra system would pick what it likes out of it."""
    return re.search(r"(?<![\\A-Za-z])[A-Za-z]{2,}\s+[A-Za-z]{2,}", text) is not None


def _in_words(sentence: str) -> Iterator[str]:
    spans = [first or second for first, second in _MATH_SPAN.findall(sentence)]
    outside = _IS.split(_MATH_SPAN.sub("", sentence))[-1]
    if spans and _given(sentence, sentence.find(spans[-1])) and (len(spans) == 1 or _JOINED.fullmatch(outside)):
        yield ", ".join(spans)
        return
    tail = _IS.split(sentence)[-1]
    if "=" in tail and not _SEVERAL.search(tail):
        tail = tail.rpartition("=")[2]
    for text, answer in ((sentence, None), (tail, tail.strip())):
        numbers = list(_NUMBER.finditer(text))
        if len({number[0] for number in numbers}) == 1:
            last = numbers[-1]
            if _given(sentence, sentence.rfind(text) + last.start()) and not _CONTINUED.match(text, last.end()):
                yield answer or last[0]
            return


def _given(sentence: str, place: int) -> bool:
    """Whether the words before a place, in its clause, leave what stands there as it is."""
    return not _QUALIFIED.search(_CLAUSE.split(sentence[:place])[-1])
