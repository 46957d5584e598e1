"""`gym dao watch`: what was accepted, measured on this node's own problems; what does harm there is drafted for removal."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from gym.cli.common import config_options, console, json_option, print_json
from gym.cli.dao.options import Chain, Final, Keeping, chain_options, final_options, keeping_options, library_option
from gym.cli.eval import OPTIONS, named
from gym.cli.interrupt import two_step_interrupt
from gym.cli.progress import Display
from gym.config import RunConfig, load_config
from gym.core.experience import Library
from gym.core.text import count
from gym.errors import ProviderError
from gym.llm.brake import Brake
from gym.loop import run_on_new_loop

if TYPE_CHECKING:
    from gym.dao.library_file import Provenance
    from gym.evaluation.harm import Looked

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class Period(click.ParamType[float]):
    """Seconds, written like 30m, 6h or 1d."""

    name = "period"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", str(value).strip())
        if not found or not float(found[1]):
            self.fail(f"{value!r} is no period: write it like 30m, 6h or 1d", param, ctx)
        return float(found[1]) * UNITS[found[2]]


@click.command()
@click.argument("config_file", metavar="[CONFIG]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--every", type=Period(), default="1d", show_default=True, metavar="PERIOD", help="Look this often: 30m, 6h, 1d."
)
@click.option("--once", is_flag=True, help="Look once.")
@click.option(
    "--whole", is_flag=True, help="Test the library as a whole only: 2 measurements instead of one more per entry."
)
@click.option("--drafts", type=click.Path(path_type=Path), default=Path("drafts"), show_default=True, metavar="FOLDER",
              help="Where drafts of removals go.")  # fmt: skip
@click.option("--k", "k", type=click.IntRange(min=1), help="Answers to each problem.  [default: 3]")
@click.option("--temperature", type=click.FloatRange(min=0), help="Of the answers.  [default: 0.7]")
@click.option("--quiet", is_flag=True, help="No progress, only what was found.")
@library_option
@chain_options
@keeping_options
@final_options
@json_option
@config_options(*OPTIONS, skip=frozenset({"experience_lib_path"}))
def watch(
    config_file: Path | None, every: float, once: bool, whole: bool, drafts: Path, k: int | None,
    temperature: float | None, quiet: bool, library: Path, chain: Chain, keeping: Keeping, final: Final, as_json: bool,
    overrides: dict[str, Any],
) -> None:  # fmt: skip
    """Sync, measure the accepted library on your own problems, and draft a removal for what hurts there.

    CONFIG and the options are those of `gym eval`. An entry hurts when the paired test on the same problems says so after
    Holm's correction for the number of tests. A draft is a file with the figures; nothing is sent before you say
    `gym dao remove --draft FILE`. Answers are recorded: to look again at an unchanged library costs nothing.

    \b
      gym dao watch eval.yaml --once
      gym dao watch --data mine.jsonl --reward exact --model gpt-4o-mini --every 6h --budget-usd 1
    """
    given = {"eval_k": k, "eval_temperature": temperature}
    config = load_config(config_file, overrides | {key: value for key, value in given.items() if value is not None})
    round = Round(named(config, "watch"), whole, drafts, library, chain, keeping, final, quiet)
    for seen in (round.look(),) if once else scheduled(round.look, every):
        _say(seen, as_json=as_json)


def scheduled(
    look: "Callable[[], Seen]", every: float, sleep: Callable[[float], None] = time.sleep
) -> "Iterator[Seen]":
    """Look after look, so many seconds apart. What the world broke is told, and looked at again next time."""
    while True:
        try:
            yield look()
        except ProviderError as error:
            if error.fatal:
                raise
            console.print(f"this look failed, the next is in {every:g} s: {error}", markup=False)
        sleep(every)


class Seen(NamedTuple):
    """What a look came to."""

    told: "Provenance"
    found: "Looked | None"
    """None when nothing is accepted."""
    drafts: tuple[Path, ...]
    proposed: tuple[str, ...]
    """Ids of what does harm, and whose removal is voted on already."""


class Round(NamedTuple):
    """What every look needs."""

    config: RunConfig
    whole: bool
    drafts: Path
    library: Path
    chain: Chain
    keeping: Keeping
    final: Final
    quiet: bool

    def look(self) -> Seen:
        """Sync, measure, draft."""
        from gym.cli.dao.drafting import leaving, synced, write_drafts

        library, told = synced(self.library, self.chain, self.keeping, self.final)
        if not len(library):
            return Seen(told, None, (), ())
        with Display(quiet=self.quiet) as display:
            found = run_on_new_loop(_measured(self.config, library, not self.whole, display))
        open_ones = leaving(self.chain, told) if found.harmful else frozenset()
        new = [test for test in found.harmful if not open_ones.issuperset(test.ids)]
        known = tuple(id for test in found.harmful if test not in new for id in test.ids)
        return Seen(told, found, write_drafts(self.drafts, told, found, new), known)


async def _measured(config: RunConfig, library: Library, each: bool, display: Display) -> "Looked":
    from gym.evaluation.harm import look

    brake = Brake()
    with two_step_interrupt(brake, display):
        return await look(config, library, each=each, watch=display, brake=brake)


def _say(seen: Seen, *, as_json: bool) -> None:
    """One line of JSON a look, so that a schedule gives lines."""
    if as_json:
        found = seen.found
        tests = [test.model_dump(mode="json") | {"hurts": test.hurts} for test in found.tests] if found else []
        print_json({
            "block": seen.told.block, "digest": seen.told.library_digest, "tests": tests, "drafts": [str(p) for p in seen.drafts],
            "proposed_already": list(seen.proposed), "spent": found.spent if found else None,
            "notes": list(found.notes) if found else [], "folder": found.folder if found else None,
        }, indent=None)  # fmt: skip
    else:
        _print(seen)


def _print(seen: Seen) -> None:
    from gym.cli.tables import points, spent

    if seen.found is None:
        click.echo(f"block {seen.told.block}: nothing is accepted, so there is nothing to measure")
        return
    click.echo(
        f"block {seen.told.block}: {count(seen.found.problems, 'problem')}, {count(seen.found.answers, 'answer')} each"
    )
    for test in seen.found.tests:
        what = "the library" if test.whole else test.ids[0]
        corrected = f" (corrected p = {test.p_corrected:.4f})" if len(seen.found.tests) > 1 else ""
        click.echo(f"  {what}: {points(test.found)}{corrected}{': HURTS' if test.hurts else ''}")
    for note in seen.found.notes:
        click.echo(f"note: {note}")
    for id in seen.proposed:
        click.echo(f"  {id} hurts, and its removal is proposed already")
    for path in seen.drafts:
        click.echo(f"drafted {path}: to propose it, gym dao remove --draft {path}")
    click.echo(f"{spent(seen.found.spent)} in all; recorded in {seen.found.folder}")
