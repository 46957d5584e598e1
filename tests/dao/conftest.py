"""A real Ethereum node with our contracts, and a real IPFS node, each started once; every test begins where the first did."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import gym.dao  # noqa: F401 - before a test imports eth-account: see there
from gym.errors import ConfigError, MissingExtra

CI = bool(os.environ.get("CI"))
"""There nothing is skipped: what is missing fails."""
IPFS = Path(__file__).parents[2] / ".venv-ipfs"
NEEDS_DAO = "needs the extra [dao]: pip install -e '.[dao]'"


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Without the extra every module here is collected, and skipped with the reason."""
    if CI or all(map(find_spec, ("web3", "httpx"))):
        return None
    module: pytest.Module = WithoutExtra.from_parent(parent, path=module_path)
    return module


class WithoutExtra(pytest.Module):
    """Not even imported."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        pytest.skip(NEEDS_DAO, allow_module_level=True)


@pytest.fixture(scope="session")
def rehearsed() -> Iterator[Any]:
    """Contracts on a node of our own, two proposers and five voters with stakes."""
    with _or_skipped():
        from gym.dao.local_node import find_foundry, local_node
        from gym.dao.rehearsal import rehearse

        anvil = find_foundry("anvil")
    with local_node(anvil) as node:
        yield rehearse(node)


@pytest.fixture
def community(rehearsed: Any) -> Iterator[Any]:
    """The same, with nothing of any other test in it."""
    mark = rehearsed.node.ask("evm_snapshot")
    yield rehearsed
    rehearsed.node.ask("evm_revert", mark)


@pytest.fixture
def refusal(community: Any) -> Callable[..., str]:
    """Tries a call and says by which error the contracts refused it."""
    from web3.exceptions import ContractLogicError

    from gym.dao.reverts import decoded

    def refused(call: Any, sender: str) -> str:
        with pytest.raises(ContractLogicError) as caught:
            call.call({"from": sender})
        revert = decoded(caught.value)
        assert revert is not None, caught.value
        return revert.name

    return refused


@pytest.fixture(scope="session")
def ipfs() -> Iterator[str]:
    """The RPC of a real IPFS node without peers."""
    if not (IPFS / ".ready").exists() and not CI:
        pytest.skip("no IPFS node: `make .venv-ipfs` brings one")
    with subprocess.Popen(
        [IPFS / "bin" / "python", Path(__file__).with_name("ipfs_node.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, "the IPFS node ended at once: its reason stands above"
        yield url
        process.stdin.close()


@pytest.fixture
def paper(community: Any) -> Any:
    """The paper's listing, mended only to compile (contracts/paper), beside ours; two voters have a stake in it."""
    return PaperListing(community)


class PaperListing:
    """Calls of the listing by accounts of the community. A stake is tokens put in and taken out at will."""

    def __init__(self, community: Any, quorum: int = 3) -> None:
        built = json.loads((Path(__file__).parent / "paper_listing.json").read_text(encoding="utf-8"))["contracts"]
        self.community = community
        self.staking = self._deployed(built["PaperStaking"], community.contracts.token.address)
        self.registry = self._deployed(built["PaperRegistry"], self.staking.address, quorum)
        for voter in community.voters[:2]:
            self.stake(voter, 1)

    def stake(self, account: str, amount: int) -> None:
        self._send(self.community.contracts.token.functions.approve(self.staking.address, amount), account)
        self._send(self.staking.functions.stake(amount), account)

    def unstake(self, account: str, amount: int) -> None:
        self._send(self.staking.functions.unstake(amount), account)

    def propose(self, digest: bytes, sender: str, cid: str = "bafy") -> None:
        self._send(self.registry.functions.proposeExperience(cid, digest), sender)

    def vote(self, digest: bytes, approve: bool, sender: str) -> None:
        self._send(self.registry.functions.vote(digest, approve), sender)

    def accepted(self, digest: bytes) -> bool:
        return bool(self.registry.functions.experiences(digest).call()[5])

    def acceptances(self) -> int:
        return len(self.registry.events.ExperienceAccepted().get_logs(from_block=0))

    def _send(self, call: Any, sender: str) -> None:
        self.community.send(call, sender)

    def _deployed(self, built: Any, *arguments: Any) -> Any:
        eth = self.community.node.web3.eth
        made = eth.contract(abi=built["abi"], bytecode=built["bytecode"]).constructor(*arguments)
        receipt = eth.wait_for_transaction_receipt(made.transact({"from": self.community.accounts[0]}))
        return eth.contract(address=receipt["contractAddress"], abi=built["abi"])


@contextmanager
def _or_skipped() -> Iterator[None]:
    try:
        yield
    except (ConfigError, MissingExtra) as error:
        if CI:
            raise
        pytest.skip(str(error))
