r"""One spelling for what mathematics writes in many: Unicode to LaTeX, spacing and wrappers dropped, fractions braced.

>>> plain("$\\dfrac12\\,$."), plain("½"), plain("1 000 000"), plain("pi/2"), plain("\\textbf{(051) }"), plain("√51")
('\\frac{1}{2}', '\\frac{1}{2}', '1000000', '\\pi/2', '(051)', '\\sqrt{51}')
"""

import re
import unicodedata
from collections.abc import Callable

_SYMBOLS = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": "/", "⁄": "/",
    "∕": "/", "π": r"\pi ", "∞": r"\infty ", "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "≈": r"\approx ",
    "∅": r"\emptyset ", "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "°": r"^\circ ", "±": r"\pm ", "。": ".",
    "，": ",", "：": ":",
}  # fmt: skip
_REWRITES: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(r"√\s*([0-9]+|[A-Za-z])"), r"\\sqrt{\1}"),
    (re.compile("√"), r"\\sqrt "),
    (re.compile(r"\\(?:left|right|bigl?|bigr?|Bigl?|Bigr?|displaystyle|textstyle|limits)(?![A-Za-z])"), ""),
    (re.compile(r"\\[()\[\]]|(?<!\\)\$"), " "),
    (re.compile(r"(?<!\\)\\[!,;: ]|~|\\q?quad(?![A-Za-z])|\\hspace\{[^{}]*\}"), ""),
    (re.compile(r"\{([,.])\}"), r"\1"),
    (
        re.compile(
            r"\\textcolor\{[^{}]*\}|\\color\{[^{}]*\}|\\(?:large|Large|huge|normalsize|mathbin|mathrel)(?![A-Za-z])"
        ),
        "",
    ),
    (re.compile(r"\\colon(?![A-Za-z])"), ":"),
    (re.compile(r"\\langle(?![A-Za-z])"), "("),
    (re.compile(r"\\rangle(?![A-Za-z])"), ")"),
    (re.compile(r"\\[dtc]frac(?![A-Za-z])"), r"\\frac"),
    (re.compile(r"\\[dt]binom(?![A-Za-z])"), r"\\binom"),
    (re.compile(r"\\binom\s*([0-9a-zA-Z])\s*([0-9a-zA-Z])"), r"\\binom{\1}{\2}"),
    (re.compile(r"\\varnothing(?![A-Za-z])"), r"\\emptyset"),
    (re.compile(r"\\l(?:eq|eqslant)(?![A-Za-z])"), r"\\le"),
    (re.compile(r"\\g(?:eq|eqslant)(?![A-Za-z])"), r"\\ge"),
    (re.compile(r"\\neq(?![A-Za-z])"), r"\\ne"),
    (re.compile(r"\\(begin|end)\{[bB]matrix\}"), r"\\\1{pmatrix}"),
    (re.compile(r"<="), r"\\le "),
    (re.compile(r">="), r"\\ge "),
    (re.compile(r"\^\{?\\circ\s*\}?|\\degrees?(?![A-Za-z])"), r"^\\circ"),
    (
        re.compile(r"(\\(?:sin|cos|tan|cot|sec|csc))\s*[({]?\s*(\d+(?:\.\d+)?)\s*\^\\circ\s*[)}]?"),
        r"\1(\\frac{\2\\pi}{180})",
    ),
    (re.compile(r"(?<=[\d})])\s*\\mathrm\{\s*([A-Za-z]{2,}[^{}]*)\}"), r"\\text{\1}"),
    (re.compile(r"\\\{\s*\\\}"), r"\\emptyset"),
    (re.compile(r"(?<=\d)\s*(?:\\text\{\s*to\s*\}|\bto\b)\s*(?=\d)"), ":"),
    (re.compile(r"\\(?:mathbf|mathrm|mathit|boldsymbol|bm|mathsf|boxed|fbox)\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\(?:textbf|textit|textrm|mbox|textnormal|emph|text)\s*\{([^{}]*)\}"), r"\\text{\1}"),
    (re.compile(r"\\frac\s*([0-9a-zA-Z])\s*([0-9a-zA-Z])"), r"\\frac{\1}{\2}"),
    (re.compile(r"\\frac\s*([0-9a-zA-Z])\s*\{"), r"\\frac{\1}{"),
    (re.compile(r"(\\frac\{[^{}]*\})\s*([0-9a-zA-Z])"), r"\1{\2}"),
    (re.compile(r"\\sqrt\s*([0-9a-zA-Z])"), r"\\sqrt{\1}"),
    (re.compile(r"(?:\\|(?<![A-Za-z\\]))sqrt\s*\(([^()]*)\)"), r"\\sqrt{\1}"),
    (re.compile(r"(?<![A-Za-z\\])(pi|infty)(?![A-Za-z])"), r"\\\1"),
    (re.compile(r"(?<![A-Za-z\\])infinity(?![A-Za-z])"), r"\\infty"),
    (re.compile(r"\s+"), " "),
    (re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d/])"), lambda match: match[0].replace(" ", "")),
]
_GOES_ON = re.compile(r"\.\d+\.{3}$")
_ROWS = re.compile(r"\[\s*\[[^\[\]]*\](?:\s*,\s*\[[^\[\]]*\])+\s*\]")
_WHOLE_TEXT = re.compile(r"\\text\{([^{}]*)\}")


def plain(text: str) -> str:
    """The text in one spelling; what cannot be read is left as it stands."""
    text = "".join(map(_symbol, text))
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    text = text.strip().strip("*`").strip()
    while text.endswith((".", ",", ";", ":")) and not _GOES_ON.search(text):
        text = text[:-1].rstrip()
    if whole := _WHOLE_TEXT.fullmatch(text):
        return whole[1].strip().rstrip(".")
    return unwrapped(_matrix(text))


def _matrix(text: str) -> str:
    """Rows in brackets, as programs print them, as LaTeX has them."""
    if not _ROWS.fullmatch(text):
        return text
    rows = (" & ".join(row.split(",")) for row in re.findall(r"\[([^\[\]]*)\]", text[1:-1]))
    return r"\begin{pmatrix}" + r" \\ ".join(rows) + r"\end{pmatrix}"


def unwrapped(text: str) -> str:
    """The text without brackets and braces around the whole of it that hold one thing.

    >>> unwrapped("((7))"), unwrapped("(1,2)"), unwrapped("(1)(2)")
    ('7', '(1,2)', '(1)(2)')
    """
    spans = _pairs(text)
    start, end = 0, len(text)
    while end - start > 2 and text[start] in "({" and spans.get(start) == end - 1:
        start, end = start + 1, end - 1
    inner = text[start:end].strip()
    return text if "," in inner or start == 0 or re.fullmatch(r"[A-Z]|0\d+", inner) else inner


def split_top(text: str, separators: str) -> list[str]:
    """The parts between separators (a regular expression) that stand outside every bracket."""
    parts, depth, last = [], 0, 0
    for token in re.finditer(rf"(?P<separator>{separators})|\\?[(\[{{]|\\?[)\]}}]", text):
        if token["separator"] is None:
            depth += 1 if token[0][-1] in "([{" else -1
        elif depth == 0:
            parts.append(text[last : token.start()].strip())
            last = token.end()
    return [*parts, text[last:].strip()]


def _symbol(char: str) -> str:
    if char in _SYMBOLS:
        return _SYMBOLS[char]
    kind, _, parts = unicodedata.decomposition(char).partition(" ")
    if kind not in ("<fraction>", "<super>", "<sub>"):
        return char if char.isascii() else unicodedata.normalize("NFKC", char)
    plain_text = "".join(chr(int(code, 16)) for code in parts.split())
    if kind == "<fraction>":
        top, _, bottom = plain_text.partition("⁄")
        return rf"\frac{{{top}}}{{{bottom}}}"
    return f"{'^' if kind == '<super>' else '_'}{{{plain_text}}}"


def _pairs(text: str) -> dict[int, int]:
    """Position of each opening bracket or brace -> position of its partner."""
    stack: list[int] = []
    found = {}
    for place, char in enumerate(text):
        if char in "({":
            stack.append(place)
        elif char in ")}" and stack:
            found[stack.pop()] = place
    return found
