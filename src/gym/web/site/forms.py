"""How a value is written on a page, read back from its text, and accepted as an answer.

A fact holds its value in one canonical form (a date as 1987-03-12, a number as digits); pages write it in several.
"""

import re
from datetime import date
from typing import Literal, NamedTuple

Kind = Literal[
    "person", "company", "product", "town", "prize", "nickname", "codename", "code", "date", "year", "number"
]

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_MONTH = "|".join(MONTHS)

PATTERNS: dict[Kind, str] = {
    "person": r"[^\W\d_]+\s+[^\W\d_]+",
    "company": r"[^\W\d_]+\s+(?:&\s+)?[^\W\d_]+",
    "product": r"[^\W\d_]+\s+\d+",
    "town": r"[^\W\d_]+",
    "prize": r"[^\W\d_]+\s+Prize",
    "nickname": r"the\s+[^\W\d_]+\s+[^\W\d_]+",
    "codename": r"[^\W\d_]+",
    "code": r"HR-\d{5}",
    "date": rf"\d{{1,2}}\s+(?:{_MONTH})\s+\d{{4}}|(?:{_MONTH})\s+\d{{1,2}},\s+\d{{4}}|\d{{4}}-\d\d-\d\d",
    "year": r"\d{4}",
    "number": r"\d[\d,]*",
}
"""What a value of each kind looks like in a page's text, however it is written."""


class Style(NamedTuple):
    """How one page writes dates and numbers."""

    dates: Literal["day", "month", "iso"] = "day"
    commas: bool = True


def written(kind: Kind, value: str, style: Style) -> str:
    """
    >>> written("date", "1987-03-02", Style()), written("number", "41730", Style(commas=False))
    ('2 March 1987', '41730')
    """
    if kind == "number" and style.commas:
        return f"{int(value):,}"
    if kind != "date" or style.dates == "iso":
        return value
    day = date.fromisoformat(value)
    month = MONTHS[day.month - 1]
    return f"{day.day} {month} {day.year}" if style.dates == "day" else f"{month} {day.day}, {day.year}"


def read(kind: Kind, text: str) -> str:
    """The canonical form of what stands on a page.

    >>> read("date", "March 2, 1987"), read("number", "41,730")
    ('1987-03-02', '41730')
    """
    if kind == "number":
        return text.replace(",", "")
    if kind != "date" or re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return " ".join(text.split())
    day, year = re.findall(r"\d+", text)
    (month,) = re.findall(_MONTH, text)
    return date(int(year), MONTHS.index(month) + 1, int(day)).isoformat()


def answer(kind: Kind, value: str) -> str:
    """The form that a question's answer has."""
    return written(kind, value, Style(commas=False))


def accepted(kind: Kind, value: str) -> tuple[str, ...]:
    """Other forms that are as right."""
    styles = (Style(), Style("month"), Style("iso", commas=False))
    others = dict.fromkeys(written(kind, value, style) for style in styles)
    return tuple(form for form in others if form != answer(kind, value))
