"""The four contracts on a chain: deployed anew, or found from the governor's address (SPEC 7)."""

from typing import Any, NamedTuple, Protocol

from gym.dao.artifacts import Name, artifact
from gym.errors import MissingExtra

try:
    from eth_typing import ChecksumAddress
    from web3 import Web3
    from web3.contract import Contract
    from web3.contract.contract import ContractConstructor
    from web3.types import TxReceipt
except ImportError as error:
    raise MissingExtra("governance", "dao") from error

NOBODY = "0x" + 40 * "0"
UNOWNED = "0x000000000000000000000000000000000000dEaD"
"""Nobody has its key, so what is sent there is gone."""


class Settings(NamedTuple):
    """What is chosen once, when the contracts are made; times and the two thirds are the contracts' own."""

    threshold: int = 1_000 * 10**18
    """The stake that a proposer needs, in the token's smallest unit."""
    bond: int = 100 * 10**18
    """What a proposer pays in, and gets back unless two thirds say no."""
    quorum_percent: int = 10
    """Of everything staked when the vote opens, in (0, 100]."""
    treasury: str = UNOWNED
    """Where the bonds of refused proposals go."""
    guardian: str = NOBODY
    """Who may disable an entry for a while."""
    guardian_until: int = 0
    """When the guardian's powers end, in seconds since 1970; at most a year ahead."""


class Contracts(NamedTuple):
    """The contracts of one community, each as web3 calls it."""

    token: Contract
    staking: Contract
    governor: Contract
    registry: Contract


class Send(Protocol):
    """Carries a call or the making of a contract out; it must succeed."""

    def __call__(self, call: ContractConstructor, what: str, /) -> TxReceipt:
        """`what` says in words what is sent."""
        ...


def deploy(web3: Web3, send: Send, settings: Settings, *, token: str) -> Contracts:
    """New contracts over the stake of `token`; the registry is made by the governor, its only writer."""
    staking = _address(send(_maker(web3, "GymStaking", token), "make the staking contract"))
    return attach(
        web3, _address(send(_maker(web3, "GymGovernor", staking, tuple(settings)), "make governor and registry"))
    )


def deploy_token(web3: Web3, send: Send, supply: int) -> ChecksumAddress:
    """A token for a network that has none: all of `supply` is the sender's, and nobody can mint more."""
    return _address(send(_maker(web3, "GymToken", supply), "make the token"))


def attach(web3: Web3, governor: str) -> Contracts:
    """The contracts behind the governor at this address."""
    chief = _at(web3, "GymGovernor", governor)
    staking, token, registry = (chief.functions[name]().call() for name in ("token", "gym", "registry"))
    return Contracts(
        token=_at(web3, "GymToken", token),
        staking=_at(web3, "GymStaking", staking),
        governor=chief,
        registry=_at(web3, "ExperienceRegistry", registry),
    )


def _at(web3: Web3, name: Name, address: str) -> Contract:
    return web3.eth.contract(address=Web3.to_checksum_address(address), abi=artifact(name).abi)


def _maker(web3: Web3, name: Name, *arguments: Any) -> ContractConstructor:
    built = artifact(name)
    return web3.eth.contract(abi=built.abi, bytecode=built.bytecode).constructor(*arguments)


def _address(receipt: TxReceipt) -> ChecksumAddress:
    address = receipt["contractAddress"]
    assert address is not None
    return address
