"""Replays, latecomers and double talk are found from what is known, in whatever order packets come."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym.federated.inbox import MOST_MESSAGES, Equivocation, Inbox, collect, is_proven
from gym.federated.messages import Bundle, Objection, Review
from gym.federated.packet import Refusal, seal
from tests.federated.house import bundle, key, measured, round_of, sealed

ROUND = round_of(4)
ONE, OTHER = (sealed(bundle(ROUND, "n01", text)) for text in ("When adding, check.", "When adding, guess."))


def received(*packets: bytes, inbox: Inbox | None = None) -> tuple[Inbox, list[Refusal | None]]:
    inbox, refusals = inbox or Inbox(ROUND), list[Refusal | None]()
    for packet in packets:
        inbox, refusal = inbox.receive(packet)
        refusals.append(refusal)
    return inbox, refusals


def reasons(*packets: bytes, inbox: Inbox | None = None) -> list[str | None]:
    return [refusal.reason if refusal else None for refusal in received(*packets, inbox=inbox)[1]]


def test_a_packet_that_comes_again_is_a_replay() -> None:
    assert reasons(ONE, ONE) == [None, "replayed"]


def test_a_packet_of_an_earlier_round_does_not_fit() -> None:
    old = sealed(bundle(round_of(4, number=9), "n01", "When adding, check."))
    assert reasons(old) == ["other round"]


def test_what_comes_after_the_end_is_late() -> None:
    closed = Inbox(ROUND, open=frozenset({"review", "measurement"}))
    assert reasons(ONE, sealed(Review(round=ROUND.digest, node="n01")), inbox=closed) == ["late", None]


def test_two_bundles_of_one_node_are_a_proof_and_count_for_nothing() -> None:
    review = sealed(Review(round=ROUND.digest, node="n01"))
    inbox, refusals = received(review, ONE, OTHER, ONE)
    assert [refusal and refusal.reason for refusal in refusals] == [None, None, "equivocation", "equivocation"]
    assert "n01" not in inbox.messages
    proof = inbox.equivocations["n01"]
    assert is_proven(proof, ROUND)


def test_double_talk_shows_even_when_the_second_comes_late() -> None:
    inbox, _ = received(ONE)
    assert reasons(OTHER, inbox=replace(inbox, open=frozenset())) == ["equivocation"]


def test_a_node_that_sends_without_end_is_cut_off() -> None:
    flood = [sealed(measured(ROUND, "n01", {f"When {n} comes, go.": 0.1})) for n in range(MOST_MESSAGES + 2)]
    assert reasons(*flood) == MOST_MESSAGES * [None] + 2 * ["too many messages"]
    assert reasons(*flood, ONE, sealed(bundle(ROUND, "n02", "When late, call.")))[-2:] == ["too many messages", None]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ONE, ONE),
        (ONE, sealed(Review(round=ROUND.digest, node="n01"))),
        (ONE, sealed(bundle(ROUND, "n02", "When adding, guess."))),
        (ONE, b"rubbish"),
        (ONE, seal(bundle(ROUND, "n01", "When adding, guess."), key("n02"))),
        (sealed(measured(ROUND, "n01", {"A, b": 0.1})), sealed(measured(ROUND, "n01", {"C, d": 0.1}))),
        (sealed(measured(ROUND, "n01", {"A, b": 0.1})), sealed(measured(ROUND, "n01", {"A, b": 0.1, "C, d": 0.1}))),
    ],
)
def test_what_proves_nothing(first: bytes, second: bytes) -> None:
    assert not is_proven(Equivocation("n01", first, second), ROUND)
    assert "equivocation" not in reasons(first, second)


def test_minus_zero_makes_another_bundle() -> None:
    told = bundle(ROUND, "n01", "When adding, check.").model_dump()
    told["items"][0]["evidence"]["confidence"] = 0.0
    first = Bundle.model_validate(told)
    told["items"][0]["evidence"]["confidence"] = -0.0
    second = Bundle.model_validate(told)
    assert first == second
    assert reasons(sealed(first), sealed(second)) == [None, "equivocation"]


def test_two_gains_for_one_text_and_two_reviews_are_double_talk() -> None:
    objecting = Review(
        round=ROUND.digest, node="n01", objections=(Objection(sender="n00", text="0" * 64, reason="no"),)
    )
    for first, second in (
        (measured(ROUND, "n01", {"A, b": 0.1}), measured(ROUND, "n01", {"A, b": 0.2, "C, d": 0.1})),
        (Review(round=ROUND.digest, node="n01"), objecting),
    ):
        assert reasons(sealed(first), sealed(second)) == [None, "equivocation"]


PACKETS = [
    ONE, OTHER, ONE, b"rubbish",
    *(sealed(bundle(ROUND, node, "When late, call.")) for node in ("n00", "n02")),
    sealed(measured(ROUND, "n00", {"When late, call.": 0.1})),
    sealed(measured(ROUND, "n02", {"When late, call.": 0.1})),
    sealed(measured(ROUND, "n02", {"When late, call.": -0.1})),
]  # fmt: skip


@settings(max_examples=30)
@given(st.permutations(PACKETS))
def test_what_is_left_does_not_depend_on_the_order(packets: list[bytes]) -> None:
    found = collect(ROUND, packets)
    assert found == collect(ROUND, PACKETS)
    assert [proof.node for proof in found.equivocations] == ["n01", "n02"]
    assert [one.message.node for one in found.messages] == ["n00", "n00"]
