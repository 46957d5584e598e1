"""A community's beginning: said before it is for ever, refused where nobody could use it; tokens handed out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from gym.dao.deployment import Deployment
from gym.dao.keys import open_account
from gym.dao.local_node import LocalNode, local_node
from gym.dao.rehearsal import GYM
from gym.errors import ConfigError
from tests.dao.terminal import Terminal, keystore_of, private_key

RIGHT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
MISTYPED = "0xf39fD6e51aad88F6F4ce6aB8827279cffFb92266"


@pytest.fixture(scope="module")
def elsewhere(rehearsed: Any) -> Iterator[LocalNode]:
    """A chain on which nothing is, and on which these tests leave nothing."""
    with local_node() as node:
        yield node


@pytest.fixture
def founder(elsewhere: LocalNode, tmp_path: Path) -> Terminal:
    return Terminal(tmp_path, elsewhere.url, None)


@pytest.fixture
def terminal(community: Any, tmp_path: Path) -> Terminal:
    return Terminal(tmp_path, community.node.url, Deployment.of(community.contracts, 1))


def test_the_rules_are_said_before_anything_is_sent(founder: Terminal, elsewhere: LocalNode) -> None:
    typed = ("deploy", "--guardian", RIGHT, "--quorum", 20, "--bond", 0, "--threshold", "2,000")
    asked = founder.gym(*typed, by=0, answers="n\n").err
    rules, _, question = asked.partition("make the token: ")
    assert "Send it?" in question
    assert rules.splitlines()[1:4] == [
        "  a proposer needs 2,000 GYM staked, and pays a bond of 0 GYM",
        "  a quorum is 20 % of the stake, and two thirds accept",
        "  refused bonds go to nobody, for ever (0x000000000000000000000000000000000000dEaD)",
    ]
    assert f"  guardian {RIGHT} until 20" in rules
    assert elsewhere.web3.eth.block_number == 0
    assert founder.gym(*typed, "--dry-run", "--json", by=0).told["rules"]["quorum_percent"] == 20


def test_a_dry_run_needs_an_address_and_no_key_and_says_what_is_lacking(founder: Terminal) -> None:
    rich = founder.gym("deploy", "--dry-run", "--account", RIGHT.lower())
    assert (rich.code, rich.out.splitlines()[-1]) == (0, f"nothing was sent (account {RIGHT})")
    assert "but account" not in rich.out
    poor = founder.gym("deploy", "--dry-run", "--account", "0x" + "1" * 40).out
    assert f"but account 0x{'1' * 40} has 0 ETH, and this may cost 0." in poor
    assert (
        founder.gym("deploy", "--dry-run", "--json", "--account", "0x" + "1" * 40).told["lacking"].startswith("account")
    )
    assert "--account is for --dry-run alone" in founder.gym("deploy", "--account", RIGHT).err


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (("--supply", 500, "--threshold", 501), "the threshold is 501 GYM, and there are only 500 GYM"),
        (("--token", "0x" + "1" * 40), f"there is no contract at 0x{'1' * 40}, the token: is it on this chain (id 31337)?"),
        (("--treasury", MISTYPED), f"'{MISTYPED}' is no address for the treasury: its checksum (EIP-55) is wrong"),
        (("--treasury", RIGHT[2:]), "is no address for the treasury: expected 0x and 40 hex digits"),
    ],
)  # fmt: skip
def test_what_could_never_work_is_not_founded(founder: Terminal, typed: tuple[object, ...], line: str) -> None:
    wrong = founder.gym("deploy", *typed, "-y", by=0)
    assert (wrong.code, line in wrong.line) == (2, True), wrong


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (("deploy", "--token", RIGHT, "--supply", 5), "--supply is of a new token"),
        (("deploy", "--guardian-days", 5), "--guardian-days takes --guardian ADDRESS"),
        (("propose", "When a sum is long, split it.", "--days", 5), "--days takes --guardian ADDRESS"),
        (("propose", "--guardian", RIGHT, "--domain", "math"), "--domain is of experiences, not of a guardian"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(
    founder: Terminal, typed: tuple[object, ...], line: str
) -> None:
    wrong = founder.gym(*typed, "-y", by=0)
    assert (wrong.code, line in wrong.err) == (2, True), wrong


def test_addresses_of_one_case_are_taken_and_mistyped_ones_nowhere(community: Any, terminal: Terminal) -> None:
    for text in (RIGHT, RIGHT.lower(), f"0x{RIGHT[2:].upper()}"):
        assert terminal.done("status", "--account", text)["account"]["address"] == RIGHT
    for typed in (("status", "--account", MISTYPED), ("propose", "--guardian", MISTYPED), ("send", MISTYPED, "1")):
        wrong = terminal.gym(*typed, by=1)
        assert (wrong.code, "its checksum (EIP-55) is wrong" in wrong.line) == (2, True)
    file = terminal.folder / "dao.json"
    right = file.read_text()
    file.write_text(right.replace(community.contracts.governor.address, MISTYPED))
    assert "governor: its checksum (EIP-55) is wrong" in terminal.gym("status").line
    file.write_text(right.replace(community.contracts.governor.address, "0x12"))
    assert terminal.gym("status").line.endswith("governor: expected 0x and 40 hex digits")
    not_erc20 = terminal.gym("deploy", "--deployment", "b.json", "--token", community.contracts.registry.address, by=0)
    assert not_erc20.line.endswith(f"the contract at {community.contracts.registry.address} is no token (ERC-20)")


def test_tokens_are_handed_out(community: Any, terminal: Terminal) -> None:
    token = community.contracts.token.functions
    stranger = community.stranger
    dry = terminal.gym("send", stranger, "1,500", "--dry-run", by=0).out
    assert dry.startswith(f"would send 1,500 GYM to {stranger}: about ")
    told = terminal.done("send", stranger.lower(), "1,500", by=0)
    assert (told["to"], told["balance_there"]) == (stranger, str(1_500 * GYM))
    assert token.balanceOf(stranger).call() == 1_500 * GYM
    assert terminal.done("stake", "1500", by=10)["stake"] == str(1_500 * GYM)
    poor = terminal.gym("send", community.accounts[0], "1", by=10)
    assert (poor.code, f"account {stranger} has 0 GYM, and 1 GYM were to be sent" in poor.line) == (2, True)
    lost = terminal.gym("send", community.contracts.staking.address, "1", by=0)
    assert (lost.code, "is the staking contract, which could never give them back" in lost.line) == (2, True)


def test_a_file_that_is_no_keystore_is_told_without_asking_for_a_password(tmp_path: Path) -> None:
    asked = list[str]()

    def ask(question: str) -> str:
        asked.append(question)
        return "correct horse"

    for text in ('{"chain_id": 1}', "[]", "no json"):
        (tmp_path / "dao.json").write_text(text)
        with pytest.raises(ConfigError, match="is no keystore file"):
            open_account(tmp_path / "dao.json", ask=ask, environ={})
    assert not asked
    (tmp_path / "me.json").write_text(keystore_of(1, "correct horse"))
    assert open_account(tmp_path / "me.json", ask=ask, environ={}).address == Account.from_key(private_key(1)).address
