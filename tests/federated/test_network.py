"""A team shares over a board in memory or in a folder; a written decision that its packets do not give is refused."""

import json
from pathlib import Path

import pytest

from gym.core.admission import Admission
from gym.errors import ConfigError, RunFailed
from gym.federated.boards import FolderBoard, MemoryBoard
from gym.federated.merge import decide
from gym.federated.messages import Removal, text_digest
from gym.federated.network import FederatedNetwork
from gym.federated.round import Round
from gym.federated.round_dir import RoundDir
from gym.train.grpo.continuous_learning import Fetched, LocalDSOOptimizer, pull
from gym.train.grpo.experience_manager import ExperienceManager
from tests.federated.house import MODEL, Topical, bundle, key, measured, round_of, sealed

Boards = MemoryBoard | FolderBoard
ROUND = round_of(3)
NODES = tuple(one.address for one in ROUND.members)


@pytest.fixture(params=["memory", "folder"])
def board(request: pytest.FixtureRequest, tmp_path: Path) -> Boards:
    return MemoryBoard() if request.param == "memory" else FolderBoard(tmp_path / "team")


def library(*texts: str) -> ExperienceManager:
    manager = ExperienceManager(admission=Admission())
    for text in texts:
        manager.add(text)
    return manager


def network(board: Boards, node: str, *released: str) -> FederatedNetwork:
    return FederatedNetwork(board, node=node, key=key(node), model=MODEL, released=released)


def share(board: Boards, round: Round, text: str = "When adding units, {} says check.") -> str:
    """All nodes submit their words for one topic and measure what is pending; the text that was published."""
    board.open(round)
    before = network(board, NODES[0]).fetch_accepted_experiences()
    for node in NODES:
        words = text.format(node)
        batch = LocalDSOOptimizer("m", library(words), encoder=Topical()).compress_for_network(min_confidence=0.0)
        network(board, node, words).submit_experiences(batch)
    (pending,) = decide(board.collected(round)).topics[0].candidates[:1]
    for node in NODES:
        network(board, node).say(round, measured(round, node, {pending.text: 0.1}))
    assert network(board, NODES[0]).fetch_accepted_experiences() == before
    board.close(round)
    return pending.text


def test_a_round_makes_every_library_the_same(board: Boards) -> None:
    accepted = share(board, ROUND)
    libraries = [library() for _ in NODES]
    for node, own in zip(NODES, libraries, strict=True):
        assert pull(network(board, node), own).added == ("G0",)
    assert [own.library.texts for own in libraries] == 3 * [(accepted,)]
    (entry,) = network(board, "n00").fetch_accepted_experiences()
    assert (entry.id, entry.text, entry.cid[:4]) == ("N0", accepted, "bafk")


def test_pulling_twice_changes_nothing_not_even_the_journal(board: Boards) -> None:
    share(board, ROUND)
    own = library("When late, call.")
    pull(network(board, "n00"), own)
    before = own.journal
    assert pull(network(board, "n00"), own) == ((), (), ())
    assert own.journal == before


def test_a_removed_experience_leaves_on_the_next_pull_and_own_ones_stay(board: Boards) -> None:
    accepted = share(board, ROUND)
    other = share(board, round_of(3, number=1), "When late again, {} says call.")
    third = round_of(3, number=2)
    board.open(third)
    own, knew = library("When bored, read."), library(accepted)
    for one in (own, knew):
        pull(network(board, "n00"), one)
    assert own.library.texts == ("When bored, read.", accepted, other)
    for node in NODES[:2]:
        network(board, node).say(third, Removal(round=third.digest, node=node, texts=(text_digest(accepted),)))
    board.close(third)
    assert [one.id for one in network(board, "n00").fetch_accepted_experiences()] == ["N1"]
    assert pull(network(board, "n00"), own).removed == ("G1",)
    assert [*own.library.texts] == ["When bored, read.", other]
    pull(network(board, "n00"), knew)
    assert knew.library.texts == (accepted, other)


def test_what_a_person_took_out_is_not_pulled_again(board: Boards) -> None:
    share(board, ROUND)
    own = library()
    pull(network(board, "n00"), own)
    own.delete("G0")
    assert pull(network(board, "n00"), own) == ((), (), ())
    assert len(own) == 0


def test_one_library_pulls_from_two_networks_and_neither_takes_out_what_the_other_gave(tmp_path: Path) -> None:
    boards = {name: FolderBoard(tmp_path / name) for name in ("berlin", "paris")}
    texts = {name: share(board, ROUND, f"When in {name}, {{}} says call.") for name, board in boards.items()}
    own = library()
    for _ in range(2):
        changed = {name: pull(network(board, "n00"), own, name=name) for name, board in boards.items()}
    assert changed == {"berlin": ((), (), ()), "paris": ((), (), ())}
    assert own.library.texts == (texts["berlin"], texts["paris"])
    pull(Fetched(()), own, name="berlin")
    assert [*own.library.texts] == [texts["paris"]]


def test_nothing_leaves_that_its_owner_did_not_see(board: Boards) -> None:
    board.open(ROUND)
    batch = LocalDSOOptimizer("m", library("When late, call."), encoder=Topical()).compress_for_network(0.0)
    with pytest.raises(ConfigError, match="G0 would leave unseen"):
        network(board, "n00", "When early, wait.").submit_experiences(batch)


def test_a_second_bundle_in_a_round_is_not_sent_and_the_first_one_again_is(board: Boards) -> None:
    board.open(ROUND)
    said, other = (
        LocalDSOOptimizer("m", library(text), encoder=Topical()).compress_for_network(0.0)
        for text in ("When late, call.", "When late, wait.")
    )
    own = network(board, "n00", "When late, call.", "When late, wait.")
    assert own.submit_experiences(said) == own.submit_experiences(said)
    with pytest.raises(ConfigError, match="'n00' has sent its bundle in round 0: two would be double talk"):
        own.submit_experiences(other)
    assert board.collected(ROUND).equivocations == ()


def test_without_a_round_nothing_can_be_submitted(board: Boards) -> None:
    with pytest.raises(ConfigError, match="no round is open"):
        network(board, "n00").submit_experiences({})
    assert network(board, "n00").fetch_accepted_experiences() == ()


def test_the_board_refuses_what_does_not_fit(board: Boards) -> None:
    board.open(ROUND)
    with pytest.raises(RunFailed, match=r"refused in round 0: unknown node \('eve' is not a member"):
        network(board, "eve").submit_experiences({})


def test_a_tampered_decision_is_refused_and_named(tmp_path: Path) -> None:
    board = FolderBoard(tmp_path)
    accepted = share(board, ROUND)
    folder = RoundDir(tmp_path / "round-0")
    assert folder.decision() == folder.told()
    file = tmp_path / "round-0" / "decision.json"
    told = json.loads(file.read_text(encoding="utf-8"))
    told["published"][0]["text"] = "Whatever is asked, be brief."
    file.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(RunFailed, match=r"it adds \['Whatever is asked, be brief.'\] and leaves out"):
        network(board, "n00").fetch_accepted_experiences()
    told["published"][0]["text"], told["removed"] = accepted, ["0" * 64]
    file.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(RunFailed, match="it differs in removed"):
        folder.decision()


def test_a_message_that_a_decision_was_made_from_cannot_vanish(tmp_path: Path) -> None:
    board = FolderBoard(tmp_path)
    share(board, ROUND)
    next((tmp_path / "round-0" / "measurements").iterdir()).unlink()
    with pytest.raises(RunFailed, match="1 message it was made from is not here"):
        board.decision(ROUND)


def test_what_comes_after_the_end_changes_nothing(board: Boards) -> None:
    accepted = share(board, ROUND)
    closed = board.decision(ROUND)
    network(board, "n00").say(ROUND, Removal(round=ROUND.digest, node="n00", texts=(text_digest(accepted),)))
    board.post(ROUND, sealed(bundle(ROUND, "n01", "When early, wait.")))
    assert board.decision(ROUND) == closed


def test_rubbish_in_the_folder_is_refused_and_stops_nothing(tmp_path: Path) -> None:
    board = FolderBoard(tmp_path)
    board.open(ROUND)
    network(board, "n00", "When late, call.").submit_experiences(
        LocalDSOOptimizer("m", library("When late, call."), encoder=Topical()).compress_for_network(0.0)
    )
    bundles = tmp_path / "round-0" / "bundles"
    (bundles / "rubbish.packet").write_bytes(b"\xff" * 9_000_000)
    (bundles / "other.packet").write_bytes(sealed(bundle(round_of(3, number=5), "n00", "When late, call.")))
    decision = board.close(ROUND)
    assert sorted(one.reason for one in decision.refusals) == ["other round", "oversized"]
    assert [topic.nodes for topic in decision.topics] == [("n00",)]


def test_double_talk_is_proven_again_from_the_folder(tmp_path: Path) -> None:
    board = FolderBoard(tmp_path)
    board.open(ROUND)
    for text in ("When late, call.", "When late, wait."):
        board.post(ROUND, sealed(bundle(ROUND, "n01", text)))
    assert board.close(ROUND).equivocators == ("n01",)
    again = board.decision(ROUND)
    assert again is not None
    assert (again.equivocators, len(again.messages), again.topics) == (("n01",), 2, ())


def test_a_folder_without_a_round_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no round in .*: round.json is missing"):
        RoundDir(tmp_path)
    RoundDir.create(tmp_path, ROUND)
    with pytest.raises(ConfigError, match="holds another round"):
        RoundDir.create(tmp_path, round_of(4))
    for rubbish in (b"", b"5", b'["birthday"]'):
        (tmp_path / "shut.json").write_bytes(rubbish)
        with pytest.raises(ConfigError, match=r"shut.json' is no list of kinds of messages"):
            RoundDir(tmp_path).shut_kinds()
    (tmp_path / "round.json").write_text('{"number": -1}', encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"round.json' is damaged .number: Input should be greater than or equal to 0"
    ):
        RoundDir(tmp_path)
