"""`gym compare RUN_A RUN_B`: two evaluations side by side, paired by problem. Nothing is asked of any model."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gym.cli.common import console, json_option, print_json

if TYPE_CHECKING:
    from gym.evaluation.compare import Comparison


@click.command()
@click.argument("run_a", type=click.Path(path_type=Path))
@click.argument("run_b", type=click.Path(path_type=Path))
@click.option("--by", "key", metavar="KEY", help="A table for this column of the data.  [default: the usual ones]")
@click.option("--html", "page", metavar="FILE", type=click.Path(path_type=Path), help="Write a page with charts too.")
@json_option
def command(run_a: Path, run_b: Path, key: str | None, page: Path | None, as_json: bool) -> None:
    """Compare two evaluations on the problems that both asked: B against A.

    A run is a folder of `gym train` (what it learned, on its held-out problems) or of `gym eval`, or one file of its
    evaluations/. The difference is paired by problem, with a 95 % interval and a permutation p-value, among the scored
    answers and with failed ones as 0.

    \b
      gym compare output/first output/second
      gym compare output/first/evaluations/before.json output/first/evaluations/after.json --by level
    """
    from gym.evaluation.compare import Named, compare
    from gym.evaluation.record import read

    labels = _labels(run_a, run_b)
    found = compare(Named(labels[0], read(run_a)), Named(labels[1], read(run_b)), key=key)
    if page:
        from gym.evaluation.compare_page import html
        from gym.files import write_atomic

        write_atomic(page, html(found))
    if as_json:
        print_json(found.as_object())
    else:
        _show(found)
    if page:
        console.print(f"page: {page}", markup=False)


def _labels(run_a: Path, run_b: Path) -> tuple[str, str]:
    """The shortest names that tell the two apart; A and B where none does."""
    names = [path.name if path.is_dir() else path.stem for path in (run_a.resolve(), run_b.resolve())]
    if names[0] == names[1]:
        names = [str(run_a), str(run_b)]
    return (names[0], names[1]) if names[0] != names[1] else ("A", "B")


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
