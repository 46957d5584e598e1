"""Signed messages as canonical bytes, and the only way in: what does not fit is refused with a reason, never raised.

A packet is msgpack `[kind, body, signature]`. The body is msgpack of the message with sorted keys, shortest integers
and float64, and no other bytes mean the same message: what does not come out the same when packed again is refused.
Ed25519 signs `zoo-gym federated/v1/KIND`, a line break and the body (`gym.signing`). A message's address is the CID of
its body, since a signer can sign the same body in several ways. msgpack has limits on every size built in, which is why
it is not CBOR.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from gym.core.cid import cid
from gym.core.value import Value
from gym.errors import MissingExtra
from gym.federated import bitdelta
from gym.federated.messages import KINDS, MAX_TEXT_BYTES, Bundle, Kind, Measurement, Message, text_digest
from gym.federated.round import Round
from gym.signing import SIGNATURE_BYTES, NodeKey, is_signed_bytes

MAX_BYTES: Mapping[Kind, int] = {
    "bundle": 128 * 1024, "review": 4 << 20, "measurement": 4 << 20, "removal": 2 << 20, "confirmation": 1024
}  # fmt: skip
"""Of a body. A full bundle of ordinary sentences takes 25 KB; one of 128 KiB is still one block of IPFS."""

Reason = Literal[
    "oversized", "malformed", "not canonical", "unknown node", "bad signature", "other round", "other encoder",
    "other model", "too many items", "too long", "not finite", "bad code", "repeated text",
    "replayed", "late", "equivocation", "too many messages",
]  # fmt: skip
_OF_PYDANTIC: Mapping[str, Reason] = {
    "too_long": "too many items", "string_too_long": "too long", "bytes_too_long": "bad code", "bytes_too_short": "bad code",
    "finite_number": "not finite",
}  # fmt: skip


class Refusal(Value):
    """Why a packet was not taken."""

    reason: Reason
    detail: str
    node: str = ""
    """Who is said to have sent it; proven only for reasons beyond a bad signature."""
    cid: str = ""


class Received(NamedTuple):
    """A message whose sender is proven, and which fits its round."""

    kind: Kind
    message: Message
    cid: str
    packet: bytes


def pack(message: Message) -> bytes:
    """The canonical body of a message."""
    return packed(message.model_dump(mode="python"))


def seal(message: Message, key: NodeKey) -> bytes:
    """The packet of a message, signed with its node's private key."""
    kind = kind_of(message)
    body = pack(message)
    return packed([kind, body, key.sign_bytes(purpose(kind), body)])


def purpose(kind: str) -> str:
    """What a message of this kind is signed for."""
    return f"federated/v1/{kind}"


def kind_of(message: Message) -> Kind:
    """What a message is signed as."""
    return next(kind for kind, value in KINDS.items() if isinstance(message, value))


def kind_of_packet(packet: bytes) -> str:
    """What a packet says it is; empty for no packet."""
    match unpacked(packet):
        case (str() as said, bytes(), bytes()):
            return said
        case _:
            return ""


def unseal(packet: bytes, round: Round) -> Received | Refusal:
    """The message in a packet, when all of it is right for the round.

    Checked in this order: size, form, sender, signature, fields and limits, canonical bytes, the round, its encoder and
    model, codes.
    """
    parts = _parts(packet)
    if isinstance(parts, Refusal):
        return parts
    kind, body, signature = parts
    fields = unpacked(body)
    node = fields.get("node") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(node, str):
        return Refusal(reason="malformed", detail=f"no {kind} of a node")
    told = {"node": node, "cid": cid(body)}
    if (member := round.member(node)) is None:
        return Refusal(reason="unknown node", detail=f"{node!r} is not a member of round {round.number}", **told)
    if not is_signed_bytes(member.key, purpose(kind), body, signature):
        return Refusal(reason="bad signature", detail=f"not signed by {node!r} as a {kind}", **told)
    try:
        message = KINDS[kind].model_validate(fields, strict=True)
    except ValidationError as error:
        return Refusal(**_invalid(error), **told)
    if pack(message) != body:
        return Refusal(reason="not canonical", detail="the same message has other bytes", **told)
    misfit = _misfit(message, round)
    return Refusal(**misfit, **told) if misfit else Received(kind, message, told["cid"], packet)


class _Parts(NamedTuple):
    kind: Kind
    body: bytes
    signature: bytes


def _parts(packet: bytes) -> _Parts | Refusal:
    if len(packet) > max(MAX_BYTES.values()) + 200:
        return Refusal(reason="oversized", detail=f"{len(packet):,} bytes")
    match unpacked(packet):
        case (str() as said, bytes() as body, bytes() as signature) if len(signature) == SIGNATURE_BYTES:
            kind = next((kind for kind in KINDS if kind == said), None)
        case _:
            return Refusal(reason="malformed", detail="no packet of kind, body and signature")
    if kind is None:
        return Refusal(reason="malformed", detail=f"no such kind: {said!r:.40}")
    if len(body) > MAX_BYTES[kind]:
        return Refusal(reason="oversized", detail=f"a {kind} of {len(body):,} bytes, at most {MAX_BYTES[kind]:,}")
    if packed([kind, body, signature]) != packet:
        return Refusal(reason="not canonical", detail="the same packet has other bytes")
    return _Parts(kind, body, signature)


def _misfit(message: Message, round: Round) -> dict[str, Any] | None:
    if message.round != round.digest:
        return {"reason": "other round", "detail": f"said in round {message.round[:8]}…, this is {round.digest[:8]}…"}
    match message:
        case Bundle():
            return _bundle_misfit(message, round)
        case Measurement() if len({gain.text for gain in message.gains}) < len(message.gains):
            return {"reason": "repeated text", "detail": "a text is measured twice"}
        case _:
            return None


def _bundle_misfit(bundle: Bundle, round: Round) -> dict[str, Any] | None:
    if bundle.encoder != round.encoder:
        return {"reason": "other encoder", "detail": f"{bundle.encoder!r}, not {round.encoder!r}"}
    if round.model is not None and bundle.model != round.model:
        return {"reason": "other model", "detail": f"{bundle.model!r}, not {round.model!r}"}
    for place, item in enumerate(bundle.items):
        if len(item.text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES:
            return {"reason": "too long", "detail": f"item {place}: more than {MAX_TEXT_BYTES:,} bytes of text"}
    scales = bitdelta.scales(bitdelta.read(item.code for item in bundle.items)).tolist()
    for place, scale in enumerate(scales):
        if scale != scale or abs(scale) == float("inf"):
            return {"reason": "not finite", "detail": f"item {place}: the scale of its code is {scale}"}
        if not bitdelta.is_unit_scale(scale):
            return {"reason": "bad code", "detail": f"item {place}: no unit vector has the scale {scale:g}"}
    if len({text_digest(item.text) for item in bundle.items}) < len(bundle.items):
        return {"reason": "repeated text", "detail": "a text stands in the bundle twice"}
    return None


def _invalid(error: ValidationError) -> dict[str, Any]:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return {"reason": _OF_PYDANTIC.get(first["type"], "malformed"), "detail": f"{place}: {first['msg']}"[:200]}


def packed(value: object) -> bytes:
    """Canonical msgpack."""
    data: bytes = _msgpack().packb(_sorted(value), use_bin_type=True)
    return data


def _sorted(value: object) -> object:
    """Keys in order, at every depth."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list | tuple) else value


def unpacked(data: bytes) -> Any:
    """What the bytes say, in tuples and dictionaries; None when they are no msgpack within the limits."""
    msgpack = _msgpack()
    try:
        return msgpack.unpackb(
            data,
            use_list=False,
            strict_map_key=True,
            max_ext_len=0,
            max_map_len=16,
            max_array_len=20_000,
            max_str_len=4096,
        )
    except (ValueError, msgpack.UnpackException, RecursionError):
        return None


def _msgpack() -> Any:
    try:
        import msgpack
    except ImportError as error:
        raise MissingExtra("a signed bundle", "federated") from error
    return msgpack
