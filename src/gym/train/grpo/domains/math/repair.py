r"""Damage that copies of problem sets are known to carry: what is certain is undone, the rest is left as it is.

A reader that took `\f`, `\t`, `\b`, `\r`, `\v`, `\a` or `\n` for an escape has eaten the head of a LaTeX command:
`\frac` became a form feed and `rac`. A reader of PDF pages has left a control character at the ligature "fi".
"""

import re
from functools import partial
from typing import NamedTuple

COMMAND = r"a LaTeX command without its backslash (as \frac after a form feed was read)"
CONTROL = "a stray control character"
WRAPPER = "instructions of a trainer around the problem"
INTEGER = "an integer answer written otherwise (as 025, 1,000 or 12.0)"


class Repaired(NamedTuple):
    """A text, and the kinds of damage that were undone in it."""

    text: str
    damage: tuple[str, ...] = ()


_EATEN = {
    "\a": "alpha angle approx arccos arcsin arctan",
    "\b": "bar because begin beta big bigcap bigcup bigg binom bmod boldsymbol boxed bullet",
    "\f": "fbox forall frac",
    "\n": "nabla nearrow neq ngeq nleq notin nparallel nsubseteq",
    "\r": "rangle rbrace rceil rfloor rho right rightarrow rm",
    "\t": "tan tau tbinom text textbf textit textrm textstyle tfrac therefore theta tilde times to top triangle",
    "\v": "varepsilon varnothing varphi vartriangle vdots vec vee vert",
}
_ONLY_IN_MATH = {"fbox", "neq", "rangle", "rbrace", "rho", "rm", "tan", "tau", "to", "top"}
"""Commands whose rest could be a word of a sentence after honest white space."""

_HEADLESS = re.compile(
    "|".join(
        f"{re.escape(char)}(?:{'|'.join(name[1:] for name in names.split())})(?![A-Za-z])"
        for char, names in _EATEN.items()
    )
)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_STRAY = re.compile(r"([A-Za-z]*)[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+([A-Za-z]*)")
_LIGATURES = frozenset({
    "define", "defined", "defines", "definite", "fifth", "fill", "filled", "final", "find", "finds", "finite", "first", "fit",
    "fits", "fitting", "five", "fix", "fixed", "infinite", "satisfied", "satisfies",
})  # fmt: skip
"""Words that copies have lost "fi" from, where a control character stands for it."""

_WRAPPERS = (
    re.compile(
        r"\A\s*Solve the following math problem step by step\.\s+The last line of your response should be .*?\n\n",
        re.DOTALL,
    ),
    re.compile(r"\s*Remember to put your answer on its own line after .{0,2}Answer:.{0,3}\s*\Z"),
    re.compile(r"\s*让我们一步一步地思考。请以“Answer: .*\Z", re.DOTALL),
    re.compile(
        r"\s*(?:Please|Let's) (?:reason|think) step by step,? and (?:put|output) (?:your|the) final answer "
        r"(?:with)?in \\boxed\{\}\.?\s*\Z"
    ),
)
"""How DAPO's copies and common trainers ask for the form of an answer; the domain's own prompt does that."""


def question(text: str) -> Repaired:
    r"""A problem's text without damage and without a trainer's instructions; what it asks for itself is kept.

    >>> question("Write it as \x0crac{m}{n}. Find $m+n$.").text
    'Write it as \\frac{m}{n}. Find $m+n$.'
    """
    bare = text
    for wrapper in _WRAPPERS:
        bare = wrapper.sub("", bare)
    found = latex(bare)
    return Repaired(found.text, (*((WRAPPER,) if bare != text else ()), *found.damage))


def latex(text: str, *, formula: bool = False) -> Repaired:
    """LaTeX with its eaten commands put back and stray control characters taken out; tabs and line ends stay.

    `formula`: all of it is mathematics, as an answer is, and not a text with formulas.
    """
    if not _CONTROLS.search(text):
        return Repaired(text)
    headed = _HEADLESS.sub(partial(_command, formula=formula), text)
    clean = _STRAY.sub(_joined, headed.replace("\r\n", "\n").replace("\r", "\n"))
    damage = (*((COMMAND,) if headed != text else ()), *((CONTROL,) if _STRAY.search(headed) else ()))
    return Repaired(clean, damage)


def integer(answer: str) -> Repaired:
    r"""An answer that is an integer, in its plain decimal form; any other answer as it is.

    >>> [integer(text).text for text in ("025", "1,024", r"336^\circ", "-7", "$12.0$", "p - q")]
    ['25', '1024', '336', '-7', '12', 'p - q']
    """
    bare = re.sub(r"^\$|\$$|\^\{?\\circ\}?|°|(?<=\d)(?:,|\{,\}|\\,)(?=\d{3}(?!\d))", "", answer.strip()).replace(
        "−", "-"
    )
    if not re.fullmatch(r"[+-]?\d+(?:\.0*)?", bare):
        return Repaired(answer)
    plain = str(int(bare.partition(".")[0]))
    return Repaired(plain, () if plain == answer else (INTEGER,))


def _command(match: re.Match[str], *, formula: bool) -> str:
    char, rest = match[0][0], match[0][1:]
    name = next(name for name in _EATEN[char].split() if name[1:] == rest)
    if name in _ONLY_IN_MATH and not formula and not _in_math(match.string[: match.start()]):
        return match[0]
    return f"\\{name}"


def _in_math(before: str) -> bool:
    """Whether a formula that began in this text is still open at its end."""
    dollars = before.replace(r"\$", "").count("$") % 2 == 1
    return dollars or any(before.rfind(start) > before.rfind(end) for start, end in ((r"\(", r"\)"), (r"\[", r"\]")))


def _joined(match: re.Match[str]) -> str:
    """The word that a control character stood in or at, whole again."""
    before, after = match.groups()
    if (word := f"{before}fi{after}").lower() in _LIGATURES:
        return word
    around = match.string[match.start() - 1 : match.start()] or " ", match.string[match.end() : match.end() + 1] or " "
    touching = (before or not around[0].isspace()) and (after or not around[1].isspace())
    return f"{before} {after}" if touching and not (before and after) else before + after
