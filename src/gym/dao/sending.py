"""Transactions of one account: estimated, agreed to, signed here, sent, and waited for.

A call is tried on the node before anything is signed, so a refusal costs nothing and is told in words.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gym.dao.reverts import decoded
from gym.dao.units import decimal, ether
from gym.errors import ConfigError, MissingExtra, ProviderError, RequestRejected

try:
    from eth_account.datastructures import SignedTransaction
    from eth_account.signers.local import LocalAccount
    from eth_typing import ChecksumAddress
    from web3 import Web3
    from web3.contract.contract import ContractConstructor, ContractFunction
    from web3.exceptions import ContractLogicError
    from web3.types import TxParams, TxReceipt, Wei
except ImportError as error:
    raise MissingExtra("governance", "dao") from error

MOST_GAS = 2**24
"""What a transaction may take since EIP-7825."""
SPARE, CHECKPOINTS = 1.2, 60_000
"""A limit is so many times the estimate and so much more: a node estimates as if in its last block, where a checkpoint of a
stake may stand already that the next block must write anew, and others may make a call dearer. What is not used is not paid.
"""
UNPAID = ("ERC20InsufficientAllowance", "SafeERC20FailedOperation")
Call = ContractFunction | ContractConstructor


class Quote(NamedTuple):
    """One transaction before it is sent."""

    what: str
    gas: int | None
    """Estimated; None when that takes the step before."""
    max_fee: int
    """Wei for a unit of gas, at most."""
    detail: tuple[str, ...] = ()
    """What it is about, line by line."""

    @property
    def limit(self) -> int | None:
        """Gas, at most."""
        return None if self.gas is None else min(int(self.gas * SPARE) + CHECKPOINTS, MOST_GAS)

    @property
    def cost(self) -> int | None:
        """Wei, at most."""
        return None if self.limit is None else self.limit * self.max_fee

    def __str__(self) -> str:
        if self.gas is None or self.cost is None:
            return f"{self.what}: estimated when the step before is done"
        return (
            f"{self.what}: about {self.gas:,} gas, at most {ether(self.cost)} (up to {decimal(self.max_fee, 9)} gwei)"
        )


class Step(NamedTuple):
    """A call, and what it does in words."""

    what: str
    call: Call
    after: bool = False
    """Whether it can be tried only when the step before is done."""
    detail: tuple[str, ...] = ()
    """What it is about, line by line, for who is asked."""


class Sent(NamedTuple):
    """A transaction that was carried out."""

    what: str
    transaction: str
    block: int
    gas: int
    cost: int
    """Wei."""


class Onlooker(NamedTuple):
    """An account without its key: what it could send can be tried, and not sent."""

    address: ChecksumAddress


class Sender:
    """An account whose transactions are signed here; only its `address` is ever shown."""

    def __init__(
        self, web3: Web3, account: LocalAccount | Onlooker, *, chain_id: int, agree: Callable[[Quote], bool],
        tell: Callable[[str], None] = lambda _: None, timeout_s: float = 180.0,
    ) -> None:  # fmt: skip
        """What is signed holds on no chain but `chain_id`, whatever the node says later.

        `agree` is asked before each transaction; `tell` is told its hash before its block is waited for, which takes
        `timeout_s` at most: who stops then, or loses the node, can look it up.
        """
        self._web3, self._account, self._chain_id = web3, account, chain_id
        self._agree, self._tell, self._timeout_s = agree, tell, timeout_s
        self.sent: list[Sent] = []

    def __repr__(self) -> str:
        return f"Sender({self.address})"

    @property
    def address(self) -> ChecksumAddress:
        """The account."""
        return self._account.address

    def quotes(self, steps: Sequence[Step]) -> tuple[Quote, ...]:
        """What the steps would take. Raises `RequestRejected` for what would be refused now."""
        found = [self.quote_of(None, one.what) if one.after else self._quote(one.call, one.what) for one in steps]
        return tuple(quote._replace(detail=step.detail) for quote, step in zip(found, steps, strict=True))

    def quote_of(self, gas: int | None, what: str) -> Quote:
        """A quote at today's price for so much gas."""
        return Quote(what, gas, self._max_fee())

    def lacking(self, quotes: Sequence[Quote]) -> str | None:
        """Why the account cannot pay for all of them, when it cannot."""
        cost = sum(quote.cost or 0 for quote in quotes)
        balance = self._web3.eth.get_balance(self.address)
        if balance >= cost:
            return None
        what = quotes[0].what if len(quotes) == 1 else "this"
        return f"account {self.address} has {ether(balance)}, and {what} may cost {ether(cost)}: send it some first"

    def carry_out(self, steps: Sequence[Step]) -> TxReceipt:
        """Send one after the other; the last one's receipt. Raises like `send`."""
        *first, last = steps
        for step in first:
            self.send(step.call, step.what, step.detail)
        return self.send(last.call, last.what, last.detail)

    def send(self, call: Call, what: str, detail: tuple[str, ...] = ()) -> TxReceipt:
        """Send one transaction and wait for its block.

        Raises `ConfigError` when nobody agrees or the account is too poor, `RequestRejected` when a contract refuses.
        """
        self._require_nothing_under_way()
        quote = self._quote(call, what)._replace(detail=detail)
        if (lacking := self.lacking([quote])) is not None:
            raise ConfigError(lacking)
        if not self._agree(quote):
            raise ConfigError(f"not sent: {what}" if self.sent else "nothing was sent")
        receipt = self._mined(self._signed(call, quote), what)
        if receipt["status"] != 1:
            raise RequestRejected(
                f"{what}: the transaction {receipt['transactionHash'].to_0x_hex()} was refused in its block"
            )
        self.sent.append(_sent(what, receipt))
        return receipt

    def _quote(self, call: Call, what: str) -> Quote:
        gas = call.estimate_gas({"from": self.address})
        if gas > MOST_GAS:
            raise ConfigError(f"{what} takes {gas:,} gas, and a transaction may take {MOST_GAS:,}")
        return self.quote_of(gas, what)

    def _max_fee(self) -> int:
        """Twice the base fee covers six full blocks in a row."""
        base = self._web3.eth.get_block("latest").get("baseFeePerGas")
        return self._web3.eth.gas_price if base is None else 2 * base + self._web3.eth.max_priority_fee

    def _require_nothing_under_way(self) -> None:
        """A command that was killed while it waited is typed again: what it sent must not be done twice."""
        count = self._web3.eth.get_transaction_count
        if count(self.address, "pending") > count(self.address, "latest"):
            raise ConfigError(
                f"account {self.address} has sent a transaction that is in no block yet: wait for it first"
            )

    def _signed(self, call: Call, quote: Quote) -> SignedTransaction:
        assert quote.limit is not None and not isinstance(self._account, Onlooker)  # noqa: PT018 - it only looks on
        eth = self._web3.eth
        told: TxParams = {
            "from": self.address,
            "chainId": self._chain_id,
            "nonce": eth.get_transaction_count(self.address, "pending"),
            "gas": quote.limit,
        }
        if "baseFeePerGas" in eth.get_block("latest"):
            tip = min(eth.max_priority_fee, quote.max_fee)  # it may have risen since
            told |= {"maxFeePerGas": Wei(quote.max_fee), "maxPriorityFeePerGas": Wei(tip)}
        else:
            told |= {"gasPrice": Wei(quote.max_fee)}
        signed: SignedTransaction = self._account.sign_transaction(call.build_transaction(told))  # type: ignore[arg-type]
        return signed

    def _mined(self, signed: SignedTransaction, what: str) -> TxReceipt:
        eth = self._web3.eth
        try:
            sent = eth.send_raw_transaction(signed.raw_transaction)
        except ProviderError:  # the answer is lost, perhaps not the transaction
            self._tell(
                f"{what}: it may be sent all the same, as {signed.hash.to_0x_hex()}: look before it is sent again"
            )
            raise
        self._tell(f"{what}: sent as {sent.to_0x_hex()}")
        return eth.wait_for_transaction_receipt(sent, timeout=self._timeout_s)


def lacks_only_allowance(call: ContractFunction, sender: ChecksumAddress) -> bool:
    """Whether a call would go through once its tokens are approved; raises what else stands against it.

    The contracts take tokens last, so the missing approval is named only when all else is well.
    """
    try:
        call.call({"from": sender})
    except ContractLogicError as error:
        revert = decoded(error)
        if revert is None or revert.name in UNPAID:  # a token of others may say it in words of its own
            return True
        raise
    return False


def _sent(what: str, receipt: TxReceipt) -> Sent:
    cost = receipt["gasUsed"] * receipt.get("effectiveGasPrice", 0)
    return Sent(what, receipt["transactionHash"].to_0x_hex(), receipt["blockNumber"], receipt["gasUsed"], cost)
