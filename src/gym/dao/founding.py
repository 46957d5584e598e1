"""A community's beginning: what is chosen once, and the contracts made from it."""

from typing import NamedTuple

from gym.dao.artifacts import Name, artifact
from gym.dao.contracts import NOBODY, UNOWNED, Settings, deploy, deploy_token
from gym.dao.deployment import Deployment, checked_address
from gym.dao.sending import Quote, Sender
from gym.dao.units import Units
from gym.errors import MissingExtra

try:
    from web3 import Web3
    from web3.contract.contract import ContractConstructor
    from web3.types import TxReceipt
except ImportError as error:
    raise MissingExtra("governance", "dao") from error

DAY = 86_400
GAS: dict[Name, int] = {"GymToken": 550_000, "GymStaking": 1_600_000, "GymGovernor": 7_500_000}
"""What making each takes at most; a test holds it against a real chain."""


class Founding(NamedTuple):
    """What the founder chose, as it was written; amounts in whole tokens."""

    token: str | None
    """None: a new one."""
    supply: str
    threshold: str
    bond: str
    quorum: int
    """Percent."""
    treasury: str | None
    guardian: str | None
    guardian_days: int

    def settings(self, web3: Web3, units: Units) -> Settings:
        """As the governor takes them; raises `ConfigError` for an address or an amount that is none."""
        now = web3.eth.get_block("latest")["timestamp"]
        return Settings(
            threshold=units.parsed(self.threshold),
            bond=0 if self.bond.strip() == "0" else units.parsed(self.bond),
            quorum_percent=self.quorum,
            treasury=checked_address(web3, self.treasury, "the treasury") if self.treasury else UNOWNED,
            guardian=checked_address(web3, self.guardian, "the guardian") if self.guardian else NOBODY,
            guardian_until=now + self.guardian_days * DAY if self.guardian else 0,
        )


def found(web3: Web3, sender: Sender, told: Founding) -> Deployment:
    """Make the contracts; raises like `Sender.send`."""
    units = _units(web3, told)
    settings = told.settings(web3, units)
    first = web3.eth.block_number

    def send(call: ContractConstructor, what: str) -> TxReceipt:
        return sender.send(call, what)

    token = told.token or deploy_token(web3, send, units.parsed(told.supply))
    return Deployment.of(deploy(web3, send, settings, token=web3.to_checksum_address(token)), first)


def founding_quotes(web3: Web3, sender: Sender, told: Founding) -> tuple[Quote, ...]:
    """What making the contracts takes: each needs the one before, so figures of a measurement stand for an estimate."""
    units = _units(web3, told)
    told.settings(web3, units)
    units.parsed(told.supply)
    made: tuple[Name, ...] = ("GymStaking", "GymGovernor") if told.token else ("GymToken", "GymStaking", "GymGovernor")
    return tuple(sender.quote_of(GAS[name], f"make {name}") for name in made)


def _units(web3: Web3, told: Founding) -> Units:
    if told.token is None:
        return Units()
    address = web3.to_checksum_address(checked_address(web3, told.token, "the token"))
    return Units.of(web3.eth.contract(address=address, abi=artifact("GymToken").abi))
