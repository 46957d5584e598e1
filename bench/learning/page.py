"""The figures as Markdown, targets beside them, between the markers of bench/LEARNING.md."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.learning.figures import BASELINE, ORACLE, Duel, Share, Suite
from bench.learning.methods import METHODS
from bench.learning.settings import MODEL, Scale
from bench.report import ROOT, filled
from gym.evaluation.metrics import Interval, Paired

PAGE = ROOT / "bench" / "LEARNING.md"
BEGIN, END = "<!-- figures: written by `python -m bench.learning` -->", "<!-- end of figures -->"
SHARE_WANTED = 0.6
FALSE_WINS_ALLOWED = 0.05
RIVALS = ("plain", "gepa")

Verdicts = Sequence[str]


def markdown(suite: Suite, same: Verdicts, scale: Scale, planned: int = 0) -> str:
    """Everything that is known so far, of `planned` cells a method; what is missing of them is said."""
    sizes = scale.sizes
    intro = (
        f"Measured {'; '.join(suite.measured)}; {MODEL}, embedded. "
        f"Seeds {', '.join(map(str, suite.seeds))}; {sizes.train} training and "
        f"{sizes.val} validation problems, {sizes.test} held-out ones x {scale.held_out_k} answers in each cell. Brackets "
        "are 95 % intervals: over problems in the table of families, over cells (family x seed) elsewhere."
    )
    done = {name: len(suite.cells(name)) for name in METHODS}
    missing = ", ".join(f"{name} {cells}" for name, cells in done.items() if cells < planned)
    intro += f" **Unfinished**: of {planned} cells there are {missing}; the verdicts are of those." if missing else ""
    parts = [intro, "\n".join(_claims(suite, same)), "\n".join(_families(suite)), "\n".join(_methods(suite))]
    return "\n\n".join(parts)


def write(text: str, page: Path = PAGE) -> None:
    """Put the figures into the page, in place of the old ones."""
    page.write_text(filled(page.read_text(encoding="utf-8"), text, BEGIN, END), encoding="utf-8")


def _claims(suite: Suite, same: Verdicts) -> Iterator[str]:
    yield "| claim | measured | target | |"
    yield "|---|---|---|---|"
    share = suite.share("zoo")
    if share is not None:
        told = f"{share.share:.0%} {_brackets(share.share_interval, '.0%')}, {share.cells} cells"
        yield _claim("share of the oracle's gain", told, f">= {SHARE_WANTED:.0%}", share.share >= SHARE_WANTED)
        worse = [family for family in suite.families if suite.difference("zoo", family).verdict == "loss"]
        yield _claim("families significantly worse than their baseline", ", ".join(worse) or "none", "none", not worse)
    for rival in RIVALS:
        duel = suite.duel("zoo", rival)
        if duel is not None:
            yield _claim(f"zoo above {rival} at equal cost", _duel(duel), "above 0", duel.won)
    if same:
        wins = same.count("gain")
        told = f"{wins} wins and {same.count('loss')} losses in {len(same)} pairs"
        limit = FALSE_WINS_ALLOWED * len(same)
        yield _claim("A/A: one prompt against itself", told, f"<= {limit:g} wins", wins <= limit)


def _claim(what: str, measured: str, target: str, ok: bool) -> str:
    return f"| {what} | {measured} | {target} | {'ok' if ok else 'NOT'} |"


def _duel(duel: Duel) -> str:
    behind = f"; behind in {', '.join(duel.behind)}" if duel.behind else ""
    return (
        f"{duel.difference:+.3f} {_brackets(duel.interval, '+.3f')}, p = {duel.p_value:.3f}, {duel.cells} cells{behind}"
    )


def _families(suite: Suite) -> Iterator[str]:
    methods = [name for name in METHODS if suite.cells(name)]
    learners = [name for name in methods if name not in (BASELINE, ORACLE)]
    yield f"| family | {' | '.join(methods)} | {' | '.join(f'{name} - baseline' for name in learners)} | best learner |"
    yield f"|---|{'---:|' * len(methods)}{'---|' * len(learners)}---|"
    for family in suite.families:
        means = {name: suite.mean(name, family) for name in methods}
        cells = ["–" if found is None else f"{found:.2f}" for found in means.values()]
        changes = [_change(suite.difference(name, family)) for name in learners]
        most = max((len(suite.cells(name, family=family)) for name in learners), default=0)
        whole = [name for name in learners if len(suite.cells(name, family=family)) == most]
        known = {name: found for name in whole if (found := means[name]) is not None}
        best = [name for name, found in known.items() if found == max(known.values())]
        yield f"| {family} | {' | '.join(cells)} | {' | '.join(changes)} | {', '.join(best) or '–'} |"


def _change(found: Paired) -> str:
    if found.difference is None:
        return "–"
    mark = {"gain": " ▲", "loss": " ▼", "no difference": ""}[found.verdict]
    return f"{found.difference:+.2f} {_brackets(found.interval, '+.2f')}{mark}"


def _methods(suite: Suite) -> Iterator[str]:
    yield "| method | cells | mean gain | worst cell | share of the oracle's | calls a cell | tokens a cell |"
    yield "|---|---:|---|---:|---|---:|---:|"
    for name in METHODS:
        share = suite.share(name)
        if share is not None and name != BASELINE:
            yield f"| {name} | {_method(share)} |"


def _method(share: Share) -> str:
    return " | ".join(
        (
            str(share.cells),
            f"{share.gain:+.3f} {_brackets(share.gain_interval, '+.3f')}",
            f"{share.worst:+.2f}",
            f"{share.share:.0%} {_brackets(share.share_interval, '.0%')}",
            f"{share.cost.calls:,}",
            f"{share.cost.tokens:,}",
        )
    )


def _brackets(found: Interval | None, form: str) -> str:
    return "" if found is None else f"[{found.low:{form}}, {found.high:{form}}]"
