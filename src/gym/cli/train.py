"""`gym train [CONFIG]`: learn an experience library and show what it is worth."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym.cli.common import config_options, json_option, print_json
from gym.cli.interrupt import two_step_interrupt
from gym.cli.progress import Display
from gym.config import RunConfig, load_config
from gym.core.problem import tool_use
from gym.llm.brake import Brake
from gym.loop import run_on_new_loop

if TYPE_CHECKING:
    from gym.train.grpo.training_free_workflow import Run


@click.command()
@click.argument("config_file", metavar="[CONFIG]", required=False, type=click.Path(path_type=Path))
@click.option("--fork", metavar="NEW_NAME", help="Start a new run NEW_NAME that reuses the paid calls of this one.")
@click.option("--quiet", is_flag=True, help="No progress, only the result.")
@json_option
@config_options()
def command(config_file: Path | None, fork: str | None, quiet: bool, as_json: bool, overrides: dict[str, Any]) -> None:
    """Learn an experience library from labelled problems.

    CONFIG is a YAML file; every key of it can also be given as an option, and options win. The same command continues
    a run that was stopped. Ctrl-C once finishes the calls in flight and saves; twice stops at once.

    \b
      gym train --data train.jsonl --test test.jsonl --reward exact --model local:qwen2.5-coder-1.5b
      gym train --data train.jsonl --reward math --model gpt-4o-mini --budget-usd 2
      gym train configs/demo.yaml --seed 1 --experiment-name second
    """
    config = load_config(config_file, overrides)
    if fork:
        from gym.train.grpo.fork import fork_run

        config = fork_run(config, fork)
    with Display(quiet=quiet) as display:
        run = run_on_new_loop(_train(config, display))
    if as_json:
        found = run.report.model_dump(mode="json")
        if run.gain is not None:
            found["gain"]["verdict"] = run.gain.verdict
        print_json({"folder": str(run.folder), **found})
    else:
        show(run)


async def _train(config: RunConfig, display: Display) -> "Run":
    from gym.train.grpo.training_free_workflow import atrain  # numpy and the rest load only when there is work

    brake = Brake()
    with two_step_interrupt(brake, display):
        return await atrain(config, watch=display, brake=brake)


def show(run: "Run") -> None:
    """The library, what it is worth, what it cost, and where everything is."""
    from gym.cli.tables import literal, out, percent, points, print_library, print_scores, print_tools, spent

    out.print("\nThe library")
    print_library(run.library)
    if run.before and run.after and run.gain:
        out.print("\nHeld-out problems")
        print_scores(
            [("without" if not run.report.start_size else "before", run.before.score), ("with", run.after.score)]
        )
        for family in run.report.families:
            name = literal(family.name if run.report.kind == "family" else f"{run.report.kind} {family.name}")
            out.print(f"  {name}: {percent(family.before.mean)} → {percent(family.after.mean)}", markup=False)
        out.print(f"paired difference: {points(run.gain)}")
        if run.report.closed_book and run.report.over_closed_book:
            print_scores([("closed book", run.report.closed_book)])
            out.print(f"over closed book: {points(run.report.over_closed_book)}")
    print_tools([("training", tool_use(step.tools for step in run.steps))])
    out.print(f"\n{spent(run.report.spent['total'])}, {run.report.seconds:.0f} s")
    out.print(f"weights: {run.report.weights}", markup=False)
    for note in run.report.notes:
        out.print(f"note: {note}", markup=False)
    out.print(f"report: {run.folder / 'report.html'} (and report.md, report.json)", markup=False)
