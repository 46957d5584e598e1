"""The library of any block, rebuilt from events alone and compared with what the contract held then (SPEC 7.3)."""

from typing import Any

import pytest

from gym.dao.artifacts import artifact
from gym.dao.history import Past, beginning, merkle_root, replay
from gym.dao.rehearsal import DAY, FOR, QUARANTINE, digest_of
from gym.errors import HistoryMismatch

DIGESTS = sorted(digest_of(str(number)) for number in range(9))
EVERYONE = dict.fromkeys(range(5), FOR)


@pytest.fixture
def lived(community: Any) -> Any:
    """A library with a past: accepted, disabled, reinstated, removed, replaced, accepted again."""
    governor, registry = community.contracts.governor.functions, community.contracts.registry.functions
    community.accept(*DIGESTS[:7])
    community.send(registry.disable(DIGESTS[2]), community.guardian)
    community.send(registry.disable(DIGESTS[4]), community.guardian)
    removal = community.opened(governor.proposeBatch([DIGESTS[7]], sorted([DIGESTS[0], DIGESTS[4]]), ""))
    community.decide(removal, EVERYONE)
    community.finalize(removal)
    community.node.travel(QUARANTINE)
    community.send(registry.reinstate(DIGESTS[2]), community.stranger)
    replacement = community.opened(governor.proposeReplacement(DIGESTS[6], DIGESTS[8], ""))
    community.decide(replacement, EVERYONE)
    community.finalize(replacement)
    community.accept(DIGESTS[0])
    return community


def start(community: Any) -> Past:
    return beginning(31_337, community.contracts.registry.address)


def test_any_past_library_is_rebuilt_from_events_alone(lived: Any) -> None:
    registry, last = lived.contracts.registry.functions, lived.node.web3.eth.block_number
    changed = [change.block for change in lived.changes()]
    assert len(changed) == 7
    for block in sorted({*changed, *(block - 1 for block in changed), last}):
        past = replay(start(lived), lived.changes(block))
        assert past.active == lived.active(block)
        for name, found in (("root", past.root), ("historyHash", past.history_hash), ("version", past.version)):
            assert registry[name]().call(block_identifier=block) == found, (name, block)


def test_a_replay_goes_on_from_a_checkpoint(lived: Any) -> None:
    changes = lived.changes()
    half = replay(start(lived), changes[:3])
    assert replay(half, changes[3:]) == replay(start(lived), changes)


def test_a_node_that_hides_adds_reorders_or_alters_an_event_is_caught(lived: Any) -> None:
    changes = lived.changes()
    forged = changes[2]._replace(added=(*changes[2].added, digest_of("poison")))
    told = {
        "hidden": [*changes[:2], *changes[3:]],
        "repeated": [*changes[:2], changes[1], *changes[2:]],
        "reordered": [changes[1], changes[0], *changes[2:]],
        "altered": [*changes[:2], forged, *changes[3:]],
        "another cause": [changes[0]._replace(cause=1), *changes[1:]],
    }
    for lie in told.values():
        with pytest.raises(HistoryMismatch, match="change "):
            replay(start(lived), lie)


def test_another_chains_history_does_not_pass_for_this_one(lived: Any) -> None:
    for chain, registry in ((1, lived.contracts.registry.address), (31_337, lived.contracts.governor.address)):
        with pytest.raises(HistoryMismatch, match="change 1 "):
            replay(beginning(chain, registry), lived.changes())


@pytest.mark.parametrize(
    ("digests", "root"),
    [
        ((), "00" * 32),
        ((bytes(32),), "510e4e770828ddbf7f7b00ab00a9f6adaf81c0dc9cc85f1f8249c256942d61d9"),
    ],
)
def test_the_root_of_few(digests: tuple[bytes, ...], root: str) -> None:
    assert merkle_root(digests).hex() == root


def test_the_code_on_the_chain_is_the_code_of_the_package(community: Any) -> None:
    names = ("GymToken", "GymStaking", "GymGovernor", "ExperienceRegistry")
    for name, contract in zip(names, community.contracts, strict=True):
        code = bytes(community.node.web3.eth.get_code(contract.address))
        assert artifact(name).matches(code)
        assert not artifact(name).matches(code[:-1] + bytes([code[-1] ^ 1]))
        assert len(code) <= 24_576  # what a chain takes


def test_a_day_without_a_change_leaves_the_library_alone(lived: Any) -> None:
    before = lived.active()
    lived.node.travel(400 * DAY)
    assert lived.active() == before
