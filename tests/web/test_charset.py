"""Bytes become the text that their writer meant, and broken ones break nothing else."""

import pytest

from gym.web.charset import decoded

GERMAN, CHINESE, RUSSIAN = "Größe “10” €", "中文网页朗镕", "Привет"


def meta(charset: str) -> str:
    return f'<html><head><meta charset="{charset}"><title>x</title>'


@pytest.mark.parametrize(
    ("body", "header", "text"),
    [
        (GERMAN.encode(), "utf-8", GERMAN),
        (GERMAN.encode(), "", GERMAN),
        (GERMAN.encode("cp1252"), "", GERMAN),
        (GERMAN.encode("cp1252"), "ISO-8859-1", GERMAN),
        (GERMAN.encode(), "latin1", GERMAN),
        (GERMAN.encode(), "no-such-charset", GERMAN),
        (GERMAN.encode(), "base64", GERMAN),
        *((GERMAN.encode("cp1252"), codec, GERMAN) for codec in ("undefined", "idna", "punycode", "unicode_escape", "\0")),
        (b"+ADw-script+AD4-", "utf-7", "+ADw-script+AD4-"),
        ("表示①".encode("cp932"), "x-sjis", "表示①"),
        (CHINESE.encode("gb18030"), "gb2312", CHINESE),
        (RUSSIAN.encode("koi8-r"), '"koi8-r"', RUSSIAN),
        (RUSSIAN.encode("utf-16"), "", RUSSIAN),
        (b"\xef\xbb\xbf" + RUSSIAN.encode(), "koi8-r", RUSSIAN),
        (RUSSIAN.encode("utf-16-le"), "utf-16", RUSSIAN),
        ((meta("gbk") + CHINESE).encode("gb18030"), "", meta("gbk") + CHINESE),
        ((meta("utf-16") + GERMAN).encode(), "", meta("utf-16") + GERMAN),
        ((meta("shift_jis") + "表示①").encode("cp932"), "", meta("shift_jis") + "表示①"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">' + RUSSIAN.encode("cp1251"), "",
         '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">' + RUSSIAN),
        (b"good \xff\xfe\xc3 still good", "utf-8", "good \ufffd\ufffd\ufffd still good"),
        (b"", "", ""),
    ],
)  # fmt: skip
def test_a_page_is_read_in_the_charset_that_it_has(body: bytes, header: str, text: str) -> None:
    assert decoded(body, header) == text
