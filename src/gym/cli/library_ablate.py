"""`gym library ablate`: what each experience of a library is worth on a data set, and a smaller library."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym.cli.common import config_options, console, json_option, print_json
from gym.cli.eval import OPTIONS, gated_library, named
from gym.cli.interrupt import two_step_interrupt
from gym.cli.progress import Display
from gym.config import RunConfig, load_config
from gym.core.experience import Library
from gym.core.text import count
from gym.errors import BudgetReached, ConfigError
from gym.files import write_atomic
from gym.llm.brake import Brake
from gym.loop import run_on_new_loop

if TYPE_CHECKING:
    from gym.evaluation.worth import Appraisal, Worth


@click.command("ablate")
@click.argument("path", metavar="LIBRARY|RUN", type=click.Path(path_type=Path))
@click.option("--k", "k", type=click.IntRange(min=1), default=1, show_default=True, help="Answers to each problem.")
@click.option("--temperature", type=click.FloatRange(min=0), default=0.7, show_default=True, help="Of the answers.")
@click.option(
    "--permutations",
    type=click.IntRange(min=0),
    default=8,
    show_default=True,
    help="Orders for the Shapley values; 0: leave-one-out alone.",
)
@click.option(
    "--truncate",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Give an order up this near to the whole library's mean: cheaper, and values shrink; 0: never.",
)
@click.option(
    "--least",
    type=click.FloatRange(min=0, max=1),
    default=0.02,
    show_default=True,
    help="The suggested library keeps what is worth this, or surely helps.",
)
@click.option("--write", type=click.Path(path_type=Path), metavar="FILE", help="Write the suggested library there.")
@click.option("--quiet", is_flag=True, help="No progress, only the result.")
@json_option
@config_options(*OPTIONS, skip=frozenset({"experience_lib_path"}))
def command(
    path: Path,
    k: int,
    temperature: float,
    permutations: int,
    truncate: float,
    least: float,
    write: Path | None,
    quiet: bool,
    as_json: bool,
    overrides: dict[str, Any],
) -> None:
    """What each experience is worth on a data set: leave-one-out and Shapley values with 95 % intervals.

    A library of n entries takes n + 2 measurements of the data set, and at most n - 1 more for each order. Answers are
    recorded: the same command again, also with more orders, repeats no finished call. With a budget (--budget-calls,
    --budget-tokens, --budget-usd) it shows what was found until then and exits with 3.

    \b
      gym library ablate output/desk --data val.jsonl --reward exact --model gpt-4o-mini --budget-usd 1
      gym library ablate rules.json --data val.jsonl --reward exact --model local:qwen2.5-coder-1.5b --write less.json
    """
    given = {"eval_k": k, "eval_temperature": temperature, "experience_lib_path": str(path)}
    config = named(load_config(None, overrides | given), "ablate")
    library = gated_library(config) or Library()
    if write is not None and write.exists():
        raise ConfigError(f"{str(write)!r} exists: --write makes a new file")
    with Display(quiet=quiet) as display:
        found = run_on_new_loop(_ablate(config, library, permutations, truncate, least, display))
    if as_json:
        print_json(as_object(found))
    else:
        _show(found, library)
    if found.stopped:
        raise BudgetReached(found.stopped)
    if write is not None:
        write_atomic(write, (found.suggestion.library if found.suggestion else library).to_json())
        console.print(f"written to {write}", markup=False)


async def _ablate(
    config: RunConfig, library: Library, permutations: int, truncate: float, least: float, display: Display
) -> "Appraisal":
    from gym.evaluation.worth import appraise  # numpy and the rest load only when there is work

    brake = Brake()
    with two_step_interrupt(brake, display):
        return await appraise(
            config,
            library,
            permutations=permutations,
            tolerance=truncate,
            least=least,
            watch=display,
            brake=brake,
        )


def as_object(found: "Appraisal") -> dict[str, Any]:
    """The one object that `--json` prints."""
    told = found.model_dump(mode="json", exclude={"suggestion", "worths"})
    worths = [worth.model_dump(mode="json") | {"verdict": worth.verdict} for worth in found.worths]
    less = found.suggestion
    return told | {
        "experiences": worths,
        "suggestion": less
        and {
            "ids": list(less.library.ids),
            "against_all": less.against_all.model_dump(mode="json") | {"verdict": less.against_all.verdict},
            "tokens_saved": less.tokens_saved,
        },
    }


def _show(found: "Appraisal", library: Library) -> None:
    from gym.cli.tables import out, points, print_scores, spent

    print_scores([("no library", found.empty), (count(len(library), "experience"), found.full)])
    _print_worths(found.worths)
    early = f", {found.given_up} given up early" if found.given_up else ""
    orders = f"; Shapley values over {count(found.orders, 'order')}{early}" if found.orders else ""
    out.print(f"in points of the mean reward{orders}")
    if less := found.suggestion:
        out.print(
            f"suggested: {', '.join(less.library.ids) or 'no experiences'}; {less.tokens_saved} tokens a prompt less; "
            f"against all of them {points(less.against_all)}. Confirm it on other problems."
        )
    elif not found.stopped:
        out.print("suggested: keep them all")
    out.print(f"{spent(found.spent)} in all; recorded in {found.folder}", markup=False)


def _print_worths(worths: "tuple[Worth, ...]") -> None:
    from rich.table import Table
    from rich.text import Text

    from gym.cli.tables import effect, print_table

    table = Table(box=None, pad_edge=False)
    for heading in ("id", "tokens", "leave-one-out [95 %]", "Shapley [95 %]", "verdict", "experience"):
        told = heading == "experience"
        table.add_column(
            heading,
            no_wrap=not told,
            min_width=30 if told else None,
            justify="right" if heading == "tokens" else "left",
        )
    for one in worths:
        alone = effect(one.left_out.difference, one.left_out.interval)
        table.add_row(one.id, str(one.tokens), alone, effect(one.shapley, one.interval), one.verdict, Text(one.text))
    print_table(table)
