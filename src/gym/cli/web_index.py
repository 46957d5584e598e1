"""`gym web index` and `gym web search`: the full-text index of a folder of pages, as the web tool's search has it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gym.cli.common import console, json_option, print_json
from gym.cli.progress import counting
from gym.core.text import count

if TYPE_CHECKING:
    from gym.web.index import SiteIndex

HOST = "site.example"
host_option = click.option(
    "--host", default=HOST, show_default=True, metavar="NAME", help="Of the addresses: the site's name in web_sites."
)


@click.command("index")
@click.argument("folder", type=click.Path(path_type=Path))
@host_option
@json_option
def index(folder: Path, host: str, as_json: bool) -> None:
    """Index a folder of static pages, once: a run finds the index again as long as no page changes."""
    found = _opened(folder, host)
    found.close()
    if as_json:
        print_json({"pages": found.size, "index": str(found.path)})
    else:
        click.echo(f"{count(found.size, 'page')} in {found.path}")


@click.command("search")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("query", nargs=-1, required=True)
@host_option
@click.option("--count", type=click.IntRange(min=1), default=8, show_default=True, metavar="N", help="Hits at most.")
@json_option
def search(folder: Path, query: tuple[str, ...], host: str, count: int, as_json: bool) -> None:
    """Search a folder of static pages, best first, as a model does with the tool `search`."""
    found = _opened(folder, host)
    hits = found.find(" ".join(query), count=count)
    found.close()
    if as_json:
        print_json([hit.model_dump(mode="json") for hit in hits])
        return
    for hit in hits:
        click.echo(f"{hit.title}\n  {hit.url}\n  {hit.snippet}")
    if not hits:
        click.echo("nothing found")


def _opened(folder: Path, host: str) -> "SiteIndex":
    from gym.web.index import SiteIndex  # a parser and more, for those who use them
    from gym.web.sites import checked_host, root

    with counting("pages") as done:
        return SiteIndex.of({checked_host(host): root(folder)}, say=console.print, done=done)
