r"""Where a reply's answer stands: after the last closed thought, in the last box, behind a mark, or in the last line.

>>> find_answer("2+2 is 4 then… \\boxed{9}</think>The answer is \\boxed{4}").text
'4'
"""

import json
import re
from typing import NamedTuple

from gym.core.problem import Trajectory
from gym.core.rollout import no_answer_reason

MAX_CHARS = 50_000
"""Only a reply's last characters are searched for an answer."""


NOTHING_SAID = "no answer: nothing follows the thoughts"


class Found(NamedTuple):
    """An answer and how it was marked."""

    text: str
    rule: str
    """`box`, `answer tag`, `json`, `answer line`, `bold` or `last line`."""


def final_text(output: str) -> str:
    """The text that counts: after the last closed thought, before one that was opened and never closed.

    >>> final_text("<think>maybe 4</think> It is 5. <think>or 6")
    'It is 5.'
    """
    after = re.split(r"</think(?:ing)?>", output, flags=re.IGNORECASE)[-1]
    return re.split(r"<think(?:ing)?>", after, maxsplit=1, flags=re.IGNORECASE)[0].strip()


def unfenced(text: str) -> str:
    """The text without a code fence around the whole of it.

    >>> unfenced("```json\\n[1]\\n```")
    '[1]'
    """
    text = text.strip()
    if not text.startswith("```"):
        return text
    first, _, rest = text.partition("\n")
    return rest.strip().removesuffix("```").strip() if first.strip("`").isalnum() or not first.strip("`") else text


def unanswered(trajectory: Trajectory) -> str | None:
    """Why there is nothing to grade, in words; None when there is something."""
    if reason := no_answer_reason(trajectory):
        return reason
    return None if final_text(trajectory.output) else NOTHING_SAID


_PLACEHOLDERS = frozenset(
    {"answer", "your answer", "final answer", "final_answer", "...", "…", r"\ldots", r"\dots", "?"}
)
_BRACES = re.compile(r"\\f?box(?:ed)?\s*\{|\\[{}\\]|[{}]")
_CONNECTOR = re.compile(r"[\s$]*(?:,|;|,?\s*\b(?:and|or)\b)[\s$]*")
_TAG = re.compile(r"<answer>((?:(?!</?answer>).)*)</answer>", re.IGNORECASE | re.DOTALL)
_ANSWER_LINE = re.compile(
    r"(?:\b(?:answer|option|choice|result|antwort|ergebnis|réponse|respuesta|resultado|ответ)\b|答案|答え|정답)[*_]*"
    r"(?:[^.\n:：]{0,40}?\b(?:is|are|ist|est|es)\b|[^.\n:：]{0,20}?[:：]|\s*[为是])[*_\s]*[:：]?[\s*_]*([^\s:：*_][^\n]*)",
    re.IGNORECASE,
)
_RESTATED = re.compile(
    r".*[.!?。…]\s+(?:[\w']+,?\s+){0,3}?(?:the|my)\s+(?:final\s+|correct\s+|right\s+)?answer\s+is[:*_\s]*(?=[-+\d$\\({\[])",
    re.IGNORECASE,
)
"""A later sentence of the same line that gives another answer."""
_SENTENCE_END = re.compile(r"(?<!\b[A-Za-z])[.。](?:\s|$)|[.。]\s*$")
_BOLD = re.compile(r"\*\*([^*\n]+?)\*\*[\s.。]*$")


class _Box(NamedTuple):
    start: int
    end: int
    content: str


def find_answer(text: str) -> Found | None:
    """The answer in a final text (thoughts already removed), or None when none is marked and the text is empty.

    Boxes that only a comma, "and" or "or" joins are one list; of others the last counts. A last box that was never
    closed counts only when a bare integer stands in it, and never gives way to an earlier one.
    """
    text = unfenced(text[-MAX_CHARS:])
    if (boxed := _boxed(text)) is not None:
        return Found(boxed, "box") if boxed else None
    if tags := _TAG.findall(text):
        return Found(tags[-1].strip(), "answer tag")
    if (value := _json_answer(text)) is not None:
        return Found(value, "json")
    if lines := [line for line in _ANSWER_LINE.findall(text) if not line.startswith("not ")]:
        return Found(_sentence(lines[-1]), "answer line")
    last = text.splitlines()[-1].strip() if text else ""
    if bold := _BOLD.search(last):
        return Found(bold[1].strip(), "bold")
    return Found(last, "last line") if last else None


def _sentence(line: str) -> str:
    line = line[restated.end() :] if (restated := _RESTATED.match(line)) else line
    end = _SENTENCE_END.search(line)
    return (line[: end.start()] if end else line).strip().strip("*_").strip()


def _boxed(text: str) -> str | None:
    """What the last box (or run of boxes) holds; "" when it holds nothing usable; None when there is no box."""
    closed, unclosed = _boxes(text)
    if unclosed is not None and (not closed or unclosed > closed[-1].start):
        bare = re.fullmatch(r"[^{]*\{\s*(-?\d+)[\s$.]*", text[unclosed:])
        return bare[1] if bare else ""
    closed = [box for box in closed if box.content.strip().lower() not in _PLACEHOLDERS]
    if not closed:
        return None
    run = [closed[-1]]
    for box in reversed(closed[:-1]):
        if not _CONNECTOR.fullmatch(text, box.end, run[0].start):
            break
        run.insert(0, box)
    return ", ".join(dict.fromkeys(box.content.strip() for box in run))


def _boxes(text: str) -> tuple[list[_Box], int | None]:
    """Outermost closed boxes in order, and where the last unclosed one starts: one pass, whatever the nesting."""
    stack: list[re.Match[str]] = []
    closed: list[_Box] = []
    for brace in _BRACES.finditer(text):
        if brace[0].endswith("{") and brace[0] != r"\{":
            stack.append(brace)
        elif brace[0] == "}" and stack:
            opening = stack.pop()
            if opening[0] != "{":
                while closed and closed[-1].start > opening.start():
                    closed.pop()
                closed.append(_Box(opening.start(), brace.end(), text[opening.end() : brace.start()]))
    unclosed = [opening.start() for opening in stack if opening[0] != "{"]
    return closed, unclosed[-1] if unclosed else None


def _json_answer(text: str) -> str | None:
    body = unfenced(text)
    if not body.startswith("{"):
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    for key in ("answer", "final_answer", "result"):
        found = value.get(key) if isinstance(value, dict) else None
        listed = found if isinstance(found, list) and found else [found]
        if all(isinstance(one, str | int | float) for one in listed):
            return ", ".join(map(str, listed))
    return None
