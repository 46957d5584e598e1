"""`gym dao watch` on a real chain with a scripted model: what was accepted is measured on own problems, and harm is drafted."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.planted import SCRIPTED, fruit
from gym.cli.dao.drafting import write_drafts
from gym.cli.dao.watch import Seen, scheduled
from gym.core.chat import Usage
from gym.core.rollout import Tally
from gym.dao.accepted import Source
from gym.dao.content import Content
from gym.dao.deployment import Deployment
from gym.dao.library_file import Provenance
from gym.dao.rehearsal import FOR
from gym.dao.stores import Folder
from gym.errors import ConnectionFailed, HistoryMismatch, ProviderError
from gym.evaluation import harm
from gym.evaluation.metrics import paired
from tests.dao.terminal import Terminal

PLANTED = fruit(30)
GOOD, HARMFUL, USELESS = (Content.of(text) for text in (PLANTED.good[0], PLANTED.harmful, PLANTED.useless))
ASKED = ("--reward", "exact", "--model", SCRIPTED, "--quiet", "--k", 2, "--output-dir", "runs")


@pytest.fixture
def node(community: Any, tmp_path: Path) -> Terminal:
    """Three experiences are accepted, one of which does harm on this node's problems."""
    made = Terminal(tmp_path, community.node.url, Deployment.of(community.contracts, 1))
    for content in (GOOD, HARMFUL, USELESS):
        Folder(tmp_path / "content").put(content.data)
    community.accept(GOOD.digest, HARMFUL.digest, USELESS.digest)
    community.node.ask("anvil_mine", 3)
    PLANTED.write(tmp_path, 0)
    return made


def look(node: Terminal, *typed: object, code: int = 0) -> Any:
    return node.done("watch", "--data", data(node), *ASKED, "--once", *typed, code=code)


def data(node: Terminal) -> str:
    return next(path.name for path in node.folder.glob("*.jsonl"))


def test_what_hurts_is_drafted_with_its_figures_and_sent_only_when_told(community: Any, node: Terminal) -> None:
    found = look(node)
    ids = {one["cid"]: one["id"] for one in node.done("sync")["experiences"]}
    bad = ids[HARMFUL.cid]
    assert [test["ids"] for test in found["tests"] if test["hurts"] and len(test["ids"]) == 1] == [[bad]]
    assert found["drafts"] == [f"drafts/removal-{bad}.json"]
    draft = json.loads((node.folder / found["drafts"][0]).read_text())
    assert draft["difference"] < -0.1
    assert draft["interval"][1] < 0
    assert draft["p_value"] <= draft["p_corrected"] <= 0.05
    assert [one["cid"] for one in draft["entries"]] == [HARMFUL.cid]
    assert not node.done("status")["proposals"]
    sent = node.done("remove", "--draft", found["drafts"][0], by=1)
    (removal,) = node.done("status")["proposals"]
    assert (removal["id"], removal["removed"], removal["reason"]) == (sent["proposal"], [HARMFUL.cid], draft["reason"])
    assert draft["reason"].startswith(f"{bad}: mean reward 0.")
    (node.folder / found["drafts"][0]).unlink()
    again = look(node)
    assert (again["drafts"], again["proposed_already"]) == ([], [bad])
    assert again["spent"]["replayed"] == found["spent"]["calls"]  # nothing is paid twice
    shown = node.gym("watch", "--data", data(node), *ASKED, "--once").out
    assert f"  {bad} hurts, and its removal is proposed already" in shown
    community.decide(int(sent["proposal"]), dict.fromkeys(range(5), FOR))
    community.finalize(int(sent["proposal"]))
    community.node.ask("anvil_mine", 3)
    after = look(node)
    assert not any(test["hurts"] for test in after["tests"])
    assert len(after["tests"]) == 3


def test_a_library_that_hurts_as_a_whole_is_drafted_as_one_batch(node: Terminal, community: Any) -> None:
    for content in (GOOD, USELESS):
        removal = community.opened(community.contracts.governor.functions.proposeRemoval(content.digest, ""))
        community.decide(removal, dict.fromkeys(range(5), FOR))
        community.finalize(removal)
    community.node.ask("anvil_mine", 3)
    found = look(node, "--whole")
    assert [(test["whole"], test["hurts"]) for test in found["tests"]] == [(True, True)]
    draft = json.loads((node.folder / found["drafts"][0]).read_text())
    assert [one["cid"] for one in draft["entries"]] == [HARMFUL.cid]
    assert "1 test;" in draft["reason"]


def test_nothing_accepted_is_nothing_to_measure(community: Any, tmp_path: Path) -> None:
    bare = Terminal(tmp_path, community.node.url, Deployment.of(community.contracts, 1))
    PLANTED.write(tmp_path, 0)
    found = look(bare)
    assert (found["tests"], found["drafts"]) == ([], [])
    wrong = bare.gym("watch", "--every", "soon")
    assert (wrong.code, "'soon' is no period: write it like 30m, 6h or 1d" in wrong.err) == (2, True)


def test_a_schedule_goes_on_after_an_outage_and_ends_at_a_lie() -> None:
    seen, slept = Seen(told=None, found=None, drafts=(), proposed=()), list[float]()  # type: ignore[arg-type]
    happens: list[Seen | ProviderError] = [seen, ConnectionFailed("gone"), seen, HistoryMismatch("a change is missing")]

    def look() -> Seen:
        found = happens.pop(0)
        if isinstance(found, ProviderError):
            raise found
        return found

    looks = scheduled(look, 3_600, slept.append)
    assert [next(looks), next(looks)] == [seen, seen]
    with pytest.raises(HistoryMismatch):
        next(looks)
    assert slept == [3_600] * 3


def test_a_draft_of_more_than_a_proposal_takes_says_so(tmp_path: Path) -> None:
    ids = tuple(f"G{n}" for n in range(101))
    sources = [Source(id=id, cid=GOOD.cid, proposal="1", version=1, block=1, transaction="0x0") for id in ids]
    told = Provenance(
        chain_id=1, governor="", registry="", block=1, block_hash="", version=1, root="", history_hash="", library_digest="",
        entries=tuple(sources),
    )  # fmt: skip
    without, with_ = (
        [Tally(str(n), {}, (reward,), 0, 0, None, Usage(), {}) for n in range(30)] for reward in (1.0, 0.0)
    )
    worse = harm.Tested(ids=ids, whole=True, before=1.0, after=0.0, found=paired(without, with_), p_corrected=0.001)
    found = harm.Looked(model="m", problems=30, answers=1, tests=(worse,), notes=(), spent={}, folder="")
    (file,) = write_drafts(tmp_path, told, found, [worse])
    draft = json.loads(file.read_text())
    assert len(draft["entries"]) == 100
    assert draft["reason"].startswith(
        "the whole library (101 entries, of which a proposal takes 100): mean reward 1.000 without"
    )
