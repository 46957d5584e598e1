"""Bytes of a page to text, as browsers do it (encoding.spec.whatwg.org): byte order mark, header, meta tag, else a guess.

Labels mean what pages mean by them: `latin-1` is Windows-1252, `gb2312` is GB 18030. A label that the bytes contradict is not
believed where they are UTF-8; what is still broken becomes U+FFFD. Python knows codecs that are no charset of a page and fail
or never end on one (`undefined`, `idna`, `punycode`): a label of theirs is none.
"""

import codecs
import re
from collections.abc import Iterator

from gym.core.text import word_set

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(
    rb"<(?:meta\b[^>]*?|\?xml\b[^>]*?en)(?:charset|coding)\s*=\s*[\"']?\s*([a-zA-Z0-9._:-]+)", re.IGNORECASE
)
_META_BYTES = 2_048
_MEANT = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs",
    "utf-16": "utf-16-le", "utf-7": "utf-8",
}  # fmt: skip
"""By Python's names of the codecs."""
_ALIASES = {
    "x-sjis": "cp932", "windows-31j": "cp932", "windows-949": "cp949", "x-gbk": "gb18030", "iso-8859-8-i": "iso8859-8",
}  # fmt: skip
"""Labels that browsers know and Python does not."""
_OF_PAGES = word_set(
    "utf-8 utf-16-le utf-16-be cp866 cp874 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 koi8-r koi8-u "
    "iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 iso8859-15 "
    "iso8859-16 mac-roman mac-cyrillic gb18030 big5hkscs euc_jp iso2022_jp cp932 cp949"
)


def decoded(body: bytes, declared: str = "") -> str:
    """The text of a body; `declared` is the charset of its header.

    >>> decoded("“Größe”".encode("cp1252"), "iso-8859-1"), decoded("naïve".encode(), "us-ascii")
    ('“Größe”', 'naïve')
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    named = _codec(declared) or _codec(_from_meta(body))
    for encoding in _likely(named):
        try:
            return body.decode(encoding)
        except UnicodeDecodeError:
            continue
    return body.decode(named or "utf-8", "replace")


def _likely(named: str) -> Iterator[str]:
    """UTF-8 before single-byte labels, since text in those hardly ever is UTF-8 by chance."""
    if not named or named.startswith("cp125"):
        yield "utf-8"
    if named:
        yield named
    yield "utf-8"
    if not named:
        yield "cp1252"


def _from_meta(body: bytes) -> str:
    found = _META.search(body[:_META_BYTES])
    name = found[1].decode("ascii") if found else ""
    return "utf-8" if name.lower().startswith("utf-16") else name  # it could not have been read otherwise


def _codec(label: str) -> str:
    """The codec for a label; empty when pages have none of that name."""
    name = label.strip().strip("\"'").lower()
    try:
        found = codecs.lookup(_ALIASES.get(name, name)).name
    except (LookupError, ValueError):
        return ""
    meant = _MEANT.get(found, found)
    return meant if meant in _OF_PAGES else ""
