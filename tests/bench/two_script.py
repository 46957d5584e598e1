"""A scripted model for two families: it knows an answer when its prompt states the family's rule, else one time in four."""

from collections.abc import Mapping, Sequence

from bench.learning.settings import scaled
from bench.tasks import FAMILIES
from gym.core.chat import Message, Sampling

SCALE = 0.3


def _answers() -> Mapping[str, tuple[str, str]]:
    """By question: its answer, and the sentence that gives it away."""
    found = dict[str, tuple[str, str]]()
    for name in ("csv", "dates"):
        family = FAMILIES[name]
        for part in family.splits(0, scaled(SCALE).sizes):
            found |= {problem.query: (problem.ground_truth or "", family.oracle[0]) for problem in part}
    return found


ANSWERS = _answers()


def reply(messages: Sequence[Message], sampling: Sampling) -> str:
    """A pure function of what is asked."""
    system = messages[0].content if messages[0].role == "system" else ""
    answer, rule = next(
        (found for question, found in ANSWERS.items() if messages[-1].content.endswith(question)), ("", "")
    )
    if not rule:
        return "[]"  # a critic that has nothing to say
    return answer if rule in system or (sampling.seed or 0) % 4 == 0 else f"well, {answer}"
