"""`gym data check A B`: whether two problem sets share problems, before one is learned from and the other measured."""

from collections.abc import Sequence
from typing import Any

import click
from rich.text import Text

from gym import plugins
from gym.cli.common import console, json_option, print_json
from gym.train.grpo.domains.base import Domain, Loaded
from gym.train.grpo.domains.shingles import WIDTH, Pair, pairs
from gym.train.grpo.rewards.base import clip

SHOWN = 20


@click.group()
def command() -> None:
    """Look into problem sets before anything is spent on them."""


@command.command()
@click.argument("a")
@click.argument("b")
@click.option("--data-dir", default="", metavar="FOLDER", help="Where the files of named sets are.")
@click.option("--domain", default="math", show_default=True, help="Whose named sets and repairs: math, jsonl, …")
@click.option("--input-key", default="", metavar="NAME", help="Column of the question.")
@click.option("--threshold", type=click.FloatRange(0, 1, min_open=True), default=0.5, show_default=True, metavar="X",
              help="Share of a text that must be found in the other.")  # fmt: skip
@json_option
@click.pass_context
def check(
    ctx: click.Context, a: str, b: str, data_dir: str, domain: str, input_key: str, threshold: float, as_json: bool
) -> None:
    """Say which problems of set A are in set B too, by shared 50-character pieces of their letters and digits.

    A and B are files or a domain's named sets. The exit code is 0 when nothing is shared, and 1 when something is.

    \b
      gym data check aime:2000-2023 aime24+aime25 --data-dir data
      gym data check train.jsonl test.jsonl --domain jsonl --json
    """
    kind: Domain = plugins.resolve("domain", domain)
    sets = {
        name: kind.load(name, data_dir=data_dir, input_key=input_key, answer_key="", truncate=None) for name in (a, b)
    }
    found = pairs(sets[a].problems, sets[b].problems, above=threshold)
    if as_json:
        print_json(_object(a, b, sets[a], sets[b], threshold, found))
    else:
        _show(a, b, sets[a], sets[b], threshold, found)
    ctx.exit(int(bool(found)))


def _object(a: str, b: str, one: Loaded, other: Loaded, threshold: float, found: Sequence[Pair]) -> dict[str, Any]:
    return {
        "a": _described(a, one, {pair.a for pair in found}),
        "b": _described(b, other, {pair.b for pair in found}),
        "shingle": WIDTH,
        "threshold": threshold,
        "pairs": [pair._asdict() for pair in found],
    }


def _described(name: str, loaded: Loaded, shared: set[str]) -> dict[str, Any]:
    return {
        "set": name,
        "problems": len(loaded.problems),
        "shared": len(shared),
        "needs_figure": sum(bool(problem.metadata.get("needs_figure")) for problem in loaded.problems),
        "repaired": {
            problem.id: problem.metadata["repaired"] for problem in loaded.problems if problem.metadata.get("repaired")
        },
        "notes": list(loaded.notes),
    }


def _show(a: str, b: str, one: Loaded, other: Loaded, threshold: float, found: Sequence[Pair]) -> None:
    for note in dict.fromkeys((*one.notes, *other.notes)):
        console.print(Text(note))
    asked = {problem.id: " ".join(problem.query.split()) for problem in one.problems}
    for pair in found[:SHOWN]:
        click.echo(f"{pair.a_in_b:5.0%} {pair.b_in_a:5.0%}  {pair.a} = {pair.b}  {clip(asked[pair.a], 60)}")
    if len(found) > SHOWN:
        click.echo(f"… and {len(found) - SHOWN:,} more pairs (--json lists them all)")
    shared = f"{len({pair.a for pair in found}):,}" if found else "no overlap: none"
    click.echo(
        f"{shared} of {len(one.problems):,} problems of {a} share {threshold:.0%} of the text, theirs or the other's, "
        f"with one of the {len(other.problems):,} of {b}"
    )
