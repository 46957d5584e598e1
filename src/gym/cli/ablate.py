"""`gym ablate [CONFIG]`: which setting is worth what: a run for every variant and seed, and one table."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from gym.cli.common import config_options, console, json_option, lists_values, print_json
from gym.cli.interrupt import two_step_interrupt
from gym.cli.progress import Display
from gym.config import RunConfig, canonical_key, load_config
from gym.core.text import count
from gym.errors import ConfigError, Stopped
from gym.llm.brake import Brake
from gym.loop import run_on_new_loop

if TYPE_CHECKING:
    from gym.evaluation.ablation import Ablation
    from gym.evaluation.variants import Load, Varied
    from gym.train.grpo.ablation import Experiment


@click.command()
@click.argument("config_file", metavar="[CONFIG]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--vary", multiple=True, metavar="KEY=V1,V2", help="Compare these values of any key; quote one with a comma."
)
@click.option(
    "--seeds", default="0,1,2", show_default=True, metavar="N,…", help="Every variant learns under each of them."
)
@click.option(
    "--one-at-a-time/--full", "alone", default=True, help="Vary each setting alone (default), or combine all."
)
@click.option("--dry-run", is_flag=True, help="Show the runs and what they will cost; start no model.")
@click.option("--quiet", is_flag=True, help="No progress, only the result.")
@json_option
@config_options(skip=frozenset({"seed"}), several=True)
def command(
    config_file: Path | None,
    vary: tuple[str, ...],
    seeds: str,
    alone: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    overrides: dict[str, Any],
) -> None:
    """Compare settings by what they gain on held-out problems, with intervals over problems and seeds.

    A number or a choice given several values is varied, any other key with --vary; the rest is as for `gym train`. The first
    variant is the base, and the others differ from it in one setting (or, with --full, in any). Every run is a folder of its own
    in the experiment's; the same command goes on after a stop and runs nothing twice, and more seeds or values can be added.
    Budgets are for the whole. The table is printed and kept as ablation.md and ablation.json.

    \b
      gym ablate run.yaml --group-size 1,3,5,8 --ground-truth on,off --gate on,off --dry-run
      gym ablate run.yaml --learn-from mixed,mixed+all_wrong --curriculum on,off --seeds 0,1,2,3
      gym ablate run.yaml --vary group_size_min=none,2 --vary screen_answers=0,2 --full
    """
    fixed, listed = _sides(overrides)

    def load(changes: Mapping[str, Any]) -> RunConfig:
        return load_config(config_file, {**fixed, **changes})

    experiment = _planned(load, {**listed, **_given(vary, listed)}, _numbers(seeds), full=not alone)
    if dry_run:
        _show_plan(experiment, as_json)
        return
    if not quiet:
        show_plan(experiment, console)
    _show(_run(experiment, quiet, as_json), as_json)


def _show_plan(experiment: "Experiment", as_json: bool) -> None:
    from gym.cli.tables import out

    if as_json:
        print_json(plan_object(experiment))
    else:
        show_plan(experiment, out)


def _run(experiment: "Experiment", quiet: bool, as_json: bool) -> "Ablation":
    """The whole; what is finished is shown when it stops early."""
    try:
        with Display(quiet=quiet) as display:
            return run_on_new_loop(_ablate(experiment, display))
    except Stopped:
        if experiment.outcomes:
            _show(experiment.write(), as_json)
        raise


async def _ablate(experiment: "Experiment", display: Display) -> "Ablation":
    brake = Brake()
    with two_step_interrupt(brake, display):
        return await experiment.run(display, brake)


def _planned(load: "Load", wanted: Mapping[str, str], seeds: tuple[int, ...], *, full: bool) -> "Experiment":
    from gym.evaluation.variants import variants, varied  # the method's modules load only when there is work
    from gym.train.grpo.ablation import experiment
    from gym.train.grpo.run_dir import safe_name

    own = load({})
    several: list[Varied] = [varied(key, words, load) for key, words in wanted.items()]
    if not several:
        raise ConfigError(
            "nothing to compare: give a setting several values, as in --group-size 3,5 or --vary KEY=V1,V2"
        )
    name = own.experiment_name or f"ablate-{Path(own.dataset).stem}-{own.model_name_or_path.rpartition('/')[2]}"
    return experiment(load, Path(own.output_dir) / safe_name(name), variants(own, several, full=full), seeds)


def _sides(overrides: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """What was given once and what was given several values."""
    from gym.evaluation.variants import meant

    listed = {key: text for key, text in overrides.items() if lists_values(key) and "," in text}
    fixed = {
        key: meant(key, value) if lists_values(key) else value for key, value in overrides.items() if key not in listed
    }
    return fixed, listed


def _given(vary: tuple[str, ...], listed: Mapping[str, str]) -> dict[str, str]:
    """Key -> values of the --vary options."""
    found: dict[str, str] = {}
    for text in vary:
        key, equals, words = text.partition("=")
        if not equals:
            raise ConfigError(f"--vary {text}: give KEY=V1,V2")
        if (name := canonical_key(key, "--vary")) in found or name in listed:
            raise ConfigError(f"--vary {text}: {name} is varied twice, give all its values at once")
        found[name] = words
    return found


def _numbers(seeds: str) -> tuple[int, ...]:
    try:
        return tuple(dict.fromkeys(int(word) for word in seeds.split(",")))
    except ValueError:
        raise ConfigError(f"--seeds {seeds}: give whole numbers with commas, as in 0,1,2") from None


def plan_object(experiment: "Experiment") -> dict[str, Any]:
    """The one object that `--dry-run --json` prints."""
    runs = [
        {
            "variant": job.variant.name,
            "settings": dict(job.variant.changes),
            "seed": job.seed,
            "folder": str(job.folder),
            "finished": job.outcome is not None,
            "expected_calls": job.estimate.expected.calls,
            "upper_calls": job.estimate.upper.calls,
        }
        for job in experiment.jobs
    ]
    return {"folder": str(experiment.folder), "runs": runs, "shared_calls": experiment.shared_calls}


def show_plan(experiment: "Experiment", where: Console) -> None:
    """The variants, what a run of each is expected to take, and what is to be done."""
    from rich.table import Table

    from gym.cli.tables import literal, print_table
    from gym.evaluation.variants import settings

    jobs, seeds = experiment.jobs, experiment.seeds
    table = Table(box=None, pad_edge=False)
    for heading in ("variant", "calls", "calls at most", "tokens", "finished"):
        table.add_column(heading, justify="left" if heading == "variant" else "right", no_wrap=True)
    for job in jobs[: len(jobs) // len(seeds)]:
        kept = sum(other.outcome is not None for other in jobs if other.variant.name == job.variant.name)
        usual, most = job.estimate.expected, job.estimate.upper
        figures = (f"{usual.calls:,}", f"{most.calls:,}", f"{usual.tokens.total:,}", f"{kept} of {len(seeds)}")
        table.add_row(literal(job.variant.name), *figures)
    print_table(table, where)
    where.print(f"base: {settings(jobs[0].variant.changes)}", markup=False)
    where.print(_to_do(experiment), markup=False)


def _to_do(experiment: "Experiment") -> str:
    jobs = experiment.jobs
    waiting = [job.estimate for job in jobs if job.outcome is None]
    usual, most = sum(one.expected.calls for one in waiting), sum(one.upper.calls for one in waiting)
    return (
        f"{count(len(jobs), 'run')} under seeds {', '.join(map(str, experiment.seeds))} in {experiment.folder}, "
        f"{len(jobs) - len(waiting)} finished. To go: about {usual:,} calls, at most {most:,}, less "
        f"{experiment.shared_calls:,} that the variants of a seed share."
    )


def _show(found: "Ablation", as_json: bool) -> None:
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    from rich.table import Table

    from gym.cli.tables import literal, out, print_table
    from gym.evaluation.ablation import notes, table

    cells = table(found)
    shown = Table(box=None, pad_edge=False)
    for place, heading in enumerate(cells.header):
        shown.add_column(heading, justify="right" if place in cells.numbers else "left", no_wrap=True)
    for row in cells.rows:
        shown.add_row(*map(literal, row))
    print_table(shown)
    for note in notes(found):
        out.print(note, markup=False)
