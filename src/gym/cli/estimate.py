"""`gym estimate [CONFIG]`: calls, tokens and dollars of a run before they are spent (SPEC 5.3). No model is started."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym.cli.common import config_options, console, json_option, print_json
from gym.config import RunConfig, load_config

if TYPE_CHECKING:
    from gym.evaluation.estimate import Costs, Estimate
    from gym.train.grpo.task import Task


@click.command()
@click.argument("config_file", metavar="[CONFIG]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--informative-share",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Assumed share of groups whose answers get different rewards; only these cost reflection.",
)
@json_option
@config_options()
def command(config_file: Path | None, informative_share: float, as_json: bool, overrides: dict[str, Any]) -> None:
    """Predict what `gym train` with the same arguments will cost, stage by stage.

    Reads the data and starts no model. A model without a price has unknown dollars: give `prices:` in CONFIG.

    \b
      gym estimate configs/demo.yaml
      gym estimate --data train.jsonl --test test.jsonl --reward exact --model gpt-4o-mini --epochs 3
    """
    from gym.evaluation.estimate import estimate_for  # the method's modules load only when there is work
    from gym.train.grpo.task import held_out_reward, load_task, train_reward

    config = load_config(config_file, overrides)
    task = load_task(config, train_reward(config), held_out_reward(config))
    found = estimate_for(config, task, informative_share=informative_share)
    notes = (*task.notes, *_missing(config))
    if as_json:
        print_json(as_object(found, task, notes))
        return
    for note in notes:
        console.print(note, markup=False)
    _show(found, task, config)


def as_object(found: "Estimate", task: "Task", notes: tuple[str, ...]) -> dict[str, Any]:
    """The one object that `--json` prints."""
    return {
        "problems": {"train": len(task.train), "val": len(task.val), "test": len(task.test)},
        "expected": _costs(found.expected),
        "upper": _costs(found.upper),
        "informative_share": found.informative_share,
        "assumptions": found.assumptions.model_dump(mode="json"),
        "notes": list(notes),
    }


def _costs(costs: "Costs") -> dict[str, Any]:
    tokens = costs.tokens
    return {
        "calls": costs.calls,
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.completion,
        "usd": costs.usd,
        "stages": {
            stage.stage: {
                "calls": stage.calls,
                "prompt_tokens": stage.tokens.prompt,
                "completion_tokens": stage.tokens.completion,
                "usd": stage.usd,
            }
            for stage in costs.stages
        },
    }


def _missing(config: RunConfig) -> list[str]:
    """What the figures leave out for this configuration."""
    notes = [] if config.model_name_or_path else ["no model is given: dollars are unknown until you add --model NAME"]
    if config.reward == "judge" and config.use_groundtruth:
        notes.append("the judge's own calls, one for each answer that reaches it, are not in the table")
    if config.mode == "agent":
        notes.append("in agent mode each tool step is one more call, with the whole conversation: not in the table")
    return notes


def _show(found: "Estimate", task: "Task", config: RunConfig) -> None:
    from rich.table import Table

    from gym.cli.tables import out, print_table
    from gym.evaluation.figures import count, dollars

    sets = f"{len(task.train)} training, {len(task.val)} validation, {count(len(task.test), 'held-out problem')}"
    out.print(f"{sets}; {count(config.epochs, 'epoch')}, {count(config.grpo_group_size, 'answer')} each")
    table = Table(box=None, pad_edge=False)
    for heading in ("stage", "calls", "tokens", "dollars", "calls at most", "tokens", "dollars"):
        table.add_column(heading, justify="left" if heading == "stage" else "right", no_wrap=True)
    for usual, most in zip(found.expected.stages, found.upper.stages, strict=True):
        cells = (
            (f"{stage.calls:,}", f"{stage.tokens.total:,}", dollars(stage.usd) if stage.calls else "–")
            for stage in (usual, most)
        )
        table.add_row(usual.stage, *(cell for side in cells for cell in side))
    sums = (
        (f"{costs.calls:,}", f"{costs.tokens.total:,}", dollars(costs.usd)) for costs in (found.expected, found.upper)
    )
    table.add_row("total", *(cell for side in sums for cell in side), style="bold")
    print_table(table)
    for line in said(found):
        out.print(line, markup=False)


def said(found: "Estimate") -> tuple[str, ...]:
    """The assumptions behind the figures, in words."""
    given = found.assumptions
    return (
        f"Left: {100 * found.informative_share:.0f} % of the groups are informative; right (at most): all of them.",
        f"Assumed tokens: query {given.query:.0f} (measured at 4 characters a token), instructions {given.instructions:.0f}, "
        f"library {given.library:.0f}, answer {given.answer:.0f}, reflection instructions {given.reflection:.0f}, summary "
        f"{given.summary:.0f}, critique {given.critique:.0f}, consolidation {given.consolidation:.0f}.",
        "Not counted: retries, repairs of unusable replies, and discounts for cached prompts. An evaluation whose library "
        "did not change is answered from the record, free.",
    )
