"""What `gym dao watch` does on the chain's side: the library synced, and drafts of removals with their figures."""

from collections.abc import Sequence
from pathlib import Path

from gym.cli.common import console
from gym.cli.dao.desk import opened, read_of, stores_of
from gym.cli.dao.library import overwrite
from gym.cli.dao.options import Chain, Final, Keeping
from gym.core.experience import Library
from gym.core.text import count
from gym.dao.drafts import Draft
from gym.dao.library_file import Provenance, require_synced
from gym.dao.motions import MAX_BATCH
from gym.dao.proposals import UNFINISHED, proposals
from gym.dao.sync import provenance, sync
from gym.evaluation.harm import Looked, Tested


def synced(library: Path, chain: Chain, keeping: Keeping, final: Final) -> tuple[Library, Provenance]:
    """The accepted library of now, also written; what is missing is told, and the rest is measured."""
    with opened(chain) as there, stores_of(keeping) as stores:
        require_synced(library, there.deployment)
        found = sync(there, read_of(there, chain, final), stores)
        told = provenance(there, found)
    for one in found.accepted.missing:
        console.print(f"missing, so not measured: {one.cid}: {one.reason}", markup=False)
    overwrite(library, found, told)
    if found.read.wait:
        console.print(f"note: {found.read.wait}", markup=False)
    return found.accepted.library, told


def leaving(chain: Chain, told: Provenance) -> frozenset[str]:
    """Ids of the library's entries whose removal is proposed already."""
    with opened(chain) as there:
        asked = {cid for one in proposals(there, UNFINISHED.__contains__) for cid in one.removed}
    return frozenset(source.id for source in told.entries if source.cid in asked)


def write_drafts(folder: Path, told: Provenance, found: Looked, tests: Sequence[Tested]) -> tuple[Path, ...]:
    """One file for each test that found harm; the files."""
    paths = []
    for test in tests:
        path = folder / f"removal-{'all' if len(test.ids) > 1 else test.ids[0]}.json"
        _draft(told, found, test).write(path)
        paths.append(path)
    return tuple(paths)


def _draft(told: Provenance, found: Looked, test: Tested) -> Draft:
    entries = tuple(source for source in told.entries if source.id in test.ids)[:MAX_BATCH]
    assert test.found.difference is not None and test.found.p_value is not None  # noqa: PT018 - it found harm
    return Draft(
        chain_id=told.chain_id,
        registry=told.registry,
        block=told.block,
        library_digest=told.library_digest,
        entries=entries,
        reason=_reason(found, test),
        difference=test.found.difference,
        interval=test.interval,
        p_value=test.found.p_value,
        p_corrected=test.p_corrected,
        problems=test.found.n_problems,
        model=found.model,
        folder=found.folder,
    )


def _reason(found: Looked, test: Tested) -> str:
    """What those who vote read: figures, and nothing of the problems themselves, nor of this node's folders."""
    low, high = (100 * end for end in test.interval)
    model = found.model.rpartition("/")[2]
    what = "the whole library" if test.whole and len(test.ids) > 1 else test.ids[0]
    if len(test.ids) > MAX_BATCH:
        what += f" ({len(test.ids)} entries, of which a proposal takes {MAX_BATCH})"
    return (
        f"{what}: mean reward {test.before:.3f} without, {test.after:.3f} with: "
        f"{100 * (test.found.difference or 0):+.1f} points [{low:+.1f}, {high:+.1f}], p = {test.found.p_value:.4f}, "
        f"{test.p_corrected:.4f} after Holm's correction for {count(len(found.tests), 'test')}; "
        f"{count(test.found.n_problems, 'problem')}, {count(found.answers, 'answer')} each, model {model}"
    )
