"""`gym verify RUN`: are the weights, or a signed library, what they were? Reads files; asks no model, loads no torch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gym.cli.common import console, json_option, print_json

if TYPE_CHECKING:
    from gym.train.grpo.frozen.sections import Progress
    from gym.train.grpo.verification import Check

SHOWN = 20
"""Differences that are printed; `--json` has all."""


@click.command()
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option("--library", metavar="PATH", type=click.Path(path_type=Path),
              help="Check this library, or this run's, against its signature instead.")  # fmt: skip
@click.option("--model", metavar="PATH", default="", help="Where the weights are.  [default: where the run found them]")
@click.option("--key", metavar="KEY", default="", help="With --library: the public key to expect.  [default: your own]")
@json_option
@click.pass_context
def command(ctx: click.Context, run: Path | None, library: Path | None, model: str, key: str, as_json: bool) -> None:
    """Check that a run's model, or a signed library, is bit for bit what it was.

    RUN is a folder of `gym train` or `gym eval`. Its GGUF file or model folder is read again and compared with what the
    run began and ended with; every tensor that differs, is missing or was added is named. With --library the file of
    experiences is compared with the signature beside it: its bytes, who signed, and the model it was learned on.

    Exit code: 0 all as it was, 4 something differs, 1 it cannot be known (a model behind an API, a key that nothing
    vouches for), 2 something to check is missing.

    \b
      gym verify output/mine
      gym verify output/mine --model ~/models/qwen2.5-coder-1.5b.gguf
      gym verify --library output/mine
      gym verify --library experiences.json --key ed25519:9f… --model qwen.gguf
    """
    from gym.train.grpo.verification import verify_library, verify_run

    if (run is None) == (library is None):
        raise click.UsageError("give a RUN, or --library with a library or run")
    if run is not None and key:
        raise click.UsageError("--key says who signed a library: give it with --library")
    if run is not None:
        checks: Sequence[Check] = verify_run(run, model, _reading)
    else:
        assert library is not None
        checks = (verify_library(library, model, key, _reading),)
    if as_json:
        print_json({"checks": [check.model_dump(mode="json") for check in checks]})
    else:
        for check in checks:
            _show(check)
    ctx.exit(max(check.exit_code for check in checks))


def _show(check: "Check") -> None:
    click.echo(f"{check.verdict}: {check.said}")
    for line in check.differences[:SHOWN]:
        click.echo(f"  {line}")
    if (more := len(check.differences) - SHOWN) > 0:
        click.echo(f"  and {more} more: --json names all")
    for note in check.notes:
        click.echo(f"  note: {note}")


@contextmanager
def _reading(name: str, size: int) -> "Iterator[Progress]":
    """A bar of the bytes read, on standard error; none without a terminal."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("reading {task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(name, total=size)
        yield lambda count: bar.advance(task, count)
