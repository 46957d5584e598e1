"""`gym dao propose`: an experience's way in, alone, with others, or in another's place."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gym.cli.dao.options import (
    Chain,
    Keeping,
    Signing,
    chain_options,
    json_option,
    keeping_options,
    library_option,
    require_of_use,
    signing_options,
)
from gym.errors import ConfigError

if TYPE_CHECKING:
    from gym.cli.dao.desk import Outcome
    from gym.dao.content import Content
    from gym.dao.deployment import Community
    from gym.dao.sending import Step

reason_option = click.option(
    "--reason", default="", metavar="TEXT", help="Why, for those who vote; at most 4096 bytes."
)


@click.command()
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--from", "source", type=click.Path(path_type=Path), metavar="LIBRARY",
              help="Propose what this library has and nobody proposed before.")  # fmt: skip
@click.option("--domain", default="", metavar="NAME", help="What the experiences are about.")
@click.option("--replaces", metavar="ENTRY", help="Propose that the one TEXT takes this entry's place.")
@click.option("--guardian", metavar="ADDRESS", help="Propose a guardian instead; `none` for none.")
@click.option(
    "--days", type=click.IntRange(1, 350), default=180, show_default=True, metavar="N", help="Of the guardian."
)
@reason_option
@library_option
@chain_options
@keeping_options
@signing_options
@json_option
def propose(
    texts: tuple[str, ...], source: Path | None, domain: str, replaces: str | None, guardian: str | None, days: int,
    reason: str, library: Path, chain: Chain, keeping: Keeping, signing: Signing, as_json: bool,
) -> None:  # fmt: skip
    """Propose experiences, one or up to 100 together, or a replacement, or a guardian.

    The contents are kept where --content and --ipfs say, and only their digests go to the chain. An ENTRY is an address
    (CID), a digest, or an id of the synced library.

    \b
      gym dao propose "When a sum is long, split it." --domain math --keystore me.json
      gym dao propose --from output/mine --ipfs http://127.0.0.1:5001
      gym dao propose "When a sum is long, split it in two." --replaces G3 --reason "clearer"
    """
    from gym.cli.dao.desk import Outcome, entry_of, opened, sender_of, stores_of
    from gym.dao import motions

    if (guardian is not None) == bool(texts or source):
        both = guardian is not None
        raise click.UsageError(
            f"give a TEXT, or --from LIBRARY, or --guardian ADDRESS{', not several' if both else ''}"
        )
    if replaces and (len(texts) != 1 or source):
        raise click.UsageError("--replaces takes one TEXT")
    require_of_use("days", guardian is not None, "takes --guardian ADDRESS")
    require_of_use("domain", guardian is None, "is of experiences, not of a guardian")
    with opened(chain) as there, stores_of(keeping) as stores:
        sender = sender_of(there.web3, signing, there.deployment.chain_id)
        contents = _contents(there, texts, source, domain)
        if guardian is not None:
            steps = motions.guardianship(there, sender.address, *_guardian(there, guardian, days), reason)
        elif replaces:
            steps = motions.replacement(
                there, sender.address, entry_of(there, replaces, chain, library), contents[0].cid, reason
            )
        else:
            steps = motions.addition(there, sender.address, [content.cid for content in contents], reason)
        planned = [*steps]
        if not signing.dry_run:
            for store in stores:
                for content in contents:
                    store.put(content.data)
        kept = tuple(store.name for store in stores)
        send_proposal(there, Outcome(sender, signing, as_json=as_json), planned, contents, reason=reason, kept=kept)


def _contents(there: "Community", texts: tuple[str, ...], source: Path | None, domain: str) -> "tuple[Content, ...]":
    """What is to be proposed, each through the proposer's own gate: who refuses it would be asked to vote for it."""
    from gym.dao.content import Content
    from gym.dao.network import proposed
    from gym.dao.sync import gate, require_admitted

    contents = [Content.of(text, domain=domain) for text in texts]
    if source is not None:
        from gym.train.grpo.experience_manager import read_library

        known, read = proposed(there), read_library(source)
        found = [Content.of(entry.text, domain=domain or entry.domain) for entry in read]
        contents += [content for content in found if content.cid not in known]
        if not found:
            raise ConfigError(f"{str(source)!r} holds no experience")
        if not contents:
            raise ConfigError(f"all {len(found)} experiences of {str(source)!r} were proposed before")
    require_admitted(contents, gate())
    return tuple(contents)


def _guardian(there: "Community", address: str, days: int) -> tuple[str, int]:
    from gym.dao.contracts import NOBODY
    from gym.dao.deployment import checked_address

    if address == "none":
        return NOBODY, 0
    return checked_address(address, "the guardian"), there.now() + days * 86_400


def send_proposal(
    there: "Community", outcome: "Outcome", steps: "list[Step]", contents: "tuple[Content, ...]", *,
    lines: tuple[str, ...] = (), reason: str = "", kept: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Make a proposal; before, say what it is about (`lines`) and why, and then its number and what happens next."""
    from gym.cli.dao.texts import change, why
    from gym.dao.motions import proposal_of
    from gym.dao.proposals import read
    from gym.dao.units import moment, short

    texts = {content.cid: content.text for content in contents}
    detail = (*change(texts, (), texts), *lines, *why(reason))
    receipt = outcome.carry_out([*steps[:-1], steps[-1]._replace(detail=detail)])
    if receipt is None:
        return
    made = read(there, proposal_of(there, receipt))
    told = {
        "proposal": str(made.id),
        "kind": made.kind,
        "experiences": [{"cid": content.cid, "text": content.text, "domain": content.domain} for content in contents],
        "opens": made.opens,
        "ends": made.ends,
    }
    outcome.done(
        told,
        *(f"{content.cid}  {content.text}" for content in contents),
        f"proposal {short(made.id)}: votes from {moment(made.opens)} to {moment(made.ends)}",
        *_to_hand_on(texts, kept),
    )


def _to_hand_on(cids: Collection[str], kept: tuple[str, ...]) -> Iterator[str]:
    """The chain holds digests alone: who votes and who syncs needs the texts too."""
    if not cids:
        return
    folder, *nodes = kept
    if nodes:
        yield f"the text{'s' * (len(cids) > 1)} can be had from {', '.join(nodes)}, and from the folder {folder!r}"
    else:
        files = "the file" if len(cids) == 1 else f"the {len(cids)} files"
        yield f"hand on {files} in {folder!r} (or give --ipfs): the chain has digests alone, and voters need the text"
