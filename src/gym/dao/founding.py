"""A community's beginning: what is chosen once, and the contracts made from it."""

from typing import NamedTuple

from gym.dao.artifacts import Name, artifact
from gym.dao.contracts import NOBODY, UNOWNED, Settings, deploy, deploy_token
from gym.dao.deployment import Deployment, checked_address
from gym.dao.sending import Quote, Sender
from gym.dao.units import Units
from gym.errors import ConfigError, MissingExtra

try:
    from eth_typing import ChecksumAddress
    from web3 import Web3
    from web3.exceptions import BadFunctionCallOutput, ContractLogicError
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
            treasury=checked_address(self.treasury, "the treasury") if self.treasury else UNOWNED,
            guardian=checked_address(self.guardian, "the guardian") if self.guardian else NOBODY,
            guardian_until=now + self.guardian_days * DAY if self.guardian else 0,
        )


class Plan(NamedTuple):
    """What is to be made: checked, and in the chain's units."""

    settings: Settings
    units: Units
    supply: int
    """Of the token, in its smallest unit."""
    token: ChecksumAddress | None
    """None: it is to be made too."""


def planned(web3: Web3, told: Founding) -> Plan:
    """The founder's choice, checked; raises `ConfigError` for what is none, or could never be used."""
    token, units, supply = _token(web3, told)
    settings = told.settings(web3, units)
    if settings.threshold > supply:
        raise ConfigError(
            f"nobody could ever propose: the threshold is {units.told(settings.threshold)}, and there are only "
            f"{units.told(supply)}"
        )
    return Plan(settings, units, supply, token)


def found(web3: Web3, sender: Sender, plan: Plan) -> Deployment:
    """Make the contracts; raises like `Sender.send`."""
    first = web3.eth.block_number
    token = plan.token or deploy_token(web3, sender.send, plan.supply)
    return Deployment.of(deploy(web3, sender.send, plan.settings, token=token), first)


def founding_quotes(sender: Sender, plan: Plan) -> tuple[Quote, ...]:
    """What making the contracts takes: each needs the one before, so figures of a measurement stand for an estimate."""
    made: tuple[Name, ...] = ("GymStaking", "GymGovernor") if plan.token else ("GymToken", "GymStaking", "GymGovernor")
    return tuple(sender.quote_of(GAS[name], f"make {name}") for name in made)


def _token(web3: Web3, told: Founding) -> tuple[ChecksumAddress | None, Units, int]:
    """The token's address, units and supply."""
    if told.token is None:
        return None, Units(), Units().parsed(told.supply)
    address = checked_address(told.token, "the token")
    if not web3.eth.get_code(address):
        raise ConfigError(
            f"there is no contract at {address}, the token: is it on this chain (id {web3.eth.chain_id})?"
        )
    token = web3.eth.contract(address=address, abi=artifact("GymToken").abi)
    try:
        return address, Units.of(token), token.functions.totalSupply().call()
    except (BadFunctionCallOutput, ContractLogicError) as error:
        raise ConfigError(f"the contract at {address} is no token (ERC-20)") from error
