"""`gym dao sync` and `gym dao verify`: the accepted library on this node, and the proof that it is the one."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from gym.cli.common import print_json
from gym.cli.dao.options import (
    Chain,
    Final,
    Keeping,
    chain_options,
    final_options,
    json_option,
    keeping_options,
    library_option,
)
from gym.core.text import count

if TYPE_CHECKING:
    from gym.dao.content import Missing
    from gym.dao.library_file import Provenance
    from gym.dao.sync import Synced


@click.command()
@click.option("--at-block", type=click.IntRange(min=0), metavar="N", help="The library as it was at this block.")
@click.option("--no-pin", is_flag=True, help="Do not ask the IPFS nodes to keep what is active.")
@library_option
@chain_options
@keeping_options
@final_options
@click.pass_context
@json_option
def sync(
    ctx: click.Context, at_block: int | None, no_pin: bool, library: Path, chain: Chain, keeping: Keeping, final: Final,
    as_json: bool,
) -> None:  # fmt: skip
    """Write the accepted library: every entry voted in and not out again, proven, fetched, and through this node's gate.

    Events are read from final blocks alone, and on from where the last sync ended. Beside the library, provenance.json
    says of each entry its address, proposal and block. Exit code: 1 when a content is missing, or an IPFS node would not
    keep one; both are named.

    \b
      gym dao sync --ipfs http://127.0.0.1:5001
      gym dao sync --at-block 19000000 --library then.json
    """
    from gym.cli.dao.desk import opened, read_of, stores_of
    from gym.cli.dao.library import overwrite
    from gym.dao.library_file import left, require_synced
    from gym.dao.sync import pin, provenance
    from gym.dao.sync import sync as synced_at

    if at_block is not None and ctx.get_parameter_source("library") is ParameterSource.DEFAULT:
        raise click.UsageError(
            f"--at-block takes --library FILE: an old library would take the place of today's {str(library)!r}"
        )
    with opened(chain) as there, stores_of(keeping) as stores:
        require_synced(library, there.deployment)
        found = synced_at(there, read_of(there, chain, final), stores, block=at_block)
        told = provenance(there, found)
        unpinned: dict[str, tuple[Missing, ...]] = {}
        for store in () if no_pin or at_block is not None else stores[1:]:
            unpinned[store.name] = (*unpinned.get(store.name, ()), *pin(store, found, left(library, told)))
    overwrite(library, found, told)
    if as_json:
        print_json(_object(found, told, library, unpinned))
    else:
        _print(found, told, library, unpinned, keeping)
    ctx.exit(0 if found.complete and not any(unpinned.values()) else 1)


@click.command()
@library_option
@chain_options
@keeping_options
@final_options
@click.pass_context
@json_option
def verify(
    ctx: click.Context, library: Path, chain: Chain, keeping: Keeping, final: Final, as_json: bool
) -> None:  # fmt: skip
    """Check a synced library from nothing: contracts' code, events, history hash, root, contents, and the library's digest.

    Exit code: 0 all as it was, 4 something differs, 1 it cannot be known (content is missing), 2 something to check is not there.
    """
    from gym.cli.dao.desk import opened, stores_of
    from gym.dao.verification import verify as checks

    with opened(chain) as there, stores_of(keeping) as stores:
        found = [*checks(there, library, stores, confirmations=final.confirmations)]
    if as_json:
        print_json({"checks": [check._asdict() for check in found]})
    else:
        for check in found:
            click.echo(f"{check.verdict}: {check.name}: {check.said}")
    ctx.exit(max(check.exit_code for check in found))


def _object(
    found: "Synced", told: "Provenance", library: Path, unpinned: "dict[str, tuple[Missing, ...]]"
) -> dict[str, Any]:
    texts = dict(zip(found.accepted.library.ids, found.accepted.library.texts, strict=True))
    listed = [source.model_dump(mode="json") | {"text": texts[source.id]} for source in told.entries]
    missing, refused = (
        [{"id": source.id, "cid": source.cid, "reason": told.reasons[source.id]} for source in some]
        for some in (told.missing, told.refused)
    )
    return {
        "library": str(library),
        "block": told.block,
        "version": told.version,
        "root": told.root,
        "history_hash": told.history_hash,
        "digest": told.library_digest,
        "experiences": listed,
        "missing": missing,
        "refused": refused,
        "new_changes": found.read.new,
        "taken_back": found.read.taken_back,
        "waiting": found.read.waiting,
        "not_pinned": {name: [one._asdict() for one in some] for name, some in unpinned.items()},
    }


def _print(
    found: "Synced", told: "Provenance", library: Path, unpinned: "dict[str, tuple[Missing, ...]]", keeping: Keeping
) -> None:
    click.echo(
        f"{count(len(found.accepted.library), 'experience')} at block {told.block} (change {told.version}) in {library}; "
        f"digest {told.library_digest}"
    )
    for what, some in (("missing", told.missing), ("refused by this node's gate", told.refused)):
        for source in some:
            click.echo(f"{what}: {source.id} {source.cid}: {told.reasons[source.id]}")
    if told.missing:
        click.echo(
            f"what is missing: copy its file into {str(keeping.content)!r} from whoever proposed it or has synced it, or give "
            "--ipfs URL of a node that has it, and sync again"
        )
    if found.read.wait:
        click.echo(found.read.wait)
    for name, lacking in unpinned.items():
        for one in lacking:
            click.echo(f"not pinned at {name}: {one.cid}: {one.reason}")
