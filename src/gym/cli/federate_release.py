"""`gym federate preview`: what may leave a node, shown to its owner before it does."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import click

from gym.cli.common import console, json_option, print_json
from gym.core.confidence import PRIOR
from gym.core.experience import Library
from gym.core.text import count
from gym.federated.homes import NodeHome
from gym.federated.redaction import Consent, Preview
from gym.federated.redaction import preview as previewed
from gym.federated.team import TEAM


@click.command()
@click.argument("node", type=click.Path(path_type=Path))
@click.argument("library", type=click.Path(path_type=Path))
@click.option(
    "--domain", "domains", multiple=True, help="Opted in, as LIBRARY names it; experiences without one: --domain ''."
)
@click.option("--as", "label", metavar="DOMAIN", help="What they leave under, whatever LIBRARY calls their domain.")
@click.option(
    "--name", "names", multiple=True, help="A word to take out wherever it stands: a person, a customer, a project."
)
@click.option(
    "--min-confidence", type=click.FloatRange(0, 1), default=0.7, show_default=True, help="Of what may leave."
)
@click.option("--release", is_flag=True, help="Let go just what is shown, in every round from now on.")
@json_option
def preview(
    node: Path,
    library: Path,
    domains: tuple[str, ...],
    label: str | None,
    names: tuple[str, ...],
    min_confidence: float,
    release: bool,
    as_json: bool,
) -> None:
    """Show what of LIBRARY would leave the node in folder NODE: redacted, of the domains that are opted in.

    Nothing leaves that was not shown here and released. A new release takes the place of the last one. A library that
    gym train made of a data file has the domain jsonl, one that was written by hand has none: --as names it for the team.

    \b
      gym federate preview mine experiences.json --domain jsonl --as support --name Acme
      gym federate preview mine experiences.json --domain jsonl --as support --name Acme --release
    """
    from gym.train.grpo.experience_manager import read_library

    home, entries = NodeHome.open(node), read_library(library)
    consent = Consent(domains=frozenset(domains), names=names, min_confidence=min_confidence, label=label)
    address, seen = home.card.member.address, previewed(entries, consent)
    if not as_json:
        _show(seen)
        for hint in _hints(home, entries, seen, consent):
            console.print(hint, markup=False)
    if release:
        home.release(entries, consent)
    if as_json:
        print_json({"node": address, "released": release, **seen.model_dump(mode="json")})
        return
    told = (
        f"{count(len(seen.sent), 'experience')} of {len(seen.rows)} {'leave' if release else 'would leave'} {address}"
    )
    then = f", from the next round on: gym federate node {node} CONFIG --server HOST:PORT" if release else ": --release"
    console.print(told + (then if seen.sent else ""), markup=False)


def _show(seen: Preview) -> None:
    from gym.cli.tables import literal, out

    for row in seen.rows:
        if row.sent is None:
            out.print(f"stays    {row.id}: {literal(row.reason)}", markup=False)
        else:
            found = f"  (taken out: {', '.join(row.found)})" if row.found else ""
            out.print(f"leaves   {row.id}: {literal(row.sent)}{found}", markup=False)


def _hints(home: NodeHome, library: Library, seen: Preview, consent: Consent) -> Iterator[str]:
    """What to give so that more may leave, and of use."""
    left = Counter(entry.domain for entry in library if entry.domain not in consent.domains)
    if left:
        told = ", ".join(f"{quote(domain)} ({times})" for domain, times in sorted(left.items()))
        yield f"domains of the library that are not opted in: {told}: --domain " + " --domain ".join(
            map(quote, sorted(left))
        )
    low = [entry for entry in library if entry.domain in consent.domains and entry.confidence < consent.min_confidence]
    if low:
        most = max(entry.confidence for entry in low)
        yield (
            f"{count(len(low), 'experience')} below --min-confidence {consent.min_confidence:g}, {most:.2f} at most: "
            f"one that was written by hand has {PRIOR:.2f} until it was used"
        )
    alone = not (home.path / TEAM).exists()
    members = (home.card.member,) if alone else home.team.members
    for domain in sorted({row.domain for row in seen.sent}):
        if not any(member.measures(domain) for member in members):
            known = ", ".join(sorted({name for member in members for name in member.domains}))
            who = "this node does not have" if alone else "no member has"
            then = "somebody else must measure it" if alone else "nobody can measure it"
            yield f"{who} problems of the domain {quote(domain)}, so {then}: --as one of {known}"
