"""Several ways to get better at the same problems, in one table: what each is worth, what it took, and what it forgot.

A way is a run, or the runs of several seeds pooled: their answers to a problem are put together, and the problem stays the
unit of every interval. So an interval speaks of other problems, not of other seeds. All differences are to the first way.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from pydantic import ValidationError

from gym.core.chat import Usage
from gym.core.problem import tool_use
from gym.core.rollout import Tally
from gym.core.value import Value
from gym.errors import ConfigError
from gym.evaluation.compare import SETTINGS, Named, by_question, cautions
from gym.evaluation.effort import Effort, told_effort
from gym.evaluation.metrics import Paired, Score, paired, score
from gym.evaluation.record import FOLDER, Identity, Record, read
from gym.train.grpo.run_dir import RunDir

ELSEWHERE = ("library", "after")
"""What stands beside `also-N-plain` in a run's folder, the first that is there."""


class Elsewhere(Value):
    """What a way did to the answers to another set."""

    dataset: str
    before: Score
    after: Score
    gain: Paired
    """A loss is what was forgotten."""


class Line(Value):
    """One way, over all its runs."""

    label: str
    made: tuple[Identity, ...]
    """One a run."""
    score: Score
    gain: Paired | None
    """Against the first way, among the scored answers; None for that one."""
    efforts: tuple[Effort, ...]
    """One a run that learned and told."""
    elsewhere: tuple[Elsewhere, ...]


class Ways(Value):
    """The table."""

    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    """What differs beside what was learned."""

    def as_object(self) -> dict[str, Any]:
        """For `--json`: the fields, and the verdicts that follow from them."""
        found = self.model_dump(mode="json")
        for told, line in zip(found["lines"], self.lines, strict=True):
            if line.gain is not None:
                told["gain"]["verdict"] = line.gain.verdict
            for there, one in zip(told["elsewhere"], line.elsewhere, strict=True):
                there["gain"]["verdict"] = one.gain.verdict
        return found


class Pair(NamedTuple):
    """Another set without and with what was learned."""

    before: Record
    after: Record


class Run(NamedTuple):
    """What a run left that the table needs."""

    record: Record
    effort: Effort | None
    elsewhere: tuple[Pair, ...]


class Way(NamedTuple):
    """Runs that differ in their seed alone, under one name."""

    label: str
    runs: tuple[Run, ...]


def open_run(path: Path) -> Run:
    """A run's folder, or one file of its evaluations, which has learned nothing; raises `ConfigError` like `read`."""
    if not path.is_dir():
        return Run(read(path), None, ())
    return Run(read(path), _effort(path), tuple(_elsewhere(path / FOLDER)))


def compare_ways(ways: Sequence[Way], *, seed: int = 0) -> Ways:
    """The table; problems are matched by id, between data sets that differ by their question.

    Raises `ConfigError` when a way shares no problem with the first, holds the same answers twice, or different ways to learn.
    """
    for way in ways:
        _require_different(way)
    records = [run.record for way in ways for run in way.runs]
    by_id = len({one.identity.data_sha256 for one in records}) == 1
    tallies = [pooled([run.record for run in way.runs], by_id=by_id) for way in ways]
    gains = [paired(tallies[0], found, seed=seed) for found in tallies[1:]]
    for way, gain in zip(ways[1:], gains, strict=True):
        if not gain.n_problems:
            raise ConfigError(
                f"{ways[0].label!r} and {way.label!r} share no problem with a scored answer on both sides"
            )
    lines = (
        _line(way, score(found), gain, seed) for way, found, gain in zip(ways, tallies, [None, *gains], strict=True)
    )
    return Ways(lines=tuple(lines), notes=tuple(_notes(ways, gains)))


def _require_different(way: Way) -> None:
    """What is pooled must be draws of one thing: the same ones twice only seem to be more, and a mean of ways is none."""
    drawn = [_draws(one.record) for one in way.runs]
    if any(one in drawn[:place] for place, one in enumerate(drawn)):
        raise ConfigError(
            f"{way.label!r}: two of its runs hold the same answers, which pooled would count twice: give one"
        )
    learned = {run.effort.way if run.effort else "" for run in way.runs}
    if len(learned) > 1:
        told = ", ".join(sorted(one or "nothing" for one in learned))
        raise ConfigError(f"{way.label!r}: its runs learned in different ways ({told}): give each a name of its own")


def _draws(record: Record) -> tuple[Identity, tuple[Any, ...]]:
    """What two records have in common that hold the same answers, whenever and under whatever name they were taken."""
    answers = tuple((one.id, one.rewards, one.no_answer, one.tokens.completion) for one in record.answers)
    return record.identity.model_copy(update={"name": ""}), answers


def pooled(records: Sequence[Record], *, by_id: bool = True) -> tuple[Tally, ...]:
    """One tally for each problem, with the answers of all records; named by id, or by question."""
    found: dict[str, list[Tally]] = defaultdict(list)
    for tally in chain.from_iterable(one.tallies if by_id else by_question(one) for one in records):
        found[tally.problem_id].append(tally)
    return tuple(map(_together, found.values()))


def _together(tallies: Sequence[Tally]) -> Tally:
    return tallies[0]._replace(
        rewards=tuple(chain.from_iterable(one.rewards for one in tallies)),
        no_answer=sum(one.no_answer for one in tallies),
        failed=sum(one.failed for one in tallies),
        failure=next((one.failure for one in tallies if one.failure), None),
        tokens=Usage.sum(one.tokens for one in tallies),
        tools=tool_use(one.tools for one in tallies),
        latency_s=sum(one.latency_s for one in tallies),
    )


def _line(way: Way, found: Score, gain: Paired | None, seed: int) -> Line:
    return Line(
        label=way.label,
        made=tuple(run.record.identity for run in way.runs),
        score=found,
        gain=gain,
        efforts=tuple(run.effort for run in way.runs if run.effort),
        elsewhere=tuple(_forgotten([pair for run in way.runs for pair in run.elsewhere], seed)),
    )


def _forgotten(pairs: Sequence[Pair], seed: int) -> Iterator[Elsewhere]:
    """One for each other set that the runs of a way were asked."""
    sets: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        sets[pair.before.identity.dataset].append(pair)
    for dataset, found in sets.items():
        before, after = (pooled([pair[side] for pair in found], by_id=False) for side in (0, 1))
        gain = paired(before, after, seed=seed)
        yield Elsewhere(dataset=dataset, before=score(before), after=score(after), gain=gain)


def _notes(ways: Sequence[Way], gains: Sequence[Paired]) -> Iterator[str]:
    """Each said once, with the ways that it holds for."""
    said: dict[str, list[str]] = defaultdict(list)
    first = Named(ways[0].label, ways[0].runs[0].record)
    for way, gain in zip(ways[1:], gains, strict=True):
        for note in cautions(first, Named(way.label, way.runs[0].record), gain):
            said[note].append(way.label)
    for way in ways:
        for note in _unlike(way):
            said[note].append(way.label)
    for note, labels in said.items():
        yield f"{', '.join(labels)}: {note}"


def _unlike(way: Way) -> Iterator[str]:
    """Settings beside the seed in which the runs of a way differ."""
    one, *others = (run.record.identity for run in way.runs)
    for name in ("data_sha256", *SETTINGS):
        if any(getattr(other, name) != getattr(one, name) for other in others):
            yield f"{name} differs between the runs that are pooled"


def mean(values: Sequence[float | None]) -> float | None:
    """Over the runs of a way; None without any, or when one is not known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def _effort(run: Path) -> Effort | None:
    try:
        return told_effort(RunDir(run).read_json("report.json"))
    except ValidationError as error:
        raise ConfigError(f"the report of run {str(run)!r} is damaged: what its run took cannot be read") from error


def _elsewhere(folder: Path) -> Iterator[Pair]:
    for plain in sorted(folder.glob("also-*-plain.json")):
        stem = plain.stem.removesuffix("plain")
        after = next((file for name in ELSEWHERE if (file := folder / f"{stem}{name}.json").exists()), None)
        if after is not None:
            yield Pair(read(plain), read(after))
