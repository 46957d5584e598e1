"""`gym baseline grpo|lora [CONFIG]`: train weights or adapters on what `gym train` learns from, to compare with a library."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym.cli.common import config_options, json_option, print_json
from gym.cli.interrupt import two_step_interrupt
from gym.cli.progress import Display
from gym.config import RunConfig, load_config
from gym.llm.brake import Brake
from gym.loop import run_on_new_loop

if TYPE_CHECKING:
    from gym.train.grpo.gradient.plan import Plan
    from gym.train.grpo.gradient.sets import Also
    from gym.train.grpo.gradient.settings import GradientWay, Training
    from gym.train.grpo.gradient.workflow import Baseline


@click.command()
@click.argument("way", type=click.Choice(("grpo", "lora")))
@click.argument("config_file", metavar="[CONFIG]", required=False, type=click.Path(path_type=Path))
@click.option("--learning-rate", type=click.FloatRange(min=0, min_open=True), metavar="X",
              help="Of AdamW.  [default: 1e-6 for grpo, 1e-5 for lora]")  # fmt: skip
@click.option("--rank", type=click.IntRange(min=1), help="Of LoRA's adapters.  [default: 8]")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
              help="A further setting of TRL's GRPOConfig, e.g. beta=0.04. May be given several times.")  # fmt: skip
@click.option("--also", multiple=True, metavar="OTHER",
              help="Another set, or the YAML file of another task: answered before and after training, to see what is "
              "forgotten. May be given several times.")  # fmt: skip
@click.option(
    "--also-reward", default="", metavar="R", help="What scores all others.  [default: the run's, or their own]"
)
@click.option("--dry-run", is_flag=True, help="Say what would be trained, for how many steps and in how much memory.")
@click.option("--quiet", is_flag=True, help="No progress, only the result.")
@json_option
@config_options(skip=frozenset({"continuous_learning_grpo", "finetuning_type"}))
def command(
    way: "GradientWay",
    config_file: Path | None,
    learning_rate: float | None,
    rank: int | None,
    settings: tuple[str, ...],
    also: tuple[str, ...],
    also_reward: str,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    overrides: dict[str, Any],
) -> None:
    """Train a gradient baseline: all weights (grpo) or adapters beside them (lora).

    CONFIG and options are those of `gym train`: the same problems, split, rewards, prompts, group size, epochs and held-out
    answers, so that `gym compare` can put the library, LoRA and gradient GRPO into one table. The model is hf:FOLDER or
    hf:FILE.gguf; its files stay as they are, and what was trained is kept in the run's folder. The same command continues a
    run that was stopped. Ctrl-C once finishes the step and saves; twice stops at once. Needs the extra [train].

    \b
      gym baseline grpo config.yaml --learning-rate 2e-5
      gym baseline lora config.yaml --rank 16 --also other.jsonl
      gym baseline grpo --model hf:./model --data train.jsonl --test test.jsonl --reward exact --dry-run
      gym compare library=output/mine lora=output/lora-train-model grpo=output/grpo-train-model
    """
    from gym.train.grpo.gradient.sets import Also
    from gym.train.grpo.gradient.settings import Training

    config = load_config(config_file, overrides)
    training = Training.of(way, learning_rate=learning_rate, rank=rank, settings=settings)
    if dry_run:
        _plan(config, training, Also(also, also_reward), as_json)
        return
    with Display(quiet=quiet) as display:
        done = run_on_new_loop(_train(config, training, Also(also, also_reward), display))
    if as_json:
        print_json({"folder": str(done.folder), **done.report.as_object()})
    else:
        _show(done)


async def _train(config: RunConfig, training: "Training", also: "Also", display: Display) -> "Baseline":
    from gym.train.grpo.gradient.workflow import abaseline

    brake = Brake()
    with two_step_interrupt(brake, display):
        return await abaseline(config, training, also=also, watch=display, brake=brake)


def _plan(config: RunConfig, training: "Training", also: "Also", as_json: bool) -> None:
    from gym.train.grpo.gradient.plan import plan

    found = plan(config, training, also)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _show_plan(found)


def _show_plan(found: "Plan") -> None:
    from gym.cli.tables import out

    for line in found.told():
        out.print(line, markup=False)


def _show(done: "Baseline") -> None:
    """What training is worth, what it took and changed, and where everything is."""
    from gym.cli.tables import out, points, print_scores
    from gym.evaluation.figures import size
    from gym.train.grpo.gradient.report import lead, said_elsewhere

    report = done.report
    out.print("\nHeld-out problems")
    print_scores([("before", report.comparison.before.score), ("after", report.comparison.after.score)])
    out.print(f"paired difference: {points(report.comparison.gain)}")
    for there in report.elsewhere:
        out.print(f"\nelsewhere: {there.after.made.dataset}", markup=False)
        print_scores([("before", there.before.score), ("after", there.after.score)])
        out.print(f"difference on the same problems: {points(there.gain)}\n{said_elsewhere(there)}")
    out.print("")
    for line in lead(report)[1:]:
        out.print(line, markup=False)
    if report.effort.peak_bytes is not None:
        out.print(f"peak memory {size(report.effort.peak_bytes)}")
    for note in (*report.notes, *report.comparison.notes):
        out.print(f"note: {note}", markup=False)
    out.print(f"trained: {done.folder / report.checkpoint}", markup=False)
    out.print(f"report: {done.folder / 'report.html'} (and report.md, report.json)", markup=False)
