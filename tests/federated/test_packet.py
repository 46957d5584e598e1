"""The only way in: every packet that is not right is refused with its reason, and nothing raises."""

from collections.abc import Callable
from struct import pack as packed
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym.federated.messages import (
    Bundle,
    Gain,
    Kind,
    Measurement,
    Objection,
    Removal,
    Review,
    exact_digest,
    text_digest,
)
from gym.federated.packet import MAX_BYTES, Received, Refusal, pack, purpose, seal, unseal
from gym.federated.round import Round
from gym.signing import NodeKey, is_signed_bytes
from tests.federated.house import bundle, item, key, measured, member, round_of, sealed

ROUND = round_of(4)
GOOD = bundle(ROUND, "n01", "When adding, check the units.", "If unsure, ask again.")


def forged(fields: Any, kind: str = "bundle", node: str = "n01") -> bytes:
    """A packet of any body, signed by the node."""
    body = fields if isinstance(fields, bytes) else msgpack.packb(fields, use_bin_type=True)
    return msgpack.packb([kind, body, key(node).sign_bytes(purpose(kind), body)], use_bin_type=True)  # type: ignore[no-any-return]


def fields(**changes: Any) -> dict[str, Any]:
    """The good bundle's fields, keys in order."""
    return dict(sorted((msgpack.unpackb(pack(GOOD)) | changes).items()))


def with_item(**changes: Any) -> dict[str, Any]:
    """The good bundle, its first item changed."""
    items = fields()["items"]
    return fields(items=[dict(sorted((items[0] | changes).items())), *items[1:]])


def coded(scale: float) -> bytes:
    return item("When adding, check the units.").code[:48] + packed("<f", scale)


def nested(depth: int) -> bytes:
    return b"\x91" * depth + b"\x01"


REFUSED: dict[str, tuple[str, Callable[[], bytes]]] = {
    "nothing": ("malformed", lambda: b""),
    "rubbish": ("malformed", lambda: b"\xc1\xff\x00" * 100),
    "cut short": ("malformed", lambda: sealed(GOOD)[:-1]),
    "more behind": ("malformed", lambda: sealed(GOOD) + b"\0"),
    "nested 100,000 deep": ("malformed", lambda: nested(100_000)),
    "a body nested 1,000 deep": ("malformed", lambda: forged(nested(1000))),
    "an extension type": ("malformed", lambda: forged(b"\xd4\x01\x00")),
    "another kind": ("malformed", lambda: forged(fields(), kind="decree")),
    "an array that claims four thousand million items": ("malformed", lambda: forged(b"\xdd\xff\xff\xff\xff")),
    "a megabyte and more": ("oversized", lambda: b"\0" * (5 << 20)),
    "a bundle over its limit": ("oversized", lambda: forged(fields(model="x" * MAX_BYTES["bundle"]))),
    "a stranger": ("unknown node", lambda: forged(fields(node="eve"), node="eve")),
    "signed by another member": ("bad signature", lambda: forged(fields(), node="n02")),
    "a review's signature under a bundle": (
        "bad signature",
        lambda: msgpack.packb(["bundle", pack(GOOD), key("n01").sign_bytes(purpose("review"), pack(GOOD))]),
    ),
    "one bit of the text turned": ("bad signature", lambda: sealed(GOOD).replace(b"check", b"chdck")),
    "another round": ("other round", lambda: sealed(bundle(round_of(4, number=7), "n01", "When adding, stop."))),
    "another encoder": ("other encoder", lambda: forged(fields(encoder="mystery"))),
    "another model": ("other model", lambda: forged(fields(model="model-8b"))),
    "101 items": ("too many items", lambda: sealed_many(101)),
    "a text of 5,000 bytes": ("malformed", lambda: forged(with_item(text="a" * 5000))),
    "a text of 1,025 characters": ("too long", lambda: forged(with_item(text="a" * 1025))),
    "a text of 1,200 bytes": ("too long", lambda: forged(with_item(text="é" * 600))),
    "a text that is no UTF-8": ("malformed", lambda: forged(pack(GOOD).replace(b"check", b"ch\xffck"))),
    "NaN as scale": ("not finite", lambda: forged(with_item(code=coded(float("nan"))))),
    "infinity as scale": ("not finite", lambda: forged(with_item(code=coded(float("inf"))))),
    "NaN as confidence": ("not finite", lambda: forged(with_item(evidence=evidence(confidence=float("nan"))))),
    "a scale a million times too large": ("bad code", lambda: forged(with_item(code=coded(0.04e6)))),
    "a negative scale": ("bad code", lambda: forged(with_item(code=coded(-0.04)))),
    "a code of 51 bytes": ("bad code", lambda: forged(with_item(code=coded(0.04)[:51]))),
    "a confidence of 2": ("malformed", lambda: forged(with_item(evidence=evidence(confidence=2.0)))),
    "a field too many": ("malformed", lambda: forged(fields(note="hello"))),
    "a field too few": ("malformed", lambda: forged({name: value for name, value in fields().items() if name != "model"})),
    "a whole number for a text": ("malformed", lambda: forged(with_item(text=5))),
    "keys in another order": ("not canonical", lambda: forged(dict(reversed(fields().items())))),
    "a whole number for a float": ("not canonical", lambda: forged(with_item(evidence=evidence(confidence=1)))),
    "a longer form of a number": ("not canonical", lambda: forged(pack(GOOD).replace(b"\xa4uses\x00", b"\xa4uses\xcc\x00"))),
    "a key twice": ("not canonical", lambda: forged(pack(GOOD).replace(b"\x85", b"\x86", 1) + b"\xa4node\xa3n01")),
    "a text twice": ("repeated text", lambda: sealed(bundle(ROUND, "n01", "When adding, stop.", "When adding, STOP!"))),
    "a text measured twice": ("repeated text", lambda: forged(gains() | {"gains": 2 * gains()["gains"]}, kind="measurement")),
    "a gain of infinity": ("not finite", lambda: forged(gains(mean=float("inf")), kind="measurement")),
    "a gain of NaN": ("not finite", lambda: forged(gains(mean=float("nan")), kind="measurement")),
    "a gain of 3": ("malformed", lambda: forged(gains(mean=3.0), kind="measurement")),
}  # fmt: skip


def sealed_many(items: int) -> bytes:
    one = fields()["items"][0]
    return forged(fields(items=[one | {"text": f"When {n} comes, go."} for n in range(items)]))


def evidence(**changes: Any) -> dict[str, Any]:
    return dict(sorted((fields()["items"][0]["evidence"] | changes).items()))


def gains(**changes: Any) -> dict[str, Any]:
    gain = {"error": 0.1, "mean": 0.1, "problems": 5, "text": "0" * 64} | changes
    return {"gains": [gain], "node": "n01", "round": ROUND.digest}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    reason, made = REFUSED[name]
    refusal = unseal(made(), ROUND)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == reason, refusal.detail
    assert refusal.detail


def test_the_same_message_has_the_same_bytes_and_address_everywhere() -> None:
    round = Round(number=1, members=(member("n00"),), encoder="topical")
    told = Review(round=round.digest, node="n00", objections=(Objection(sender="é", text="ab" * 32, reason="no"),))
    assert round.digest == "99e7ec583f4dc205aa1fc4d6554c0ef4fc86fab17d83bf5b2a3bb99c43a8edf1"
    written_by_hand = [
        "83",  # a map of three, its keys in order
        "a4" + b"node".hex() + "a3" + b"n00".hex(),
        "aa" + b"objections".hex() + "9183",
        "a6" + b"reason".hex() + "a2" + b"no".hex(),
        "a6" + b"sender".hex() + "a2c3a9",
        "a4" + b"text".hex() + "d940" + b"ab".hex() * 32,
        "a5" + b"round".hex() + "d940" + round.digest.encode().hex(),
    ]
    assert pack(told).hex() == "".join(written_by_hand)
    received = unseal(sealed(told), round)
    assert isinstance(received, Received)
    assert received.cid == "bafkreiew5cxb6uytcobsoitk2pyrt7oklhdvrlfaqrorkhfs7olai3a5si"


@pytest.mark.parametrize(
    "message",
    [
        GOOD,
        bundle(ROUND, "n02"),
        Review(round=ROUND.digest, node="n03"),
        measured(ROUND, "n00", {"When adding, stop.": -0.25, "If late, call.": 0.5}),
        Removal(round=ROUND.digest, node="n01", texts=(text_digest("When adding, stop."),)),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_is_right_comes_out_as_it_went_in(message: Any) -> None:
    received = unseal(seal(message, key(message.node)), ROUND)
    assert isinstance(received, Received)
    assert received.message == message
    assert type(message).model_validate_json(message.model_dump_json()) == message


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@settings(max_examples=50)
@given(st.lists(words, max_size=5, unique_by=text_digest), st.floats(0, 1), st.integers(0, 2**53))
def test_any_bundle_round_trips_to_the_same_bytes(texts: list[str], confidence: float, uses: int) -> None:
    one = item("x")
    told = one.evidence.model_copy(update={"confidence": confidence, "uses": uses})
    items = tuple(one.model_copy(update={"text": text, "evidence": told}) for text in texts)
    made = Bundle(round=ROUND.digest, node="n01", encoder=ROUND.encoder, model="model-7b", items=items)
    received = unseal(sealed(made), ROUND)
    assert isinstance(received, Received)
    assert received.message == made
    assert pack(received.message) == pack(made)


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_and_nothing_raises(rubbish: bytes) -> None:
    assert isinstance(unseal(rubbish, ROUND), Refusal)
    assert isinstance(unseal(forged(rubbish), ROUND), Refusal)


@settings(max_examples=200)
@given(st.data())
def test_one_changed_byte_never_passes(data: st.DataObject) -> None:
    good = bytearray(sealed(measured(ROUND, "n01", {"When adding, stop.": 0.1})))
    place = data.draw(st.integers(0, len(good) - 1))
    good[place] ^= data.draw(st.integers(1, 255))
    assert isinstance(unseal(bytes(good), ROUND), Refusal)


def test_a_signature_counts_for_its_kind_and_its_key_alone() -> None:
    kinds: tuple[Kind, ...] = ("bundle", "review", "measurement", "removal")
    mine, other = NodeKey.drawn(b"1" * 32), NodeKey.drawn()
    signature = mine.sign_bytes(purpose("bundle"), b"body")
    counts = [is_signed_bytes(mine.public, purpose(kind), b"body", signature) for kind in kinds]
    assert counts == [True] + 3 * [False]
    assert not is_signed_bytes(other.public, purpose("bundle"), b"body", signature)
    assert not is_signed_bytes(mine.public, purpose("bundle"), b"body!", signature)


def test_every_limit_is_one_that_an_honest_node_keeps() -> None:
    texts = [" ".join(f"word{n}x{k}" for k in range(31)) + "." for n in range(100)]
    full = sealed(bundle(ROUND, "n01", *texts))
    assert isinstance(unseal(full, ROUND), Received)
    assert len(full) < MAX_BYTES["bundle"]
    told = tuple(Gain(text=exact_digest(text), mean=0.1, error=0.1, problems=9) for text in texts * 100)
    assert len(pack(Measurement(round=ROUND.digest, node="n01", gains=told))) < MAX_BYTES["measurement"]


def test_a_round_with_a_member_twice_is_none() -> None:
    with pytest.raises(ValueError, match="two votes"):
        Round(number=0, members=(member("a"), member("a")), encoder="x")
