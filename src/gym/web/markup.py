"""Markup before the parser sees it: without what is never read, and without start tags of very many attributes.

For a tag's attributes libxml2 takes time by the square of their number: one page of 8 MB would keep it busy for an hour, and
nothing can stop it. Tags are told apart as HTML does it (html.spec.whatwg.org, 13.2.5), which libxml2 follows from 2.14 on;
where the two could part, in comments, scripts and declarations, the text goes too.
"""

import re

MOST_ATTRIBUTES = 200
HARMLESS = 50_000
"""Characters of a page that is too short to keep the parser busy for half a second."""

_BLANK = r"\t\n\f\r "
_VALUE = rf"[{_BLANK}]*+=[{_BLANK}]*+(?:\"[^\"]*+\"|'[^']*+'|[^{_BLANK}>\"'][^{_BLANK}>]*+)?+"
_ATTRIBUTE = rf"[{_BLANK}/]*+[^{_BLANK}/>][^{_BLANK}/>=]*+(?:{_VALUE})?+"
_TAG = rf"[a-zA-Z][^{_BLANK}/>]*+"
_MARKUP = re.compile(
    rf"""
    <!--(?:-?>|.*?--!?>|.*+)
  | <[!?][^>]*+>?
  | <(?P<raw>script|style)(?=[{_BLANK}/>])(?:{_ATTRIBUTE})*+[{_BLANK}/]*+>(?:.*?</(?P=raw)(?=[{_BLANK}/>])[^>]*+>?|.*+)
  | <{_TAG}(?:{_ATTRIBUTE}){{{MOST_ATTRIBUTES + 1}}}(?:{_ATTRIBUTE})*+[{_BLANK}/]*+>?
  | (?P<kept><(?P<text>title|textarea|xmp|iframe|noembed|noframes)(?=[{_BLANK}/>])(?:{_ATTRIBUTE})*+[{_BLANK}/]*+>
    (?:.*?(?=</(?P=text)[{_BLANK}/>])|.*+)
  | </?{_TAG}(?:{_ATTRIBUTE})*+[{_BLANK}/]*+>?)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def bearable(html: str) -> str:
    """The page as it is when it is short; else without comments, scripts, styles, declarations, and tags that crowd.

    >>> bearable("<!doctype html><p title='a > b'>x<!-- y --><script>if (a<b) { z }</script>" + " " * HARMLESS).rstrip()
    "<p title='a > b'>x"
    """
    return html if len(html) < HARMLESS else _MARKUP.sub(lambda match: match["kept"] or "", html)
