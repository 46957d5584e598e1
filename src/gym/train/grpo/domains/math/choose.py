"""What a source's options take of a set: years, language, figures, a sample."""

import random
import re
from collections.abc import Callable, Sequence

from gym.core.problem import Problem
from gym.core.text import count
from gym.errors import DataError
from gym.train.grpo.domains.doubles import few
from gym.train.grpo.domains.math.sets import Wanted, Years


def choose(found: Sequence[Problem], want: Wanted, notes: list[str]) -> tuple[Problem, ...]:
    """The problems of the years, language and sample asked for, without figures when that is asked, in their order.

    What is left out is counted in `notes`. Raises `DataError` when nothing is left, or too little for the sample.
    """
    options = want.options
    years = options.years or (want.source.years if want.source else None)
    kept = _of_years(found, want, years, notes) if years else tuple(found)
    if options.language:
        kept = _only(
            kept, lambda problem: _language(problem) == options.language, f"not in {options.language!r}", notes
        )
    if not options.figures:
        kept = _only(kept, lambda problem: not problem.metadata["needs_figure"], "with a figure", notes)
    elif count := sum(problem.metadata["needs_figure"] for problem in kept):
        notes.append(f"{count:,} of {len(kept):,} problems draw or name a figure: kept (no_figures drops them)")
    if not kept:
        raise DataError(f"{want.name}: no problem is left; {'; '.join(notes)}")
    return kept if options.sample is None else _sample(kept, options.sample, want, notes)


def _only(
    found: Sequence[Problem], keep: Callable[[Problem], bool], what: str, notes: list[str]
) -> tuple[Problem, ...]:
    kept = tuple(problem for problem in found if keep(problem))
    if gone := len(found) - len(kept):
        notes.append(f"{gone:,} of {len(found):,} problems left out: {what}")
    return kept


def _of_years(found: Sequence[Problem], want: Wanted, years: Years, notes: list[str]) -> tuple[Problem, ...]:
    dated = {problem.id: _year(problem) for problem in found}
    unknown = [name for name, year in dated.items() if year is None]
    if unknown and want.options.years:
        lacking = count(len(unknown), "problem", verb="has/have")
        raise DataError(f"{want.name}: {lacking} no year ({few(unknown)}), so {years} cannot be chosen")
    kept = _only(
        found, lambda problem: years.first <= (dated[problem.id] or years.first) <= years.last, f"not of {years}", notes
    )
    if not kept:
        there = sorted({year for year in dated.values() if year})
        raise DataError(f"{want.name}: no problem of {years}: its years are {Years(there[0], there[-1])}")
    return kept


def _year(problem: Problem) -> int | None:
    named = {key.lower(): value for key, value in problem.metadata.items()}
    text = f"{named.get('year', '')} {problem.id} {named.get('url', '')}"
    match = re.search(r"(?<!\d)(?:19|20)\d\d(?!\d)", text)
    return int(match[0]) if match else None


def _language(problem: Problem) -> str:
    return "zh" if re.search("[\u4e00-\u9fff]", problem.query) else "en"


def _sample(found: Sequence[Problem], count: int, want: Wanted, notes: list[str]) -> tuple[Problem, ...]:
    if count > len(found):
        raise DataError(f"{want.name}: sample={count} of {len(found)} problems")
    chosen = sorted(random.Random(f"sample {want.options.seed}").sample(range(len(found)), count))
    notes.append(f"{count} of {len(found):,} problems drawn with seed {want.options.seed}")
    return tuple(found[place] for place in chosen)
