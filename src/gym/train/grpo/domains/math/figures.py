"""Whether a problem needs a figure: it draws one in code, links to one, or speaks of one that its text may not hold.

On the cautious side: a figure that only illustrates counts too, a table or an array does not.
"""

import re

_DRAWN = (
    "[asy]",
    "<asy>",
    "{asy}",
    "{tikzpicture}",
    "{picture}",
    "{pspicture}",
    "\\includegraphics",
    "[img",
    "<img",
    "![",
)
_HINTS = (
    "figure", "fig.", "diagram", "picture", "illustrat", "drawing", "sketch", "graph", "grid", "map", "board", "target", "shown",
    "depicted", "图",
)  # fmt: skip
"""Every way of speaking of a figure holds one of these; to look for them is cheap."""
_PICTURE = r"(?:figures?|diagrams?|pictures?|illustrations?|drawings?|sketch(?:es)?)"
_ADJECTIVE = (
    r"(?:(?:the|this|these|an?|our|its|given|following|accompanying|attached|adjacent|adjoining|above|two|three|first|second)"
    r"\s+)"
)
_PLACE = r"(?:below|above|here|(?:to|at|on) (?:the )?(?:left|right)|shown|drawn|depicted|pictured|\(not)"
_SPOKEN_OF = re.compile(
    rf"\b(?:in|see|from|of|on|by|to|with|consider|refer to)\s+{_ADJECTIVE}*(?:diagram|picture|illustration)s?\b"
    rf"|\b(?:in|see|consider|refer to|as in)\s+{_ADJECTIVE}*figures?\b"
    r"|\b(?:the|this)\s+(?:[\w-]+\s+)?diagrams?\b"
    rf"|\b(?:following|accompanying|attached|adjacent|adjoining)\s+{_PICTURE}"
    rf"|\b(?:{_PICTURE}|graph|grid|map|game ?board|target)\s+(?:\w+\s+)?{_PLACE}"
    r"|\bin \[?fig(?:ure|\.)?\s*\d"
    r"|\bas (?:is |are |seen )?(?:pictured|depicted|illustrated|sketched)\b"
    r"|\b(?:pictured|graphed|sketched|depicted) (?:below|above|here)\b"
    r"|(?:如|下|右|左|上)(?:下|右|左|上)?图|图(?:中|所示)|示意图"
)
_SHOWN = re.compile(r"(?<!\bbe )(?<!\bbeen )\bshown\b(?!,?\s+(?:that|to|by|how|in the table)\b)")
_TABLE = re.compile(r"\\begin\{(?:array|tabular|align|cases|[pbv]?matrix)|\btable\b")


def needs_figure(text: str) -> bool:
    """Whether it draws or speaks of a figure.

    >>> [needs_figure(text) for text in ("Square $ABCD$ is divided as shown.", "It can be shown that $x=1$. Find $x$.")]
    [True, False]
    """
    text = text.lower()
    if any(mark in text for mark in _DRAWN):
        return True
    if not any(hint in text for hint in _HINTS):
        return False
    return bool(_SPOKEN_OF.search(text) or (_SHOWN.search(text) and not _TABLE.search(text)))
