"""What an address stands for, as far as this node has the text: a vote is on a digest, and people vote on sentences."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from gym.cli.dao.desk import stores_of
from gym.cli.dao.options import Keeping
from gym.dao.content import fetch
from gym.dao.proposals import Proposal
from gym.dao.units import moment

ABSENT = "(the text is not here: see --content and --ipfs)"
PATIENCE_S = 10.0
"""An IPFS node that lacks a text looks for it elsewhere, each time for long; then the rest is left out."""


def texts_of(
    keeping: Keeping, cids: Iterable[str], *, clock: Callable[[], float] = time.monotonic
) -> Mapping[str, str]:
    """By address, every text that the folder has, or an IPFS node gives soon."""
    deadline = clock() + PATIENCE_S
    with stores_of(keeping) as stores:
        found = fetch(cids, stores[:1])
        texts = {cid: content.text for cid, content in found.contents.items()}
        for absent in found.missing if len(stores) > 1 else ():
            if clock() > deadline:
                break
            texts |= {cid: content.text for cid, content in fetch([absent.cid], stores).contents.items()}
    return texts


def change(added: Iterable[str], removed: Iterable[str], texts: Mapping[str, str]) -> Iterator[str]:
    """One line for each experience that comes or leaves."""
    for sign, cids in (("+", added), ("-", removed)):
        for cid in cids:
            yield f"{sign} {cid}  {texts.get(cid, ABSENT)}"


def about(one: Proposal, texts: Mapping[str, str]) -> Iterator[str]:
    """What a proposal would do, and why, line by line."""
    yield from change(one.added, one.removed, texts)
    if one.kind == "guardian":
        yield f"guardian {one.guardian} until {moment(one.guardian_until)}"
    yield from why(one.reason)


def why(reason: str) -> Iterator[str]:
    """A reason that others wrote, if there is one."""
    if reason:
        yield f"reason: {reason if reason.isprintable() else repr(reason)}"
