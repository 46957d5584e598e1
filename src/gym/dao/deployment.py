"""Where a community's contracts are: one small file that every command reads, with no address of a node and no key in it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError, field_validator

from gym.core.value import Value
from gym.dao.artifacts import artifact
from gym.dao.contracts import NOBODY, Contracts, attach
from gym.dao.rpc import connect, translated
from gym.dao.units import Units, host
from gym.errors import ConfigError, MissingExtra
from gym.files import write_atomic

try:
    from eth_typing import ChecksumAddress
    from web3 import Web3
except ImportError as error:
    raise MissingExtra("governance", "dao") from error

ADDRESS = r"0x[0-9a-fA-F]{40}"


class Deployment(Value):
    """The contracts of one community."""

    chain_id: int = Field(ge=1)
    governor: str = Field(pattern=f"^{ADDRESS}$")
    registry: str = Field(pattern=f"^{ADDRESS}$")
    staking: str = Field(pattern=f"^{ADDRESS}$")
    token: str = Field(pattern=f"^{ADDRESS}$")
    block: int = Field(ge=0)
    """The one in which they were made: nothing happened before."""

    @field_validator("governor", "registry", "staking", "token")
    @classmethod
    def _in_one_form(cls, address: str) -> str:
        return _checksummed(address)

    @classmethod
    def of(cls, contracts: Contracts, block: int) -> "Deployment":
        """Of contracts that are there."""
        token, staking, governor, registry = (contract.address for contract in contracts)
        chain = contracts.governor.w3.eth.chain_id
        return cls(chain_id=chain, governor=governor, registry=registry, staking=staking, token=token, block=block)

    @classmethod
    def read(cls, path: Path) -> "Deployment":
        """What the file at `path` says; raises `ConfigError`."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            told = error.strerror or str(error)
            raise ConfigError(
                f"no deployment file {str(path)!r} ({told}): `gym dao deploy` writes one, or ask your community for theirs"
            ) from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            told = (
                "expected 0x and 40 hex digits"
                if first["type"] == "string_pattern_mismatch"
                else first["msg"].removeprefix("Value error, ")
            )
            raise ConfigError(f"{str(path)!r} is no deployment file: {where}: {told}") from error

    def write(self, path: Path) -> None:
        """Keep it; raises `StorageError`."""
        write_atomic(path, self.model_dump_json(indent=2) + "\n")


class Community(NamedTuple):
    """A community's contracts on a node that was asked whether it has them."""

    web3: Web3
    deployment: Deployment
    contracts: Contracts
    units: Units

    def now(self) -> int:
        """The last block's time."""
        return self.web3.eth.get_block("latest")["timestamp"]


@contextmanager
def community(url: str, deployment: Deployment) -> Iterator[Community]:
    """The contracts by a node; raises `ConfigError` when it is of another chain, or has other contracts there.

    While inside, what goes wrong with the chain is raised as ours.
    """
    web3 = connect(url)
    with translated():
        _require_chain(web3, url, deployment)
        contracts = attach(web3, deployment.governor)
        told = Deployment.of(contracts, deployment.block)
        if told != deployment:
            wrong = next(key for key, value in told if value != getattr(deployment, key))
            raise ConfigError(f"the governor {deployment.governor} has another {wrong} than the deployment file says")
        yield Community(web3, deployment, contracts, Units.of(contracts.token))


def checked_address(text: str, what: str) -> ChecksumAddress:
    """The address in its one form; raises `ConfigError` when it is none, nobody's, or mistyped by its checksum."""
    if not re.fullmatch(ADDRESS, text) or text.lower() == NOBODY:
        raise ConfigError(f"{text!r} is no address for {what}: expected 0x and 40 hex digits")
    try:
        return _checksummed(text)
    except ValueError as error:
        raise ConfigError(f"{text!r} is no address for {what}: {error}") from error


def _checksummed(text: str) -> ChecksumAddress:
    """With the checksum in its letters' case (EIP-55); raises `ValueError` where they are mixed in another way."""
    address, digits = Web3.to_checksum_address(text), text[2:]
    if text != address and digits not in (digits.lower(), digits.upper()):
        raise ValueError("its checksum (EIP-55) is wrong, so a character of it was mistyped")
    return address


def _require_chain(web3: Web3, url: str, deployment: Deployment) -> None:
    found = web3.eth.chain_id
    if found != deployment.chain_id:
        raise ConfigError(
            f"{host(url)} is a node of chain {found}, and the deployment file is of chain {deployment.chain_id}: "
            "give the other --rpc, or the other --deployment"
        )
    if not artifact("GymGovernor").matches(bytes(web3.eth.get_code(web3.to_checksum_address(deployment.governor)))):
        raise ConfigError(
            f"chain {found} has no governor of ours at {deployment.governor}: is the deployment file of another?"
        )
