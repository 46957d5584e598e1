"""Stage 2: the semantic advantage of a group, as operations on the library (arXiv:2510.08191 §3.2)."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from gym.core.chat import Completion, Message
from gym.core.experience import Add, Evidence, Operation, Rejected, parse_operation
from gym.core.problem import Failure, Problem
from gym.core.reflection import Critique, Summary
from gym.core.rollout import INFORMATIVE_SPREAD
from gym.errors import ProviderError
from gym.train.grpo.stages.flow import Ask, Stage, ask, failure
from gym.train.grpo.stages.parse import last_valid, parse_operations
from gym.train.grpo.stages.prompts import CRITIQUE, CRITIQUE_SMALL, EXAMPLE_MARKS, REPAIR, extended, sections
from gym.train.grpo.stages.settings import ReflectionSettings
from gym.train.grpo.stages.shorten import shorten

MAX_TEXT = 200
"""Characters of an experience from a small reflector."""

SMALL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "minLength": 2, "maxLength": 80},
        "wrong": {"type": "string", "minLength": 5, "maxLength": 120},
        "experience": {"type": "string", "minLength": 20, "maxLength": MAX_TEXT},
    },
    "required": ["pattern", "wrong", "experience"],
    "additionalProperties": False,
}
SMALL_MAX_TOKENS = 260
MOST_FEEDBACK = 100
"""Tokens of what a reward said of one attempt."""


def critique(
    problem: Problem, summaries: Sequence[Summary], library: str, settings: ReflectionSettings
) -> Stage[Critique]:
    """At most `max_operations` operations (one for a small reflector) that say what decided between the attempts.

    An unusable reply is asked for once more with the reason and, when it was cut, twice the room; then the critique
    is empty and carries its failure. Never raises for what a model sent.
    """
    question = (
        _small_question(problem, summaries, settings)
        if settings.profile == "small"
        else _question(problem, summaries, library, settings)
    )
    read = _read_small if settings.profile == "small" else _read
    try:
        completion = yield question
        raw = read(completion)
        if raw is None:
            completion = yield repair_question(question, completion, settings, single=settings.profile == "small")
            raw = read(completion)
    except ProviderError as error:
        return Critique(problem_id=problem.id, failure=failure("critique", error))
    if raw is None:
        reason = "cut at its token limit" if completion.finish_reason == "length" else "no JSON list of operations"
        broken = Failure(boundary="critique", type="UnusableReply", message=f"{reason}, twice")
        return Critique(problem_id=problem.id, reasoning=completion.text, failure=broken)
    limit = 1 if settings.profile == "small" else settings.max_operations
    evidence = evidence_of(problem, summaries, use_groundtruth=settings.use_groundtruth)
    operations, rejected = read_operations(raw, evidence, limit)
    if settings.profile == "small":
        operations, rejected = _sifted(operations, rejected)
    return Critique(problem_id=problem.id, operations=operations, rejected=rejected, reasoning=completion.text)


def evidence_of(problem: Problem, summaries: Sequence[Summary], *, use_groundtruth: bool = True) -> Evidence:
    """How far the group's rewards lie apart, over how many rollouts.

    A group that missed the reference in every answer is as far apart as its worst answer is from the reference's 1.
    """
    rewards = [summary.reward for summary in summaries if summary.reward is not None]
    spread = max(rewards) - min(rewards) if rewards else 0.0
    if rewards and spread <= INFORMATIVE_SPREAD and use_groundtruth and problem.ground_truth is not None:
        spread = 1.0 - min(rewards)
    return Evidence(origin=(problem.id,), separation=spread, rollouts=len(rewards))


def read_operations(
    raw: Sequence[dict[str, object]], evidence: Evidence, limit: int
) -> tuple[tuple[Operation, ...], tuple[Rejected, ...]]:
    """Parsed operations up to `limit`; what cannot be read or comes after is rejected with its reason."""
    operations: list[Operation] = []
    rejected: list[Rejected] = []
    for item in raw:
        parsed = parse_operation(item, evidence)
        if isinstance(parsed, Rejected):
            rejected.append(parsed)
        elif parsed.option == "keep":
            continue
        elif len(operations) >= limit:
            rejected.append(Rejected(operation=parsed, reason=f"more than {limit} operations in one critique"))
        else:
            operations.append(parsed)
    return tuple(operations), tuple(rejected)


def _sifted(
    operations: Sequence[Operation], rejected: Sequence[Rejected]
) -> tuple[tuple[Operation, ...], tuple[Rejected, ...]]:
    """Without what a small reflector copied from the prompt's example or could not finish within the schema."""
    bad = {operation: reason for operation in operations if (reason := _unfit(operation))}
    turned_down = (Rejected(operation=operation, reason=reason) for operation, reason in bad.items())
    return tuple(operation for operation in operations if operation not in bad), (*rejected, *turned_down)


def _unfit(operation: Operation) -> str | None:
    if not isinstance(operation, Add):
        return None
    if any(mark in operation.experience.casefold() for mark in EXAMPLE_MARKS):
        return "repeats the example of the prompt"
    if len(operation.experience) >= MAX_TEXT - 1:
        return "was cut at its longest length"
    return None


def repair_question(question: Ask, reply: Completion, settings: ReflectionSettings, *, single: bool = False) -> Ask:
    """The same question, the unusable reply, and why it could not be used; more room when it was cut."""
    cut = reply.finish_reason == "length"
    reason = "it was cut off" if cut else reply.note or "it holds no JSON that fits"
    shape = ' object {"pattern": "…", "wrong": "…", "experience": "…"}' if single else " list of operations"
    more = (
        Message(role="assistant", content=shorten(reply.text, 300) or "(empty)"),
        Message(role="user", content=REPAIR.render(reason=reason, shape=shape)),
    )
    room = (question.sampling.max_tokens or settings.max_tokens) * (2 if cut else 1)
    return Ask(question.messages + more, question.sampling.model_copy(update={"max_tokens": room}))


def _question(problem: Problem, summaries: Sequence[Summary], library: str, settings: ReflectionSettings) -> Ask:
    room = max(settings.context - settings.max_tokens - 600, 512)
    each = room // 2 // max(len(summaries), 1)
    parts = {
        "library": shorten(library, room // 4) or "(empty)",
        "problem": shorten(problem.query, room // 8),
        "reference answer": shorten(problem.ground_truth or "", room // 8) if settings.use_groundtruth else "",
    }
    for number, summary in enumerate(summaries, start=1):
        parts[f"attempt {number} ({_label(summary)})"] = shorten(summary.text, each) + _told(summary, settings)
    system = extended(CRITIQUE.render(max_operations=str(settings.max_operations)), settings.words.critique)
    return ask(system, sections(parts), settings.sampling())


def _label(summary: Summary) -> str:
    if summary.reward is None:
        return "not graded"
    return f"reward {summary.reward:g}" + (", gave no answer" if summary.outcome == "no answer" else "")


def _small_question(problem: Problem, summaries: Sequence[Summary], settings: ReflectionSettings) -> Ask:
    """The question, at most two distinct right and two distinct wrong attempts; the reference counts as right."""
    right, wrong = _right_and_wrong(summaries)
    if settings.use_groundtruth and not right and problem.ground_truth:
        right = [problem.ground_truth]
    each = max((settings.context - 700) // 6, 64)
    lines = [f"TASK: {shorten(problem.query, each)}"]
    lines += [f"CORRECT: {shorten(text, each)}" for text in right[:2]]
    why = {summary.text: _told(summary, settings) for summary in summaries}
    lines += [f"WRONG: {shorten(text, each) or '(no answer)'}{why.get(text, '')}" for text in wrong[:2]]
    return ask(CRITIQUE_SMALL, "\n".join(lines), settings.sampling(SMALL_MAX_TOKENS, SMALL_SCHEMA))


def _told(summary: Summary, settings: ReflectionSettings) -> str:
    """What the reward said of an attempt, on a line of its own; it may name the label, so it goes with the ground truth."""
    wanted = settings.feedback and settings.use_groundtruth and summary.feedback
    return f"\nGRADER: {shorten(summary.feedback, MOST_FEEDBACK)}" if wanted else ""


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


def _read(completion: Completion) -> Sequence[dict[str, object]] | None:
    return parse_operations(completion.text, complete=completion.finish_reason != "length")


def _read_small(completion: Completion) -> Sequence[dict[str, object]] | None:
    """One add from the constrained object, or whatever operations an unconstrained server sent instead."""

    def one(value: object) -> Sequence[dict[str, object]] | None:
        text = value.get("experience") if isinstance(value, dict) and "option" not in value else None
        if isinstance(text, str) and text.strip():
            return [{"option": "add", "experience": text}]
        return None

    complete = completion.finish_reason != "length"
    return last_valid(completion.text, one, complete=complete) or parse_operations(completion.text, complete=complete)
