"""What an experience of the web domain may not hold: where something is.

An experience is to help with other problems of the kind (SPEC 1.5). An address is a fact of one site: on another it is
nothing, and on this one it gives a held-out question's walk away, so that memory would be measured as skill. Answers, and
words copied from questions, are already refused for every domain (SPEC 2.3), and so are instructions.

>>> veto("When a person is sought, open http://halden.example/people.html first.")
"holds an address ('http://halden.example/people.html'): where a page is helps on one site alone"
>>> veto("When a list ends with a link to its next page, e.g. index.html?page=2, follow it.") is None
True
"""

import re

_URL = re.compile(r"\b(?:https?|ftp)://\S+|\bwww\.[\w-]+\.\S+", re.IGNORECASE)
_HOST = re.compile(
    r"(?<![\w.@/-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,9}"
    r"(?:com|org|net|edu|gov|example|test|invalid|localhost|io|ai|cn|de|eu|fr|jp|uk|ch|ru)"  # no words such as in, at, us
    r"(?![\w-])(?:/\S*)?",
    re.IGNORECASE,
)
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}")
_FILE = re.compile(r"(?<![\w.])(?:[\w%~-]{1,99}/){0,9}([\w%~-]{1,99})\.(?:x?html?|php|aspx?|jsp|pdf)\b", re.IGNORECASE)
_ABSOLUTE = re.compile(r"(?<![\w/<])/[\w%~-]+(?:/[\w%~.-]+)+/?")
_GENERIC = frozenset({"index", "sitemap", "home", "default", "page", "search"})
"""Pages that are on every site."""


def veto(text: str) -> str | None:
    """Why an experience text is refused, or None."""
    found = _first(text)
    return None if found is None else f"holds an address ({found!r}): where a page is helps on one site alone"


def _first(text: str) -> str | None:
    for pattern in (_URL, _MAIL, _HOST, _ABSOLUTE):
        if match := pattern.search(text):
            return match[0].rstrip(".,;:!?)\"'")
    return next((match[0] for match in _FILE.finditer(text) if match[1].lower() not in _GENERIC), None)
