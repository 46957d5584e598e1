"""The utility gate: what a text does on the nodes' own problems decides, nothing else (docs/federation.md).

A text passes when at least two thirds of the nodes that can measure it found it to help, at least f + 1 of them (so
that one is honest), and no more than f of the others found it to harm. Who is silent has not found it to help. Liars
can delay a good text, and to bring in a bad one need honest nodes whose measurements err.
"""

from collections.abc import Mapping
from math import hypot
from random import Random
from typing import Literal

from gym.core.text import count
from gym.core.value import Value
from gym.federated.messages import Gain
from gym.federated.round import Round, tolerated, two_thirds

Verdict = Literal["accepted", "refused", "open"]


class Utility(Value):
    """One node's figure for a text, as it signed it."""

    node: str
    mean: float
    error: float
    problems: int
    says: Literal["helps", "harms", "unclear"]
    votes: bool = True
    """Whether it can measure the text's domain; who cannot may still object to harm."""


class Ruling(Value):
    """What the gate says of a text."""

    verdict: Verdict
    reason: str
    utilities: tuple[Utility, ...] = ()
    """In the order of the members."""


def rule(round: Round, domain: str, gains: Mapping[str, Gain]) -> Ruling:
    """Whether a text of this domain passes, by the gains that members signed.

    Open as long as it could pass and no more than n - f of those who can measure it have: the rest may be dead.
    """
    electors = {member.address for member in round.electors(domain)}
    utilities = tuple(
        _utility(member.address, gains[member.address], round.standard_errors, votes=member.address in electors)
        for member in round.members
        if member.address in gains
    )
    n, f = len(electors), round.f
    helped = sum(each.votes and each.says == "helps" for each in utilities)
    harmed = sum(not each.votes and each.says == "harms" for each in utilities)
    measured = sum(each.votes for each in utilities)
    needed = max(two_thirds(n), f + 1)
    figures = f"helps {helped} of {count(n, 'node')}, {needed} needed"
    if harmed > f:
        return Ruling(
            verdict="refused", reason=f"harms {harmed} nodes of other domains, {f} may err", utilities=utilities
        )
    if helped >= needed:
        return Ruling(verdict="accepted", reason=figures, utilities=utilities)
    if helped + n - measured < needed:
        return Ruling(verdict="refused", reason=figures, utilities=utilities)
    if measured >= n - tolerated(n):
        return Ruling(verdict="refused", reason=f"{figures}, {n - measured} silent", utilities=utilities)
    return Ruling(verdict="open", reason=f"{figures}, measured by {measured}", utilities=utilities)


def _utility(node: str, gain: Gain, standard_errors: float, *, votes: bool) -> Utility:
    least = standard_errors * gain.error
    says: Literal["helps", "harms", "unclear"] = (
        "helps" if gain.mean > least else "harms" if gain.mean < -least else "unclear"
    )
    return Utility(node=node, mean=gain.mean, error=gain.error, problems=gain.problems, says=says, votes=votes)


def blurred(gain: Gain, *, clip: float, noise: float, luck: Random) -> Gain:
    """The gain as a node may send it: the mean clipped to [-clip, clip], then Gaussian noise of that standard deviation.

    The error grows by the noise, so that the rule stays what it is. That is all it promises.
    """
    mean = max(-clip, min(clip, gain.mean)) + luck.gauss(0.0, noise)
    return gain.model_copy(update={"mean": max(-1.0, min(1.0, mean)), "error": hypot(gain.error, noise)})
