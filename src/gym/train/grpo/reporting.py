"""From a finished run to its report: `report.md`, `report.html` and `report.json` in the run directory."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from statistics import fmean

from pydantic import ValidationError

from gym.config import RunConfig
from gym.core.admission import estimate_tokens
from gym.core.experience import Experience, Library
from gym.core.prompting import library_block, solve_messages
from gym.evaluation.effort import Effort, learned_with, told_effort
from gym.evaluation.estimate import estimate_for
from gym.evaluation.evaluate import Evaluation
from gym.evaluation.families import families, usual
from gym.evaluation.metrics import Paired, paired
from gym.evaluation.record import dollars
from gym.evaluation.report import Report, html, markdown
from gym.files import write_atomic
from gym.train.grpo.frozen import Weights
from gym.train.grpo.manifest import model_changes
from gym.train.grpo.rewards.base import clip
from gym.train.grpo.run_dir import RunDir, StepStats
from gym.train.grpo.session import Session
from gym.train.grpo.task import Task


def report_of(
    config: RunConfig,
    task: Task,
    session: Session,
    *,
    name: str,
    weights: Weights,
    start: Library,
    library: Library,
    removed: Sequence[Experience],
    steps: Sequence[StepStats],
    before: Evaluation | None,
    after: Evaluation | None,
    gain: Paired | None,
    closed_book: Evaluation | None,
    validated: Paired | None,
    went_back: str,
    seconds: float,
    peak: int | None,
) -> Report:
    """Everything that is known at the end of a run, in one value."""
    overhead_tokens, overhead_share = _overhead(config, task, session, start, library, before, after)
    return Report(
        name=name,
        verified=None if weights.after is None else weights.before == weights.after,
        problems={"training": len(task.train), "validation": len(task.val), "held-out": len(task.test)},
        model=config.model_name_or_path,
        config=config.public(),
        weights=weights.story,
        digests={"config": config.digest(), **{f"{role} data": value for role, value in task.inputs().items()}},
        before=before.score if before else None,
        after=after.score if after else None,
        gain=gain,
        closed_book=closed_book.score if closed_book else None,
        over_closed_book=paired(closed_book.tallies, after.tallies, seed=config.seed)
        if closed_book and after
        else None,
        validated=validated,
        went_back=went_back,
        families=families(before.tallies, after.tallies, seed=config.seed) if before and after else (),
        kind=usual(before.tallies) if before else "",
        library=library,
        removed=tuple(removed),
        start_size=len(start),
        steps=tuple(steps),
        spent=session.meter.snapshot(),
        predicted=estimate_for(config, task),
        overhead_tokens=overhead_tokens,
        overhead_share=overhead_share,
        seconds=seconds,
        effort=effort_of(
            config,
            session,
            weights,
            learning_s=sum(step.seconds for step in steps),
            seconds=seconds,
            peak=peak,
            measured=(before, closed_book, after if library != start else None),
        ),
        notes=(*task.notes, *_warnings(config, steps), *model_changes(session.log)),
    )


def earlier_effort(folder: RunDir) -> Effort | None:
    """Of the same run, when it was finished before and is only looked at again; None in a report that is damaged."""
    with suppress(ValidationError):
        return told_effort(folder.read_json("report.json"))
    return None


def peak_of(now: int | None, earlier: Effort | None) -> int | None:
    """Bytes of memory at a run's peak; one that is looked at again keeps its largest."""
    return max((one for one in (now, earlier.peak_bytes if earlier else None) if one is not None), default=None)


def effort_of(
    config: RunConfig,
    session: Session,
    weights: Weights,
    *,
    learning_s: float,
    seconds: float,
    peak: int | None,
    measured: Sequence[Evaluation | None],
) -> Effort:
    """What a library took to learn; `measured`: the held-out answers that were asked, those under one library once."""
    found = [one for one in measured if one]
    usd = [dollars(config.model_name_or_path, one.tallies, config.prices) for one in found]
    spent = learned_with(
        session.meter.snapshot()["total"], [one.score for one in found], usd, chat=config.mode == "chat"
    )
    proven = None if weights.after is None else weights.before == weights.after
    return Effort(
        way="library",
        learning_s=learning_s,
        seconds=seconds,
        peak_bytes=peak,
        weights="unknown" if proven is None else "unchanged" if proven else "changed",
        **spent,
    )


def write_report(folder: RunDir, report: Report) -> None:
    """The three views of a report, side by side."""
    folder.write_json("report.json", report.model_dump(mode="json"))
    write_atomic(folder.path("report.md"), markdown(report))
    write_atomic(folder.path("report.html"), html(report))


def _overhead(
    config: RunConfig,
    task: Task,
    session: Session,
    start: Library,
    library: Library,
    before: Evaluation | None,
    after: Evaluation | None,
) -> tuple[int, float | None]:
    """Tokens that the library adds to a prompt, and their share of it: measured where the server counted, else estimated.

    An agent's prompts grow as it goes, with a library or without: of them the first is estimated.
    """
    chat = config.mode == "chat"
    if chat and before and after and not start and before.score.tokens.known and after.score.tokens.known:
        plain, told = (found.score.tokens.prompt / max(found.score.n_answers, 1) for found in (before, after))
        if told:
            return round(told - plain), (told - plain) / told
    instructions = config.system_prompt or task.domain.prompts.solve
    added, prompts = list[int](), list[int]()
    for problem in task.test or task.train:
        shown = session.retrieval(library, problem).render()
        added.append(estimate_tokens(library_block(shown)))
        messages = solve_messages(problem.query, shown, instructions)
        prompts.append(sum(estimate_tokens(message.content) for message in messages))
    return round(fmean(added)), sum(added) / sum(prompts) if sum(prompts) else None


def _warnings(config: RunConfig, steps: Sequence[StepStats]) -> list[str]:
    """What a reader must not overlook."""
    notes = []
    if config.grpo_group_size == 1:
        notes.append("a group size of 1 has no attempts to compare: nothing can be learned; use 5")
    elif (
        steps
        and sum(stats.failed for stats in steps) == 0
        and not any(stats.informative for stats in steps)
        and config.learn_from == "mixed"
    ):
        notes.append(
            "no group was informative: all answers to each problem got the same reward, so nothing could be learned; "
            "try harder or easier problems"
            + (
                ", a higher temperature, or --learn-from mixed+all_wrong"
                if config.use_groundtruth
                else ", or a higher temperature"
            )
        )
    rollouts, no_answer = sum(stats.rollouts for stats in steps), sum(stats.no_answer for stats in steps)
    if no_answer > rollouts / 5:
        notes.append(
            f"{no_answer} of {rollouts} training answers were no answer (cut at the token limit, or empty): "
            "a higher --rollout-max-tokens may help"
        )
    failed = sum(stats.failed for stats in steps)
    if failed:
        notes.append(
            f"{failed} of {rollouts} training rollouts failed and taught nothing, most often with {_why(steps)}"
        )
    return notes


def _why(steps: Sequence[StepStats]) -> str:
    """The most frequent failure of the run, in its own words."""
    counts = sum((Counter(stats.failures) for stats in steps), Counter[str]())
    return clip(counts.most_common(1)[0][0]) if counts else "a cause that was not kept"
