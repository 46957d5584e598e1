"""What a community chose once: said before its contracts are made, and read from them ever after."""

from collections.abc import Iterator

from gym.dao.contracts import NOBODY, UNOWNED, Contracts, Settings
from gym.dao.units import Units, moment


def rules(contracts: Contracts) -> Settings:
    """As the contracts have them; the guardian is the one of now."""
    ask, registry = contracts.governor.functions, contracts.registry.functions
    return Settings(
        threshold=ask.proposalThreshold().call(),
        bond=ask.bond().call(),
        quorum_percent=ask.quorumNumerator().call(),
        treasury=ask.treasury().call(),
        guardian=registry.guardian().call(),
        guardian_until=registry.guardianUntil().call(),
    )


def rules_object(settings: Settings) -> dict[str, str | int]:
    """For JSON: amounts as text, as they are larger than what its readers keep exactly."""
    return settings._asdict() | {"threshold": str(settings.threshold), "bond": str(settings.bond)}


def in_words(settings: Settings, units: Units) -> Iterator[str]:
    """Line by line.

    >>> [*in_words(Settings(), Units())][2]
    'refused bonds go to nobody, for ever (0x000000000000000000000000000000000000dEaD)'
    """
    yield f"a proposer needs {units.told(settings.threshold)} staked, and pays a bond of {units.told(settings.bond)}"
    yield f"a quorum is {settings.quorum_percent} % of the stake, and two thirds accept"
    nobody = "nobody, for ever " if settings.treasury == UNOWNED else ""
    yield f"refused bonds go to {nobody}{f'({settings.treasury})' if nobody else settings.treasury}"
    if settings.guardian == NOBODY:
        yield "there is no guardian"
    else:
        yield f"guardian {settings.guardian} until {moment(settings.guardian_until)}"
