"""`gym web`: a fictional site with proven questions, any folder of pages on loopback, and what is in one."""

import asyncio
import signal
from collections import Counter
from pathlib import Path

import click

from gym.cli.common import console, json_option, print_json
from gym.cli.progress import counting
from gym.cli.web_index import index, search
from gym.core.text import count
from gym.loop import run_on_new_loop
from gym.web.site.making import FEWEST, HOST, MOST, Site, make, write
from gym.web.sites import checked_host, root, serving
from gym.web.survey import Survey, found, is_page, survey

SHOWN = 10


@click.group()
def command() -> None:
    """Sites to learn on: make one, serve, index and search a folder of pages, see what is in it."""


command.add_command(index)
command.add_command(search)


@command.command("make-site")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of the world; one seed, one site.")
@click.option("--pages", type=click.IntRange(FEWEST, MOST), default=300, show_default=True, metavar="N",
              help="Pages of the site; half as many questions.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), default=Path("data/site"), show_default=True, metavar="FOLDER",
              help="Where the pages and the questions go.")  # fmt: skip
@click.option("--host", default=HOST, show_default=True, metavar="NAME", help="Of the addresses in the questions.")
@json_option
def make_site(seed: int, pages: int, output: Path, host: str, as_json: bool) -> None:
    """Make a fictional site and questions over it, whose answers and shortest ways are checked on its pages."""
    with counting("questions") as done:
        site = make(seed, pages=pages, host=checked_host(host), done=done)
    write(site, output)
    counts = _counts(site)
    if as_json:
        print_json({"folder": str(output), "host": site.host, "pages": pages, "questions": counts})
        return
    told = "; ".join(", ".join(f"{number} {name}" for name, number in group.items()) for group in counts.values())
    click.echo(f"{count(pages, 'page')} and {count(len(site.rows), 'question')} in {output} ({told})")
    click.echo(f"web_sites: {{{site.host}: {output}}}")


@command.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, metavar="N", help="Port on loopback [default: any free]"
)
def serve(folder: Path, port: int) -> None:
    """Serve a folder of static pages on loopback until Ctrl-C."""
    pages = root(folder)
    console.print(f"{count(sum(map(is_page, found(pages))), 'page')} in {pages}; Ctrl-C ends it")
    run_on_new_loop(_serve(pages, port))


@command.command()
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def check(folder: Path, as_json: bool) -> None:
    """Say what a folder of static pages holds, and which of its links lead nowhere."""
    with counting("pages") as done:
        found = survey(root(folder), done)
    if as_json:
        print_json(found._asdict() | {"lost": [lost._asdict() for lost in found.lost]})
        return
    _show(found)
    for lost in found.lost[:SHOWN]:
        click.echo(f"  {lost.page} -> {lost.link}")
    if len(found.lost) > SHOWN:
        click.echo(f"  … and {len(found.lost) - SHOWN:,} more (--json lists them all)")


async def _serve(pages: Path, port: int) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, ended.set)
    async with serving(pages, port) as place:
        click.echo(f"http://{place.host}:{place.port}/")
        await ended.wait()
    console.print("ended")


def _show(found: Survey) -> None:
    click.echo(
        f"{count(len(found.pages), 'page')}, {count(found.others, 'other file')}; "
        f"{count(len(found.lost), 'link', verb='leads/lead')} nowhere; "
        f"{count(len(found.unreached), 'page', verb='is/are')} not reached by links from {found.front or 'the folder'}"
    )


def _counts(site: Site) -> dict[str, dict[str, int]]:
    return {name: dict(sorted(Counter(row[name] for row in site.rows).items())) for name in ("split", "level", "type")}
