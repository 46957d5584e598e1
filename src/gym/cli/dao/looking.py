"""`gym dao history`: how the library came to be what it is."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gym.cli.common import print_json
from gym.cli.dao.options import (
    Chain,
    Final,
    chain_options,
    content_option,
    final_options,
    json_option,
)
from gym.core.text import count

if TYPE_CHECKING:
    from gym.dao.checkpoint import Checkpoint, Entry


@click.command()
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N changes.")
@chain_options
@content_option
@final_options
@json_option
def history(last: int | None, chain: Chain, content: Path, final: Final, as_json: bool) -> None:
    """Every change of the library up to the last final block, proven to lead to what the registry holds."""
    from gym.cli.dao.desk import opened, read_of

    with opened(chain) as there:
        read = read_of(there, chain, final)
    named = _names(read.checkpoint, content)
    rows = [_row(entry, named) for entry in read.checkpoint.entries[-last if last else None :]]
    if as_json:
        print_json({
            "block": read.head.number, "version": read.past.version, "root": read.past.root.hex(),
            "history_hash": read.past.history_hash.hex(), "changes": rows, "waiting": read.waiting,
        })  # fmt: skip
        return
    for row in rows:
        click.echo(f"{row['version']:>4}  block {row['block']}  {row['cause']}{_by(row['proposal'])}")
        for sign, key in (("+", "added"), ("-", "removed")):
            for one in row[key]:
                click.echo(f"      {sign} {one['id']} {one['cid']}  {one['text'] or '(content not here)'}")
    click.echo(
        f"{count(read.past.version, 'change')} up to block {read.head.number}; history {read.past.history_hash.hex()}"
    )
    if read.wait:
        click.echo(read.wait)


def _row(entry: "Entry", named: Mapping[str, Mapping[str, str | None]]) -> dict[str, Any]:
    return {
        "version": entry.version,
        "block": entry.block,
        "cause": entry.cause.name.lower(),
        "proposal": entry.proposal,
        "transaction": f"0x{entry.transaction}",
        "added": [named[digest] for digest in entry.added],
        "removed": [named[digest] for digest in entry.removed],
        "root": entry.root,
        "history_hash": entry.history_hash,
    }


def _names(checkpoint: "Checkpoint", folder: Path) -> Mapping[str, Mapping[str, str | None]]:
    """Every experience that was ever accepted by id, address, and text where the folder has it."""
    from gym.core.cid import cid_of_digest
    from gym.dao.accepted import ids_of
    from gym.dao.content import fetch
    from gym.dao.stores import Folder

    ids = ids_of(entry.added for entry in checkpoint.entries)
    cids = {digest: cid_of_digest(bytes.fromhex(digest)) for digest in ids}
    texts = {cid: content.text for cid, content in fetch(cids.values(), [Folder(folder)]).contents.items()}
    return {digest: {"id": ids[digest], "cid": cid, "text": texts.get(cid)} for digest, cid in cids.items()}


def _by(proposal: str) -> str:
    from gym.dao.units import short

    return f", proposal {short(int(proposal))}" if proposal else ""
