"""A real Ethereum node on loopback with time travel: Foundry's anvil, for tests, benches and the demo.

Its binary is started directly. In a checkout `npm ci --prefix contracts` brings it; else it is looked for on the PATH.
"""

import platform
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from gym.errors import ConfigError, MissingExtra, ProviderError

try:
    from eth_typing import ChecksumAddress
    from web3 import Web3
    from web3.contract.contract import ContractConstructor, ContractFunction
    from web3.types import RPCEndpoint, TxReceipt
except ImportError as error:
    raise MissingExtra("governance", "dao") from error

PACKAGES = Path(__file__).parents[3] / "contracts" / "node_modules" / "@foundry-rs"
GENESIS = 1_800_000_000
"""The time of the first block, so that nothing depends on today's date."""
GAS = 16_000_000
"""What a transaction may take at most since EIP-7825, nearly."""


class LocalNode(NamedTuple):
    """A running node. Every transaction is a block of its own, one second after the last; its accounts are unlocked."""

    url: str
    web3: Web3

    def send(self, call: ContractFunction | ContractConstructor, sender: ChecksumAddress) -> TxReceipt:
        """Carry out a call; it must succeed."""
        sent = call.transact({"from": sender, "gas": GAS})
        receipt = self.web3.eth.wait_for_transaction_receipt(sent)
        if receipt["status"] != 1 and isinstance(call, ContractFunction):
            call.call({"from": sender}, block_identifier=receipt["blockNumber"])  # raises what the contract said
        if receipt["status"] != 1:
            raise ProviderError(f"the transaction {sent.to_0x_hex()} failed")
        return receipt

    def travel(self, seconds: int) -> None:
        """The next block is this much later, and is made now."""
        self.ask("evm_setNextBlockTimestamp", self.now() + seconds)
        self.ask("evm_mine")

    def now(self) -> int:
        """The last block's time."""
        return self.web3.eth.get_block("latest")["timestamp"]

    def ask(self, method: str, *parameters: Any) -> Any:
        """A call that only such nodes know, such as `evm_snapshot`."""
        answer = self.web3.provider.make_request(RPCEndpoint(method), list(parameters))
        if "error" in answer:
            raise ProviderError(f"{method}: {answer['error']}")
        return answer["result"]


def find_foundry(program: Literal["anvil", "forge"]) -> Path:
    """One of Foundry's programs: the checkout's pinned one, else that of the PATH; raises `ConfigError` when there is none."""
    system = {"Darwin": "darwin", "Windows": "win32"}.get(platform.system(), "linux")
    machine = "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "amd64"
    pinned = PACKAGES / f"{program}-{system}-{machine}" / "bin" / (f"{program}.exe" if system == "win32" else program)
    found = pinned if pinned.exists() else shutil.which(program)
    if found is None:
        raise ConfigError(
            f"no {program} (of Foundry): in a checkout run `npm ci --prefix contracts`, or install Foundry"
        )
    return Path(found)


@contextmanager
def local_node(anvil: Path | None = None, *, chain_id: int = 31_337, accounts: int = 20) -> Iterator[LocalNode]:
    """A node of our own on a free port of loopback, ended when this leaves."""
    options = {"port": 0, "chain-id": chain_id, "accounts": accounts, "timestamp": GENESIS, "color": "never"}
    options |= {"slots-in-an-epoch": 1}  # a block is final when two others stand on it
    command = [str(anvil or find_foundry("anvil")), *(f"--{name}={value}" for name, value in options.items())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield _connected(_address(process))
        finally:
            process.kill()


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Listening on "):
            return f"http://{line.split()[-1]}"
    raise ProviderError(f"the local Ethereum node ended at once (exit {process.wait()})")


def _connected(url: str) -> LocalNode:
    node = LocalNode(url, Web3(Web3.HTTPProvider(url)))
    node.ask("anvil_setLoggingEnabled", False)  # nobody reads the pipe from here on
    node.ask("anvil_setBlockTimestampInterval", 1)
    return node
