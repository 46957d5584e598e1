"""Which one letter of several an answer chooses."""

import re

from gym.train.grpo.rewards.ruling import UNDECIDED, Ruling

_PREFIX = re.compile(r"^(?:option|choice|answer)\s+", re.IGNORECASE)
_CHOSEN = re.compile(r"(?:\\text\s*\{\s*)?\(?(?P<letter>[A-Z])(?P<mark>[).:]*)(?:\s*\})?(?P<rest>.*)", re.DOTALL)
_REASON = re.compile(r",?\s*(?:(?:and|but)\s+)?(?:because|since|as|for|not|which)\b")
_CONTENT = re.compile(r"[\s~]+(?:[\d$]|\(\s*\d|\\(?:frac|sqrt|pi)(?![a-z]))")
_ANOTHER = re.compile(
    r"(?:\b(?:or|and|nor)\b|[,;&/|]|\\&|\\text\{\s*(?:,?\s*or|and)\s*\}|\\lor|\\vee)[\s$~]*(?:\\text\s*\{\s*)?\(?[A-Z](?![a-z'])|\([A-H]\)"
)


def choice(gold: str, answer: str) -> Ruling:
    """A gold that is one capital letter: the answer opens with a letter, in brackets or not, or is a small one.

    What follows the letter may be the choice's text or a reason; a second letter chooses nothing, and an operator makes
    it a formula.
    """
    wanted = re.fullmatch(r"\(?([A-Z])\)?", gold)
    answer = _PREFIX.sub("", answer)
    given = _CHOSEN.fullmatch(answer.upper() if re.fullmatch(r"\(?[a-h]\)?", answer) else answer)
    if wanted is None or given is None:
        return UNDECIDED
    rest = given["rest"]
    if _REASON.match(rest):
        return Ruling(wanted[1] == given["letter"], "choice")
    if _ANOTHER.search(rest):
        return Ruling(False, "choice")
    marked = ")" in given["mark"] or (given["mark"] and rest[:1].isspace())
    if not rest or marked or _CONTENT.match(rest):
        return Ruling(wanted[1] == given["letter"], "choice")
    return UNDECIDED
