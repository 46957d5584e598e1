"""Stage 2: the semantic advantage of a group, as operations on the library (arXiv:2510.08191 §3.2)."""

from collections.abc import Sequence

from gym.core.chat import Completion, Message
from gym.core.experience import Add, Evidence, Operation, Rejected, parse_operation
from gym.core.problem import Failure, Problem
from gym.core.reflection import Critique, Studied, Summary
from gym.core.rollout import INFORMATIVE_SPREAD
from gym.errors import ProviderError
from gym.train.grpo.stages.contrast import difference, form
from gym.train.grpo.stages.flow import Ask, Stage, ask, failure
from gym.train.grpo.stages.parse import parse_operations
from gym.train.grpo.stages.prompts import CRITIQUE, REPAIR, SIDE_BY_SIDE, extended, sections
from gym.train.grpo.stages.settings import MORE_TEMPERATURE, ReflectionSettings
from gym.train.grpo.stages.shorten import shorten
from gym.train.grpo.stages.small_critic import example_repeated, feedback_line, rule_of, small_question

OPERATIONS = "a JSON list of operations"
A_RULE = "one sentence that begins with When"


def critique(
    problem: Problem,
    summaries: Sequence[Summary],
    library: str,
    settings: ReflectionSettings,
    *,
    beside: Sequence[Studied] = (),
    sample: int = 0,
) -> Stage[Critique]:
    """At most `max_operations` operations (one for a small reflector) that say what decided between the attempts.

    `beside` are groups of the same step that it sees too; `sample` tells several critiques of a group apart. An unusable
    reply is asked for once more with the reason and, when it was cut, twice the room; then the critique is empty and
    carries its failure. Never raises for what a model sent.
    """
    small, groups = settings.profile == "small", (Studied(problem, summaries), *beside)
    question = small_question(groups, settings, sample) if small else _question(groups, library, settings, sample)
    read = _read_small if small else _read
    try:
        completion = yield question
        raw = read(completion)
        if raw is None:
            completion = yield repair_question(question, completion, settings, shape=A_RULE if small else OPERATIONS)
            raw = read(completion)
    except ProviderError as error:
        return Critique(problem_id=problem.id, failure=failure("critique", error))
    if raw is None:
        reason = (
            "cut at its token limit"
            if completion.finish_reason == "length"
            else f"not {A_RULE if small else OPERATIONS}"
        )
        broken = Failure(boundary="critique", type="UnusableReply", message=f"{reason}, twice")
        return Critique(problem_id=problem.id, reasoning=completion.text, failure=broken)
    limit = 1 if small else settings.max_operations
    evidence = evidence_of(problem, summaries, use_groundtruth=settings.use_groundtruth)
    evidence = evidence.model_copy(update={"origin": tuple(group.problem.id for group in groups)})
    operations, rejected = read_operations(raw, evidence, limit)
    if small:
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
    """Without what a small reflector copied from the prompt's examples."""
    copied = [item for item in operations if isinstance(item, Add) and example_repeated(item.experience)]
    turned_down = (Rejected(operation=item, reason="repeats an example of the prompt") for item in copied)
    return tuple(item for item in operations if item not in copied), (*rejected, *turned_down)


def repair_question(question: Ask, reply: Completion, settings: ReflectionSettings, *, shape: str = OPERATIONS) -> Ask:
    """The same question, the unusable reply, and why it could not be used; more room when it was cut."""
    cut = reply.finish_reason == "length"
    reason = "it was cut off" if cut else reply.note or f"it is not {shape}"
    more = (
        Message(role="assistant", content=shorten(reply.text, 300) or "(empty)"),
        Message(role="user", content=REPAIR.render(reason=reason, shape=shape)),
    )
    room = (question.sampling.max_tokens or settings.max_tokens) * (2 if cut else 1)
    return Ask(question.messages + more, question.sampling.model_copy(update={"max_tokens": room}))


def _question(groups: Sequence[Studied], library: str, settings: ReflectionSettings, sample: int) -> Ask:
    room = max(settings.context - settings.max_tokens - 600, 512)
    parts = {"library": shorten(library, room // 4) or "(empty)"}
    for number, group in enumerate(groups, start=1):
        parts |= _parts(group, settings, room // len(groups), of="" if len(groups) == 1 else f" of problem {number}")
    system = extended(CRITIQUE.render(max_operations=str(settings.max_operations)), settings.words.critique)
    if len(groups) > 1:
        system = extended(system, SIDE_BY_SIDE)
    temperature = MORE_TEMPERATURE if sample else 0.0
    return ask(system, sections(parts), settings.sampling(sample=sample, temperature=temperature))


def _parts(group: Studied, settings: ReflectionSettings, room: int, *, of: str) -> dict[str, str]:
    """A group's problem, reference and attempts as sections, named `of` it where there are several groups."""
    each = room // 2 // max(len(group.summaries), 1)
    parts = {
        of.removeprefix(" of ") or "problem": shorten(group.problem.query, room // 8),
        f"reference answer{of}": shorten(group.problem.ground_truth or "", room // 8)
        if settings.use_groundtruth
        else "",
    }
    reference = parts[f"reference answer{of}"] if settings.contrast else ""
    parts[f"form of the reference answer{of}"] = form(group.problem.query, reference)
    for number, summary in enumerate(group.summaries, start=1):
        told = shorten(summary.text, each) + feedback_line(summary, settings)
        if reference and (near := difference(reference, summary.output.strip())):
            told += f"\nDIFFERENCE from the reference: {near}"
        parts[f"attempt {number}{of} ({_label(summary)})"] = told
    return parts


def _label(summary: Summary) -> str:
    if summary.reward is None:
        return "not graded"
    return f"reward {summary.reward:g}" + (", gave no answer" if summary.outcome == "no answer" else "")


def _read(completion: Completion) -> Sequence[dict[str, object]] | None:
    return parse_operations(completion.text, complete=completion.finish_reason != "length")


def _read_small(completion: Completion) -> Sequence[dict[str, object]] | None:
    """One addition from the sentence that was asked for, or whatever operations came instead."""
    complete = completion.finish_reason != "length"
    if found := parse_operations(completion.text, complete=complete):
        return found
    rule = rule_of(completion.text, complete=complete)
    return [{"option": "add", "experience": rule}] if rule else None
