"""A real Ethereum node with our contracts, and a real IPFS node, each started once; every test begins where the first did."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gym.errors import ConfigError, MissingExtra

CI = bool(os.environ.get("CI"))
"""There nothing is skipped: what is missing fails."""


@pytest.fixture(scope="session")
def rehearsed() -> Iterator[Any]:
    """Contracts on a node of our own, two proposers and five voters with stakes."""
    with _or_skipped():
        from gym.dao.local_node import find_anvil, local_node
        from gym.dao.rehearsal import rehearse

        anvil = find_anvil()
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


@contextmanager
def _or_skipped() -> Iterator[None]:
    try:
        yield
    except (ConfigError, MissingExtra) as error:
        if CI:
            raise
        pytest.skip(str(error))
