"""What a contract refused, by the name it gave it: custom errors are four bytes and arguments on the wire."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, get_args

from gym.dao.artifacts import Name, artifact
from gym.errors import MissingExtra

try:
    from eth_abi.abi import decode
    from eth_utils.abi import abi_to_signature, function_signature_to_4byte_selector
    from web3.exceptions import ContractLogicError
except ImportError as error:
    raise MissingExtra("governance", "dao") from error


class Revert(NamedTuple):
    """A refusal of one of our contracts, or of OpenZeppelin's below them."""

    name: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={_shown(value)}' for key, value in self.arguments.items())})"


def decoded(refusal: ContractLogicError) -> Revert | None:
    """The error that a call ended with; None for one that no contract of ours knows."""
    data = refusal.data
    if not isinstance(data, str) or not data.startswith("0x"):
        return None
    raw = bytes.fromhex(data[2:])
    found = _errors().get(raw[:4])
    if found is None:
        return None
    inputs = found["inputs"]
    values = decode([entry["type"] for entry in inputs], raw[4:])
    return Revert(found["name"], dict(zip([entry["name"] for entry in inputs], values, strict=True)))


@cache
def _errors() -> dict[bytes, Any]:
    every: list[Any] = [entry for name in get_args(Name) for entry in artifact(name).abi if entry["type"] == "error"]
    return {function_signature_to_4byte_selector(abi_to_signature(entry)): entry for entry in every}


def _shown(value: object) -> str:
    return f"0x{value.hex()}" if isinstance(value, bytes) else str(value)
