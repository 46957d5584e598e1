"""What a small reflector (under about 7B parameters) is asked in a critique, and how its reply is read.

It cannot weigh a library or fill in a form, but it goes on well with what it was shown: a few worked examples as turns of
the conversation, then tasks with an accepted and a rejected answer each, and it writes one sentence. Side by side, several
tasks show what their accepted answers share; one task alone is mostly explained by what it happens to be about.
"""

import re
from collections.abc import Mapping, Sequence
from statistics import fmean

from gym.core.chat import Message
from gym.core.operation import MAX_WORDS
from gym.core.reflection import Studied, Summary
from gym.core.text import count_words, normalise_text
from gym.train.grpo.stages.contrast import difference, form, nearest_first
from gym.train.grpo.stages.flow import Ask
from gym.train.grpo.stages.parse import after_thought
from gym.train.grpo.stages.prompts import CONTRASTS, CRITIQUE_SMALL, EXAMPLES
from gym.train.grpo.stages.settings import MORE_TEMPERATURE, ReflectionSettings
from gym.train.grpo.stages.shorten import shorten

MAX_TOKENS = 100
"""Of the reply: twice what 32 words take."""
MOST_FEEDBACK = 100
"""Tokens of what a reward said of one attempt."""

_PROMPT_TOKENS = 1200
"""Of the instructions, the examples and the reply."""
_RULE = re.compile(r"\b(?:When|For|If|In|Before|After)\b.*")
_AFTER_QUOTE = re.compile(r"(?<=[.!?])[\"”].*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def small_question(groups: Sequence[Studied], settings: ReflectionSettings, sample: int = 0) -> Ask:
    """The groups' tasks, each with what was accepted and rejected; `groups[0]` is the one the critique is about."""
    room = max((settings.context - _PROMPT_TOKENS) // (5 if len(groups) == 1 else 3 * len(groups)), 64)
    told = "\n\n".join(_told(group, settings, room, answers=2 if len(groups) == 1 else 1) for group in groups)
    turns = [Message(role="system", content=CRITIQUE_SMALL)]
    for tasks, rule in CONTRASTS if settings.contrast else EXAMPLES:
        turns += [Message(role="user", content=tasks), Message(role="assistant", content=rule)]
    temperature = MORE_TEMPERATURE if sample else 0.0
    return Ask(
        (*turns, Message(role="user", content=told)),
        settings.sampling(MAX_TOKENS, sample=sample, temperature=temperature),
    )


def rule_of(text: str, *, complete: bool = True) -> str | None:
    """The first line from its condition on: its first sentence, and those after it as far as 32 words go.

    None without a condition. `complete=False` (the reply was cut at its token limit) leaves out what was not finished.

    >>> rule_of('The rule: "When asked for a sum, write only the number." This is short.')
    'When asked for a sum, write only the number.'
    >>> rule_of("When asked for a sum, write", complete=False)
    """
    found = _RULE.search(after_thought(text).strip().partition("\n")[0])
    sentences = _SENTENCE_END.split(_AFTER_QUOTE.sub("", found[0])) if found else []
    if not complete and sentences and not sentences[-1].endswith((".", "!", "?")):
        sentences.pop()
    while len(sentences) > 1 and count_words(" ".join(sentences)) > MAX_WORDS:
        sentences.pop()
    return normalise_text(" ".join(sentences)) or None


def example_repeated(text: str) -> bool:
    """Whether a rule repeats an example of the prompt instead of the tasks."""
    return any(rule.partition(",")[0].casefold() in text.casefold() for _, rule in (*EXAMPLES, *CONTRASTS))


def feedback_line(summary: Summary, settings: ReflectionSettings) -> str:
    """What the reward said of an attempt, on a line of its own; it may name the label, so it goes with the ground truth."""
    wanted = settings.feedback and settings.use_groundtruth and summary.feedback
    return f"\nGRADER: {shorten(summary.feedback, MOST_FEEDBACK)}" if wanted else ""


def _told(group: Studied, settings: ReflectionSettings, room: int, *, answers: int) -> str:
    """A task, at most so many distinct right and wrong attempts; the reference counts as right."""
    right, wrong = _right_and_wrong(group.summaries)
    if settings.use_groundtruth and not right and group.problem.ground_truth:
        right = [group.problem.ground_truth]
    why = {summary.text: feedback_line(summary, settings) for summary in group.summaries}
    near: Mapping[str, str] = {}
    if settings.contrast and right:
        wrong = nearest_first(right[0], wrong)
        near = {text: told for text in wrong[:answers] if (told := difference(right[0], text))}
    lines = [f"TASK: {shorten(group.problem.query, room)}"]
    lines += [f"ACCEPTED: {shorten(text, room)}" for text in right[:answers]]
    if settings.contrast and right and not near and (slots := form(group.problem.query, right[0])):
        lines.append(f"FORM: {slots}")
    for text in wrong[:answers]:
        lines.append(f"REJECTED: {shorten(text, room) or '(no answer)'}{why.get(text, '')}")
        lines += [f"DIFFERENCE: {near[text]}"] if text in near else []
    return "\n".join(lines)


def _right_and_wrong(summaries: Sequence[Summary]) -> tuple[list[str], list[str]]:
    """Distinct texts of the attempts above and not above the middle of the group's rewards."""
    graded = [(summary.reward, summary.text) for summary in summaries if summary.reward is not None]
    if not graded:
        return [], list(dict.fromkeys(summary.text for summary in summaries))
    best, worst = max(reward for reward, _ in graded), min(reward for reward, _ in graded)
    cut = fmean((best, worst)) if best > worst else 0.5
    right = list(dict.fromkeys(text for reward, text in graded if reward > cut))
    wrong = list(dict.fromkeys(text for reward, text in graded if reward <= cut))
    return right, wrong
