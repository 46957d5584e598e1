"""Two evaluations side by side, on the problems that both asked: what differs, by how much, and how sure that is.

The difference is paired by problem and given under both denominators of SPEC 1.2: among the scored answers, and with failed
ones as 0. What else differs between the two than the library is said, since it may be the cause.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gym.core.rollout import Tally
from gym.core.value import Value
from gym.errors import ConfigError
from gym.evaluation.families import KEYS, Family, families, known
from gym.evaluation.figures import count
from gym.evaluation.metrics import RESAMPLES, Interval, Paired, Score, differences, paired, score
from gym.evaluation.overhead import Overhead
from gym.evaluation.record import Identity, Record

SETTINGS = ("model", "reward", "instructions", "mode", "k", "temperature", "max_tokens")
"""What should be the same on both sides of a comparison of libraries."""


class Side(Value):
    """One of the two evaluations, over all of its problems."""

    label: str
    """What the user calls it."""
    made: Identity
    score: Score
    usd: float | None
    """Of its answers; None when unknown."""


class Comparison(Value):
    """`after` against `before`."""

    before: Side
    after: Side
    gain: Paired
    """Among the scored answers."""
    gain_failed_as_0: Paired
    """With every failed answer as 0."""
    bootstrap: Interval | None
    """Of `gain`, by resampling problems: a second opinion, too narrow when problems are few."""
    tables: Mapping[str, tuple[Family, ...]]
    """Metadata key -> the same figures for each of its values."""
    overhead: Overhead | None
    """None when no problem was answered without a failure on both sides."""
    notes: tuple[str, ...]
    """What differs beside the library, and what was left out."""

    def as_object(self) -> dict[str, Any]:
        """For `--json` and report.json: the fields, and the verdict and share that follow from them."""
        found = self.model_dump(mode="json")
        for name in ("gain", "gain_failed_as_0"):
            found[name]["verdict"] = getattr(self, name).verdict
        for key, rows in self.tables.items():
            for row, family in zip(found["tables"][key], rows, strict=True):
                row["gain"]["verdict"] = family.gain.verdict
        if self.overhead is not None:
            found["overhead"] |= {"tokens": self.overhead.tokens, "share": self.overhead.share}
        return found


class Named(NamedTuple):
    """An evaluation and what the user calls it."""

    label: str
    record: Record


def compare(before: Named, after: Named, *, key: str | None = None, seed: int = 0) -> Comparison:
    """The comparison, with a table for `key`, or for each of the usual keys that the problems have.

    Problems are matched by id; between data sets that differ, by their question. Raises `ConfigError` when none is shared,
    and for a `key` that no problem has.
    """
    old, new = _matched(before.record, after.record)
    if not {tally.problem_id for tally in old} & {tally.problem_id for tally in new}:
        raise ConfigError(f"{before.label!r} and {after.label!r} share no problem: they asked {_sets(before, after)}")
    gain = paired(old, new, seed=seed)
    return Comparison(
        before=_side(before),
        after=_side(after),
        gain=gain,
        gain_failed_as_0=paired(old, new, failed_as_0=True, seed=seed),
        bootstrap=_bootstrap(old, new, seed),
        tables={name: families(old, new, name, seed=seed) for name in _keys(old, new, key)},
        overhead=Overhead.of(old, new),
        notes=tuple(cautions(before, after, gain)),
    )


def _matched(before: Record, after: Record) -> tuple[tuple[Tally, ...], tuple[Tally, ...]]:
    """The tallies under names that are the same for the same problem."""
    if before.identity.data_sha256 == after.identity.data_sha256:
        return before.tallies, after.tallies
    return tuple(by_question(before)), tuple(by_question(after))


def by_question(one: Record) -> Iterator[Tally]:
    """The tallies, named by the question; when a set asks one twice, by its turn too."""
    turns: Counter[str] = Counter()
    for answers in one.answers:
        yield answers.tally(f"{answers.asked}/{turns[answers.asked]}")
        turns[answers.asked] += 1


def _side(one: Named) -> Side:
    return Side(label=one.label, made=one.record.identity, score=score(one.record.tallies), usd=one.record.usd)


def _bootstrap(before: Sequence[Tally], after: Sequence[Tally], seed: int) -> Interval | None:
    from gym.evaluation.resampling import bootstrap  # numpy

    found = bootstrap(differences(before, after), seed=seed, resamples=RESAMPLES)
    return None if found is None else Interval(*found)


def _keys(before: Sequence[Tally], after: Sequence[Tally], key: str | None) -> tuple[str, ...]:
    there = known((*before, *after))
    if key is None:
        return tuple(name for name in KEYS if name in there)
    if key not in there:
        raise ConfigError(
            f"--by {key!r}: no problem has it; there is {', '.join(sorted(there)) or 'no metadata at all'}"
        )
    return (key,)


def cautions(before: Named, after: Named, gain: Paired) -> Iterator[str]:
    """What differs between the two beside what was learned, and what was left out."""
    old, new = before.record.identity, after.record.identity
    if old.data_sha256 != new.data_sha256:
        yield f"the data sets differ ({_sets(before, after)}): compared on {count(gain.n_problems, 'problem')} that both asked"
    elif gain.left_out:
        yield f"{count(gain.left_out, 'problem')} left out: no answer could be scored on one side"
    for name in SETTINGS:
        if (was := getattr(old, name)) != (now := getattr(new, name)):
            told = "" if name == "instructions" else f" ({was} and {now})"
            yield f"{name} differs{told}: it may be the cause of a difference, as may the library"
    if old.tools and new.tools and old.tools != new.tools:
        yield f"tools differ ({', '.join(old.tools)} and {', '.join(new.tools)}): they may be the cause of a difference"
    if old.model_copy(update={"name": ""}) == new.model_copy(update={"name": ""}):
        yield _twice(before.record, after.record)


def _twice(one: Record, other: Record) -> str:
    """What it means that both sides were asked for the same with the same."""
    if [answers.rewards for answers in one.answers] == [answers.rewards for answers in other.answers]:
        return "both sides are the same measurement (settings, library and every reward agree): nothing is compared"
    return "both sides have the same settings and library: whatever differs is chance, as in A/A"


def _sets(before: Named, after: Named) -> str:
    return " and ".join(f"{len(one.record.answers)} of {one.record.identity.dataset!r}" for one in (before, after))
