"""The synced library over the one of before: what a person did to that by hand is told, and kept beside it."""

from pathlib import Path

from gym.cli.common import console
from gym.dao.library_file import Provenance, set_aside, write_synced
from gym.dao.sync import Synced


def overwrite(library: Path, found: Synced, told: Provenance) -> None:
    """Write what was synced; what somebody did to the library by hand is kept beside it, and told."""
    if (copy := set_aside(library, found.accepted.library)) is not None:
        console.print(f"note: {library} was edited since the last sync; what it said is kept as {copy}", markup=False)
    for id in write_synced(library, found.accepted, told, found.at):
        console.print(f"note: {id} was added to {library} by hand and leaves it", markup=False)
