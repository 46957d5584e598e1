"""What a command of `gym dao` works with once it runs: the community on its chain, a sender that asks, the stores."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from gym.cli.common import console, print_json
from gym.cli.dao.options import Chain, Final, Keeping, Signing
from gym.core.cid import cid_of_digest
from gym.dao.accepted import ids_of
from gym.dao.checkpoint import Checkpoint
from gym.dao.content import ContentStore
from gym.dao.deployment import Community, Deployment, checked_address, community
from gym.dao.keys import open_account
from gym.dao.library_file import provenance_path, read_provenance
from gym.dao.proposals import experience_address
from gym.dao.reading import Read, advance
from gym.dao.rpc import connect
from gym.dao.sending import Onlooker, Quote, Sender, Step
from gym.dao.stores import Folder, IpfsNode
from gym.dao.sync import read_on
from gym.errors import ConfigError, MissingExtra

try:
    from web3 import Web3
    from web3.types import TxReceipt
except ImportError as error:
    raise MissingExtra("governance", "dao") from error


@contextmanager
def opened(chain: Chain) -> Iterator[Community]:
    """The community whose contracts the deployment file names."""
    with community(rpc_of(chain), Deployment.read(chain.deployment)) as there:
        yield there


def rpc_of(chain: Chain) -> str:
    """The node's URL; raises `ConfigError` when there is none."""
    if not chain.rpc:
        raise ConfigError("no chain: give --rpc URL, or set ZOO_GYM_RPC")
    return chain.rpc


def node_of(chain: Chain) -> Web3:
    """The chain's node, for who has no contracts yet."""
    return connect(rpc_of(chain))


def sender_of(web3: Web3, signing: Signing, chain_id: int) -> Sender:
    """The account that signs; it asks before each transaction."""
    account = _onlooker(signing) or open_account(
        signing.keystore, ask=lambda question: click.prompt(question, hide_input=True, err=True)
    )
    return Sender(web3, account, chain_id=chain_id, agree=lambda quote: _agreed(quote, signing.yes), tell=_note)


def _onlooker(signing: Signing) -> Onlooker | None:
    if signing.account is None:
        return None
    if not signing.dry_run:
        raise click.UsageError("--account is for --dry-run alone: to send, give a key (--keystore FILE)")
    return Onlooker(checked_address(signing.account, "--account"))


class Outcome:
    """What a sending command did, printed once at its end: as one JSON object, or in words."""

    def __init__(self, sender: Sender, signing: Signing, *, as_json: bool) -> None:
        self._sender, self._signing, self._as_json = sender, signing, as_json

    def carry_out(self, steps: Sequence[Step]) -> TxReceipt | None:
        """Send the steps; a dry run says what they would take instead, and gives None."""
        if not self._signing.dry_run:
            return self._sender.carry_out(steps)
        self.would(self._sender.quotes(steps))
        return None

    def would(self, quotes: Sequence[Quote], **more: Any) -> None:
        """Say what transactions would take, and whether the account could pay; `more` is told in JSON too."""
        lacking = self._sender.lacking(quotes)
        if self._as_json:
            told = [quote._asdict() | {"cost": quote.cost} for quote in quotes]
            print_json({
                "dry_run": True, "account": self._sender.address, "transactions": told, "lacking": lacking, **more,
            })  # fmt: skip
            return
        for quote in quotes:
            click.echo("\n  ".join((f"would {quote}", *quote.detail)))
        if lacking is not None:
            click.echo(f"but {lacking}")
        click.echo(f"nothing was sent (account {self._sender.address})")

    def done(self, told: Mapping[str, Any], *lines: str) -> None:
        """Say what came of it."""
        if self._as_json:
            sent = [one._asdict() for one in self._sender.sent]
            print_json({"account": self._sender.address, **told, "transactions": sent})
        else:
            for line in lines:
                click.echo(line)


@contextmanager
def stores_of(keeping: Keeping) -> Iterator[tuple[ContentStore, ...]]:
    """The folder, then the IPFS nodes."""
    with ExitStack() as stack:
        nodes = [stack.enter_context(IpfsNode(url)) for url in keeping.ipfs]
        yield (Folder(keeping.content), *nodes)


def read_of(there: Community, chain: Chain, final: Final) -> Read:
    """Read the chain on to its last final block; what was taken back by a reorganisation is told."""
    read = read_on(there, final.checkpoint or checkpoint_of(chain), confirmations=final.confirmations)
    if read.taken_back:
        console.print(f"note: the chain took {read.taken_back} changes back that were read before", markup=False)
    if read.final < read.head.number:
        console.print(
            f"note: block {read.head.number} was read before, with fewer confirmations; final so far is {read.final}",
            markup=False,
        )
    return read


def checkpoint_of(chain: Chain) -> Path:
    """Where a node notes how far it read, unless told otherwise."""
    return chain.deployment.with_suffix(".checkpoint.json")


def entry_of(there: Community, name: str, chain: Chain, library: Path) -> str:
    """The address of an experience: itself, from its digest, or from its id, also of one that has left; raises `ConfigError`.

    An id is what the synced library says, else what this node has read of the chain, else what is final there now.
    """
    if not (name[:1] in "Gg" and name[1:].isdecimal()):
        return experience_address(name)
    id = f"G{int(name[1:])}"
    known = _synced_ids(there, library)
    if id not in known:
        read = Checkpoint.read(checkpoint_of(chain), there.deployment)
        known |= _ids(read)
    if id not in known:
        known |= _ids(advance(there, read).checkpoint)
    if id not in known:
        raise ConfigError(f"{name!r} is no experience that was ever accepted: `gym dao history` lists them")
    return known[id]


def _synced_ids(there: Community, library: Path) -> dict[str, str]:
    if (
        not provenance_path(library).exists()
        or (told := read_provenance(library)).registry != there.deployment.registry
    ):
        return {}
    return {source.id: source.cid for source in (*told.entries, *told.refused, *told.missing)}


def _ids(read: Checkpoint) -> dict[str, str]:
    ids = ids_of(entry.added for entry in read.entries)
    return {id: cid_of_digest(bytes.fromhex(digest)) for digest, id in ids.items()}


def _note(line: str) -> None:
    console.print(line, markup=False)


def _agreed(quote: Quote, yes: bool) -> bool:
    console.print("\n  ".join((str(quote), *quote.detail)), markup=False)
    return yes or click.confirm("Send it?", err=True)
