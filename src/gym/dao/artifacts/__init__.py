"""The compiled contracts, as `contracts/build.js` wrote them: nobody needs a compiler to use them (SPEC 7)."""

import json
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

Name = Literal["ExperienceRegistry", "GymGovernor", "GymStaking", "GymToken"]


class Artifact(NamedTuple):
    """One compiled contract."""

    abi: list[dict[str, Any]]
    """What web3 calls it by."""
    bytecode: str
    """What deploys it, in hexadecimal after `0x`; constructor arguments follow."""
    runtime: str
    """What the chain then holds, with zeros where immutable values go."""
    immutables: list[dict[str, int]]
    """`start` and `length` in bytes of each such place."""

    def matches(self, code: bytes) -> bool:
        """Whether a chain's code is this contract, whatever its immutable values are."""
        held, compiled = bytearray(code), bytes.fromhex(self.runtime[2:])
        for place in self.immutables:
            held[place["start"] : place["start"] + place["length"]] = bytes(place["length"])
        return bytes(held) == compiled


@cache
def artifact(name: Name) -> Artifact:
    """The contract called so."""
    return Artifact(**_built()["contracts"][name])


@cache
def compiler() -> str:
    """What compiled them, for a report.

    >>> compiler().startswith("solc 0.8.37")
    True
    """
    built = _built()["built"]
    return f"solc {built['solc']}, OpenZeppelin {built['openzeppelin']}, EVM {built['settings']['evmVersion']}"


@cache
def _built() -> Any:
    return json.loads((files(__package__) / "contracts.json").read_text(encoding="utf-8"))
