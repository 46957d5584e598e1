"""`gym dao status`, `vote` and `finalize` as voters read them: what is voted on, until when, and where the bond is."""

from pathlib import Path
from typing import Any

import pytest

from gym.cli.dao.options import Keeping
from gym.cli.dao.texts import texts_of
from gym.dao.content import Content
from gym.dao.deployment import Deployment
from gym.dao.rehearsal import AGAINST, DAY, FOR, QUARANTINE, REVIEW, VOTE
from gym.dao.stores import Folder
from gym.dao.units import moment
from tests.dao.loopback import noted
from tests.dao.terminal import Terminal

LESSON, OTHER = Content.of("When a sum is long, split it."), Content.of("Check the sign.")
EVERYONE = dict.fromkeys(range(5), FOR)
PROPOSER, VOTER, GUARDIAN, STRANGER = 1, 3, 8, 10


@pytest.fixture
def terminal(community: Any, tmp_path: Path) -> Terminal:
    """Whose folder has the one text and not the other."""
    Folder(tmp_path / "content").put(LESSON.data)
    return Terminal(tmp_path, community.node.url, Deployment.of(community.contracts, 1))


def settle(community: Any) -> None:
    community.node.ask("anvil_mine", 3)


def test_a_voter_reads_what_is_voted_on_and_by_whom_it_is_proposed(community: Any, terminal: Terminal) -> None:
    for content in (LESSON, OTHER):
        community.propose(content.digest)
    shown = terminal.gym("status").out
    assert f"  + {LESSON.cid}  {LESSON.text}" in shown
    assert f"  + {OTHER.cid}  (the text is not here: see --content and --ipfs)" in shown
    assert shown.count(f"  by {community.proposers[0]}") == 2
    told = terminal.done("status")["proposals"]
    assert [one["texts"] for one in told] == [{LESSON.cid: LESSON.text}, {OTHER.cid: None}]
    community.node.travel(REVIEW + 1)
    asked = terminal.gym("vote", LESSON.cid, "for", by=VOTER, answers="n\n").err
    assert f"  + {LESSON.cid}  {LESSON.text}\nSend it?" in asked


def test_a_text_that_an_ipfs_node_has_is_shown_too_within_some_seconds(
    community: Any, terminal: Terminal, ipfs: str
) -> None:
    made = terminal.gym("propose", OTHER.text, "--ipfs", ipfs, "-y", by=PROPOSER).out
    assert f"the text can be had from {ipfs}, and from the folder 'content'" in made
    voter = Terminal(terminal.folder / "voter", terminal.rpc, Deployment.of(community.contracts, 1))
    assert OTHER.text not in voter.gym("status").out
    assert f"  + {OTHER.cid}  {OTHER.text}" in voter.gym("status", "--ipfs", ipfs).out
    unknown, times, paths = Content.of("Nobody has this."), iter((0.0, 0.0, 11.0)), list[str]()
    with noted(ipfs, paths) as url:
        keeping = Keeping(terminal.folder / "elsewhere", (url,))
        cids = [OTHER.cid, LESSON.cid, unknown.cid]
        assert texts_of(keeping, cids, clock=lambda: next(times)) == {OTHER.cid: OTHER.text}
    assert len(paths) == 1


def test_the_rules_of_a_community_are_shown(community: Any, terminal: Terminal) -> None:
    shown = terminal.gym("status").out
    assert "  a proposer needs 1,000 GYM staked, and pays a bond of 100 GYM\n" in shown
    assert "  a quorum is 10 % of the stake, and two thirds accept\n" in shown
    assert f"  refused bonds go to {community.treasury}\n" in shown
    assert f"  guardian {community.guardian} until " in shown
    rules = terminal.done("status")["rules"]
    assert (rules["threshold"], rules["bond"], rules["quorum_percent"]) == (str(1_000 * 10**18), str(100 * 10**18), 10)
    assert (rules["treasury"], rules["guardian"]) == (community.treasury, community.guardian)


def test_an_entry_that_is_out_keeps_its_id_and_shows_until_when(community: Any, terminal: Terminal) -> None:
    community.accept(LESSON.digest)
    settle(community)
    assert [one["id"] for one in terminal.done("sync")["experiences"]] == ["G0"]
    terminal.done("remove", "G0", "--disable", by=GUARDIAN)
    until = community.contracts.registry.functions.recordOf(LESSON.digest).call()[2]
    shown = terminal.gym("status").out
    assert (
        f"G0 is in quarantine until {moment(until)}; later anyone may put it back\n  - {LESSON.cid}  {LESSON.text}"
        in shown
    )
    (out,) = terminal.done("status")["quarantine"]
    assert out == {"id": "G0", "cid": LESSON.cid, "until": until, "text": LESSON.text}
    settle(community)
    assert terminal.done("sync")["experiences"] == []  # now no file beside the library knows G0
    community.node.travel(QUARANTINE + 1)
    assert f"ended {moment(until)}: gym dao finalize G0 --reinstate" in terminal.gym("status").out
    fresh = Terminal(terminal.folder / "fresh", terminal.rpc, Deployment.of(community.contracts, 1))
    assert "would reinstate" in fresh.gym("finalize", "g0", "--reinstate", "--dry-run", by=STRANGER).out
    assert terminal.done("finalize", "G0", "--reinstate", by=STRANGER)["reinstated"] == LESSON.cid
    settle(community)
    assert terminal.done("status")["quarantine"] == []
    unknown = terminal.gym("remove", "G7", by=PROPOSER)
    assert (unknown.code, "'G7' is no experience that was ever accepted" in unknown.line) == (2, True)


@pytest.mark.parametrize(("votes", "returned"), [({}, True), (dict.fromkeys(range(5), AGAINST), False)])
def test_a_rejected_proposal_is_listed_until_its_bond_is_settled(
    community: Any, terminal: Terminal, votes: dict[int, int], returned: bool
) -> None:
    proposal = str(community.propose(LESSON.digest))
    community.decide(int(proposal), votes)
    standing = (
        "rejected, not finalized: finalize it to get the bond back"
        if returned
        else "rejected by two thirds, not finalized: its bond will go to the treasury"
    )
    assert f"proposal {proposal[:10]}: addition, {standing}\n" in terminal.gym("status").out
    done = terminal.gym("finalize", LESSON.cid, "-y", by=STRANGER)
    told = "is back at" if returned else f"is lost to the treasury ({community.treasury}): two thirds said no"
    assert done.out.splitlines()[0] == f"proposal {proposal[:10]} is rejected"
    assert f"the bond of 100 GYM {told}" in done.out
    assert "next" not in done.out  # nothing to sync
    assert terminal.done("status")["proposals"] == []
    assert terminal.done("status", "--all")["proposals"][0]["settled"]


def test_finalizing_says_what_changed_and_what_comes_next(community: Any, terminal: Terminal) -> None:
    proposal = community.propose(LESSON.digest)
    community.decide(proposal, EVERYONE)
    ends = community.contracts.governor.functions.validUntil(proposal).call()
    assert f", accepted: anyone may finalize it until {moment(ends)}\n" in terminal.gym("status").out
    lines = terminal.gym("finalize", LESSON.cid, "-y", by=STRANGER).out.splitlines()
    assert lines == [
        f"proposal {str(proposal)[:10]} is carried out", f"  + {LESSON.cid}  {LESSON.text}",
        f"the bond of 100 GYM is back at {community.proposers[0]}", "next, when that is final: gym dao sync",
    ]  # fmt: skip
    removal = terminal.done("remove", LESSON.cid, by=PROPOSER)["proposal"]
    community.decide(int(removal), EVERYONE)
    ended = terminal.done("finalize", removal[:8], by=STRANGER)
    assert (ended["added"], ended["removed"], ended["bond_returned"]) == ([], [LESSON.cid], True)


def test_who_is_too_early_or_too_late_is_told_until_when(community: Any, terminal: Terminal) -> None:
    proposal = community.propose(LESSON.digest)
    ask = community.contracts.governor.functions
    opens, ends = ask.proposalSnapshot(proposal).call(), ask.proposalDeadline(proposal).call()
    review = f"is in review until {moment(opens)}, then open for votes until {moment(ends)}"
    for typed in (("vote", LESSON.cid, "for"), ("finalize", LESSON.cid)):
        early = terminal.gym(*typed, "-y", by=VOTER)
        assert (early.code, early.line.endswith(f"refused: proposal {str(proposal)[:10]} {review}")) == (6, True)
    community.node.travel(REVIEW + 1)
    early = terminal.gym("finalize", LESSON.cid, "-y", by=VOTER)
    assert early.line.endswith(f"is open for votes until {moment(ends)}, then anyone may finalize it")
    community.node.travel(VOTE + 3 * DAY)
    late = terminal.gym("vote", LESSON.cid, "for", "-y", by=VOTER)
    assert late.line.endswith("is rejected, not finalized: finalize it to get the bond back")


@pytest.mark.parametrize(
    "typed", [("vote", "G0|xyz", "for"), ("vote", "G0", "for"), ("status", "zzz"), ("finalize", "G0")]
)
def test_what_is_no_proposal_is_told_what_one_is(terminal: Terminal, typed: tuple[str, ...]) -> None:
    wrong = terminal.gym(*typed, by=VOTER)
    assert wrong.code == 2
    assert (
        f"{typed[1]!r} names no proposal: give its number, the first digits of it (4 or more), or the address"
        in wrong.line
    )
    assert "`gym dao status` shows" in wrong.line


def test_one_removal_at_a_time_unless_told_and_a_name_for_two_says_what_each_is(
    community: Any, terminal: Terminal
) -> None:
    community.accept(LESSON.digest)
    settle(community)
    terminal.done("sync")
    first = terminal.done("remove", "G0", by=PROPOSER)["proposal"]
    again = terminal.gym("remove", "G0", "-y", by=2)
    assert again.code == 2
    assert (
        f"a removal of {LESSON.cid} is proposed already: proposal {first[:10]} (removal) is in review until"
        in again.line
    )
    assert "--again proposes another" in again.line
    second = terminal.done("remove", "G0", "--again", "--reason", "worse", by=2)["proposal"]
    both = terminal.gym("vote", LESSON.cid, "for", "-y", by=VOTER)
    each = ", ".join(f"{one[:10]} (removal, in review)" for one in (first, second))
    assert f"{LESSON.cid!r} can be any of {each}: give the proposal's number" in both.line


def test_who_proposes_reads_the_text_and_the_reason_first(community: Any, terminal: Terminal) -> None:
    typed = ("propose", LESSON.text, OTHER.text, "--reason", "seen twice")
    dry = terminal.gym(*typed, "--dry-run", by=PROPOSER).out.splitlines()
    expected = [f"  + {LESSON.cid}  {LESSON.text}", f"  + {OTHER.cid}  {OTHER.text}", "  reason: seen twice"]
    assert dry[1:4] == expected
    assert "\n".join((*expected, "Send it?")) in terminal.gym(*typed, by=PROPOSER, answers="n\n").err
    sent = terminal.gym(*typed, "-y", by=PROPOSER).out
    assert (
        "hand on the 2 files in 'content' (or give --ipfs): the chain has digests alone, and voters need the text"
        in sent
    )
    community.accept(LESSON.digest)
    removal = terminal.gym("remove", LESSON.cid, "--reason", "worse", "--dry-run", by=PROPOSER).out.splitlines()
    assert removal[1:3] == [f"  - {LESSON.cid}  {LESSON.text}", "  reason: worse"]


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (("remove", "G0", "--draft", "removal.json"), "give an ENTRY or --draft FILE, not both"),
        (("stake", "1000", "--exit", "5"), "give one of AMOUNT, --exit N and --withdraw, not several or none"),
        (("propose", "A text.", "--guardian", "none"), "--guardian ADDRESS, not several"),
        (("stake", "1,5"), "'1,5' is no amount: write it in GYM, like 1000 or 0.5"),
        (("stake", "-5"), "'-5' is no possible amount: more than 0"),
        (("send", "0x" + "1" * 40, "-0.5"), "'-0.5' is no possible amount: more than 0"),
        (("vote", "1234", "for", "--account", "0x" + "1" * 40), "--account is for --dry-run alone"),
    ],
)  # fmt: skip
def test_what_cannot_be_typed_says_why(terminal: Terminal, typed: tuple[str, ...], line: str) -> None:
    wrong = terminal.gym(*typed, by=PROPOSER)
    assert (wrong.code, line in wrong.err, "Traceback" in wrong.err) == (2, True, False), wrong
