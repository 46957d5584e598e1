"""`gym compare RUN…`: evaluations side by side, paired by problem. Nothing is asked of any model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gym.cli.common import console, json_option, print_json
from gym.files import write_atomic

if TYPE_CHECKING:
    from gym.evaluation.compare import Comparison
    from gym.evaluation.ways import Ways


@click.command()
@click.argument("runs", metavar="RUN…", nargs=-1, required=True)
@click.option(
    "--by", "key", metavar="KEY", help="Of two runs: a table for this column of the data.  [default: the usual ones]"
)
@click.option("--html", "page", metavar="FILE", type=click.Path(path_type=Path), help="Write a page with charts too.")
@click.option("--markdown", metavar="FILE", type=click.Path(path_type=Path), help="Write the same as Markdown.")
@json_option
def command(runs: tuple[str, ...], key: str | None, page: Path | None, markdown: Path | None, as_json: bool) -> None:
    """Compare evaluations on the problems that all asked: two runs in detail, more of them in one table.

    A run is a folder of `gym train` (what it learned, on its held-out problems), `gym baseline` or `gym eval`, or one file of
    its evaluations/. Differences are paired by problem, with a 95 % interval and a permutation p-value. NAME=RUN gives it a
    name in the table, NAME=RUN,RUN pools the runs of several seeds.

    Two runs are compared among the scored answers and with failed ones as 0: B against A. Of several, or of named ones, each
    is compared with the first, beside what learning took (time, calls, tokens, dollars, peak memory), how many parameters it
    changed, and what it forgot, where the run was measured on another set with --also.

    \b
      gym compare output/first output/second
      gym compare output/first/evaluations/before.json output/first/evaluations/after.json --by level
      gym compare none=output/mine/evaluations/before.json lora=output/lora grpo=output/grpo library=output/mine
      gym compare none=a/evaluations/before.json,b/evaluations/before.json library=a,b --html page.html
    """
    given = [_named(run) for run in runs]
    if len(given) < 2:
        raise click.UsageError("give two runs or more")
    if len(given) == 2 and not any(name for name, _ in given):
        _compare_two(given[0][1][0], given[1][1][0], key, page, markdown, as_json)
    elif key is not None:
        raise click.UsageError("--by makes tables of two runs: give two, without names")
    else:
        _compare_several(given, page, markdown, as_json)
    for file in (page, markdown):
        if file:
            console.print(f"page: {file}", markup=False)


def _named(run: str) -> tuple[str, tuple[Path, ...]]:
    """A name, empty when none is given, and its runs; a path that exists is one, whatever it is called."""
    name, equals, paths = run.partition("=")
    if not equals or Path(run).exists():
        return "", (Path(run),)
    if not name or not all(paths.split(",")):
        raise click.UsageError(f"{run!r}: expected NAME=RUN or NAME=RUN,RUN")
    return name, tuple(map(Path, paths.split(",")))


def _compare_two(
    run_a: Path, run_b: Path, key: str | None, page: Path | None, markdown: Path | None, as_json: bool
) -> None:
    from gym.evaluation import compare_page
    from gym.evaluation.compare import Named, compare
    from gym.evaluation.record import read

    labels = _labels((run_a, run_b))
    found = compare(Named(labels[0], read(run_a)), Named(labels[1], read(run_b)), key=key)
    if page:
        write_atomic(page, compare_page.html(found))
    if markdown:
        write_atomic(markdown, compare_page.markdown(found))
    if as_json:
        print_json(found.as_object())
    else:
        _show(found)


def _compare_several(
    given: Sequence[tuple[str, tuple[Path, ...]]], page: Path | None, markdown: Path | None, as_json: bool
) -> None:
    from gym.evaluation import ways_page
    from gym.evaluation.ways import Way, compare_ways, open_run

    labels = _labels([paths[0] for _, paths in given])
    ways = [Way(name or label, tuple(map(open_run, paths))) for (name, paths), label in zip(given, labels, strict=True)]
    if twice := next((way.label for way in ways if sum(one.label == way.label for one in ways) > 1), None):
        raise click.UsageError(f"two ways are called {twice!r}: several runs of one are NAME=RUN,RUN")
    found = compare_ways(ways)
    if page:
        write_atomic(page, ways_page.html(found))
    if markdown:
        write_atomic(markdown, ways_page.markdown(found))
    if as_json:
        print_json(found.as_object())
    else:
        _show_ways(found)


def _labels(paths: Sequence[Path]) -> tuple[str, ...]:
    """The shortest names that tell them apart; numbers where none does.

    >>> _labels([Path("a/run"), Path("b/run")]), _labels([Path("run"), Path("run")])
    (('a/run', 'b/run'), ('run 1', 'run 2'))
    """
    names = [path.name if path.is_dir() else path.stem for path in (one.resolve() for one in paths)]
    if len(set(names)) < len(names):
        names = list(map(str, paths))
    return tuple(names if len(set(names)) == len(names) else (f"run {place}" for place, _ in enumerate(names, 1)))


def _show_ways(found: "Ways") -> None:
    """The tables of the page."""
    from rich.table import Table

    from gym.cli.tables import literal, out, print_table
    from gym.evaluation import ways_page

    for line in ways_page.lead(found):
        out.print(line, markup=False)
    for section in (ways_page.worth(found), ways_page.took(found), *ways_page.elsewhere(found)):
        if section is None or section.table is None:
            continue
        out.print(f"\n{section.title}", markup=False)
        table = Table(box=None, pad_edge=False)
        for place, heading in enumerate(section.table.header):
            numbers = place in section.table.numbers
            table.add_column(literal(heading), justify="right" if numbers else "left", no_wrap=True)
        for row in section.table.rows:
            table.add_row(*map(literal, row))
        print_table(table)
    for note in found.notes:
        out.print(f"note: {note}", markup=False)


def _show(found: "Comparison") -> None:
    from gym.cli.tables import money, out, print_comparison, print_pass_at, print_scores, print_tools

    sides = (found.before, found.after)
    rows = [(side.label, side.score) for side in sides]
    print_scores(rows)
    print_pass_at(rows)
    print_comparison(found)
    if found.bootstrap:
        low, high = found.bootstrap
        out.print(f"bootstrap over problems: [{100 * low:+z.1f}, {100 * high:+z.1f}] points")
    for side in sides:
        out.print(f"{side.label}: {money(side.usd, side.score.tokens.total)}", markup=False)
    print_tools([(side.label, side.score.tools) for side in sides])
    for note in found.notes:
        out.print(f"note: {note}", markup=False)
