"""The form in which two short answers are one: letter case, accents, articles, punctuation, and how dates are written.

>>> normal("the  “Émile-Zola” prize."), normal("March 3rd, 2021") == normal("3 March 2021"), normal("`4 MB`")
('emile zola prize', True, '4mb')
"""

import re
import unicodedata
from typing import NamedTuple

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS).replace(
    "sep(?:tember)?", "sept?(?:ember)?"
)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_DATES = (
    (re.compile(rf"\b(?P<m>{_MONTH})\.? {_DAY}(?:, ?| )(?P<y>\d{{4}})\b"), 2),
    (re.compile(rf"\b{_DAY}(?: of)? (?P<m>{_MONTH})\.?,? (?P<y>\d{{4}})\b"), 1),
)
_MONTH_OF = re.compile(rf"\b(?P<m>{_MONTH})\.?,? (?:of )?(?P<y>\d{{4}})\b")
_MARKUP = str.maketrans(dict.fromkeys("`*\"'“”‘’«»„", "") | dict.fromkeys("‐‑‒–—−", "-") | {"&": " and "})
_REWRITES = (
    (re.compile(r"\(\)"), ""),
    (re.compile(r"\b(?:[^\W\d_]\.){2,}"), lambda match: match[0].replace(".", "")),
    (re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), ""),
    (re.compile(r"[.,:](?!\d)|[;!?。、，；！？]"), " "),
    (re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])"), " "),
    (re.compile(r"(?<=\d) (?=(?:%|[^\W\d_]+)(?: |$))"), ""),
)
"""Calls, initials, thousands, punctuation, hyphens, and the space before a unit."""
_ARTICLE = re.compile(r"^(?:(?:an?|the) )+(?=\S)")
_REMARK = re.compile(r"^(.*\S)\s*[(（]([^()（）]+)[)）]\s*\.?$", re.DOTALL)


def normal(text: str) -> str:
    """One line in lower case without what says nothing."""
    plain = _plain_letters(unicodedata.normalize("NFKC", text)).casefold().translate(_MARKUP)
    line = _iso_dates(" ".join(plain.split()))
    for pattern, instead in _REWRITES:
        line = pattern.sub(instead, line)
    return _ARTICLE.sub("", " ".join(line.split()))


class Remarked(NamedTuple):
    """A text and what it says in brackets at its end."""

    text: str
    remark: str


def without_remark(text: str) -> Remarked:
    """The text without a remark at its end; one that offers another answer is none.

    >>> without_remark("30 (WARNING)"), without_remark("GIN (or GiST)").remark
    (Remarked(text='30', remark='WARNING'), '')
    """
    match = _REMARK.match(text)
    if match is None or re.search(r"\b(?:or|not)\b|/", match[2], re.IGNORECASE):
        return Remarked(text, "")
    return Remarked(match[1], match[2])


def _plain_letters(text: str) -> str:
    """Without invisible letters and the accents of Latin ones; a mark on another script's letter makes another letter."""
    kept: list[str] = []
    latin = False
    for char in unicodedata.normalize("NFD", text):
        if (unicodedata.combining(char) and latin) or unicodedata.category(char) == "Cf":
            continue
        latin = char.isascii() or "LATIN" in unicodedata.name(char, "")
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))


def _iso_dates(line: str) -> str:
    for pattern, day in _DATES:
        line = pattern.sub(lambda match, day=day: f"{match['y']}-{_number(match['m']):02}-{int(match[day]):02}", line)  # type: ignore[misc]
    return _MONTH_OF.sub(lambda match: f"{match['y']}-{_number(match['m']):02}", line)


def _number(month: str) -> int:
    return next(place for place, name in enumerate(_MONTHS, 1) if name.startswith(month[:3]))
