"""Whole rounds between a server and nodes: what is published, who refuses what, and what a stop in the middle loses."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from gym.embedding import Embedder
from gym.errors import ConfigError, RunFailed
from gym.federated.boards import Board, FolderBoard, MemoryBoard
from gym.federated.carrier import Answered, Direct, answered
from gym.federated.coordinator import Coordinator
from gym.federated.exchange import Answer, Ask, Step, encode, read_answer, read_ask
from gym.federated.history import library_digest
from gym.federated.messages import Bundle, Confirmation, Evidence, Item, Review, text_digest
from gym.federated.node import Node
from gym.federated.packet import Received, seal, unseal
from gym.federated.round import Round
from gym.federated.team import Team
from tests.federated.house import MODEL, bundle, key
from tests.federated.teams import FOUR, NAMES, node_of, offers, team_of


@dataclass
class Troubled:
    """A carrier that loses what it is told to, or has something done before each step."""

    nodes: dict[str, Node]
    lost: Callable[[str, Step], bool] = lambda node, step: False
    forged: Callable[[str, Answer], Answer] = lambda node, answer: answer
    step: Step = "share"

    def ask(self, asks: Mapping[str, bytes], *, patience_s: float) -> Iterator[Answered]:
        return iter([*self._answers(asks)])

    def _answers(self, asks: Mapping[str, bytes]) -> Iterator[Answered]:
        for name, data in asks.items():
            ask = read_ask(data)
            assert ask is not None
            self.step = ask.step
            if not self.lost(name, ask.step):
                answer = read_answer(answered(self.nodes[name], data))
                assert answer is not None
                yield Answered(name, encode(self.forged(name, answer)))


@dataclass
class World:
    """A team in one process: a board for each, as on machines of their own."""

    names: tuple[str, ...] = NAMES
    root: Path | None = None
    """Where the boards are folders."""
    heard: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.team = team_of(self.names)
        self.nodes = {name: node_of(name, self.team, self.made(name)) for name in self.names}
        self.carrier = Troubled(dict(self.nodes))
        self.board = self.made("server")

    def made(self, name: str) -> Board:
        return FolderBoard(self.root / name) if self.root else MemoryBoard()

    def server(self) -> Coordinator:
        """Started afresh."""
        return Coordinator(self.team, self.board, self.carrier, patience_s=1.0, say=self.heard.append)

    def texts(self, name: str) -> list[str]:
        return [entry.text for entry in self.nodes[name].history.library()]

    def libraries(self) -> set[str]:
        return {library_digest(node.history.library()) for node in self.nodes.values()}

    def told(self, words: str) -> bool:
        return any(words in line for line in self.heard)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def four() -> World:
    return World(FOUR)


@pytest.mark.parametrize("folders", [False, True])
def test_two_rounds_end_with_one_library_on_every_node(tmp_path: Path, folders: bool) -> None:
    world = World(root=tmp_path if folders else None)
    (first,) = world.server().play(1)
    for name in NAMES:
        world.carrier.nodes[name] = replace(world.nodes[name], offers=offers(f"When it is late, {name} says check."))
    (second,) = world.server().play(1)
    assert world.texts("n00") == [first.published[0].text, second.published[0].text]
    assert len(world.libraries()) == 1
    assert set(second.measured).isdisjoint(first.measured)


@pytest.mark.parametrize("others", [1, 2])
def test_the_same_words_under_two_domains_are_measured_once_and_hold_nothing_up(four: World, others: int) -> None:
    text, plain = "When it is late, all say check.", "When adding units, nobody says check."

    def both(domain: str) -> Callable[[Embedder], Sequence[Item]]:
        return lambda encoder: (*offers(text, domain=domain)(encoder), *offers(plain)(encoder))

    for place, name in enumerate(FOUR):
        own = both("other" if place < others else "support")
        four.carrier.nodes[name] = replace(four.nodes[name], offers=own)
    (decision,) = four.server().play(1)
    assert {one.text for one in decision.published} == {text, plain}
    assert not four.told("refuses")
    assert len(four.libraries()) == 1


def test_in_memory_it_is_the_same_round() -> None:
    team = team_of(NAMES)
    nodes = {name: node_of(name, team, MemoryBoard()) for name in NAMES}
    server = Coordinator(team, MemoryBoard(), Direct(nodes))
    (decision,) = server.play(1)
    assert len(decision.published) == 1
    assert set(server.libraries.values()) == {library_digest(node.history.library()) for node in nodes.values()}


@pytest.mark.parametrize("step", ["share", "review", "measure", "check", "confirm", "publish"])
def test_a_node_that_dies_in_any_step_is_survived_and_catches_up(world: World, step: Step) -> None:
    steps: list[Step] = ["share", "review", "measure", "check", "confirm", "publish"]
    dead = set(steps[steps.index(step) :])
    world.carrier.lost = lambda node, step: node == "n02" and step in dead
    world.server().play(1)
    assert len(world.texts("n00")) == 1
    assert world.texts("n00") == world.texts("n01") != world.texts("n02")
    assert world.told(f"{step}: silent n02")
    world.carrier.lost = lambda node, step: False
    world.server().play(1)
    assert len(world.libraries()) == 1


def test_who_was_away_for_rounds_gets_them_all_before_the_next(world: World) -> None:
    world.carrier.lost = lambda node, step: node == "n02"
    world.server().play(2)
    assert world.nodes["n02"].board.rounds() == ()
    world.carrier.lost = lambda node, step: False
    (third,) = world.server().play(1)
    assert len(world.nodes["n02"].history.decisions()) == 3
    assert world.told("share: n02 is catching up: round 0 is not closed here yet")
    assert not world.told("n02 refuses")
    assert "n02" in {one.message.node for one in world.board.collected(world.board.rounds()[2]).messages}
    assert (third.number, len(world.libraries())) == (2, 1)


def test_who_says_it_is_behind_and_is_silent_then_is_waited_for_once(four: World) -> None:
    """Else one liar could take the server's patience for every past round in every step."""
    four.server().play(3)
    alone = list[Step]()

    class Lies(Troubled):
        def ask(self, asks: Mapping[str, bytes], *, patience_s: float) -> Iterator[Answered]:
            if [*asks] == ["n03"]:
                return self._waits(asks["n03"])
            return super().ask(asks, patience_s=patience_s)

        def _waits(self, data: bytes) -> Iterator[Answered]:
            ask = read_ask(data)
            assert ask is not None
            alone.append(ask.step)
            yield from ()

    four.carrier = Lies(
        four.carrier.nodes,
        forged=lambda node, answer: (
            answer.model_copy(update={"missing": True, "closed": 0}) if node == "n03" else answer
        ),
    )
    four.server().play(1)
    assert alone == ["publish"]


@pytest.mark.parametrize("opened", [1, 2])
def test_who_joins_later_checks_the_rounds_before_and_takes_part_in_the_next(world: World, opened: int) -> None:
    """Be the newest round closed or left open when it joins: then it plays no part in that one."""
    world.server().play(1)
    if opened == 2:
        world.carrier.lost = lambda node, step: step == "confirm"
        with pytest.raises(RunFailed):
            world.server().play(1)
        world.carrier.lost = lambda node, step: False
    new = team_of(FOUR).cards[-1]
    world.team = world.team.with_card(new, since=len(world.board.rounds()))
    world.carrier.nodes["n03"] = node_of("n03", world.team, MemoryBoard(), "When it is late, n03 says check.")
    for name in NAMES:
        world.carrier.nodes[name] = replace(world.nodes[name], team=world.team)
    world.heard.clear()
    *_, last = world.server().play(opened)
    assert (last.number, last.n) == (opened, 4)
    assert "n03" in {one.message.node for one in world.board.collected(world.board.rounds()[-1]).messages}
    assert world.texts("n00") == [entry.text for entry in world.carrier.nodes["n03"].history.library()] != []
    assert not world.told("silent")


def test_running_nodes_and_a_running_server_notice_who_joins(world: World) -> None:
    """Between two rounds of one command, with the files that each has in its folder."""
    own: list[str] = []
    later = world.team.with_card(team_of(FOUR).cards[-1], since=1)
    for name in NAMES:
        world.carrier.nodes[name] = replace(world.nodes[name], renewed=lambda: later, say=own.append)
    world.carrier.nodes["n03"] = node_of("n03", later, MemoryBoard(), "When it is late, n03 says check.")
    server = replace(world.server(), renewed=lambda: later if world.board.rounds() else world.team)
    first, second = server.play(2)
    assert (first.n, second.n) == (3, 4)
    assert "n03" in {one.message.node for one in world.board.collected(world.board.rounds()[1]).messages}
    assert own.count("team.json has changed: 4 members") == 3
    assert world.texts("n00") == [entry.text for entry in world.carrier.nodes["n03"].history.library()] != []


def test_a_node_whose_file_is_old_damaged_or_of_other_rules_says_what_to_do(world: World) -> None:
    def broken() -> Team:
        raise ConfigError("/home/jo/team.json: line 1")

    later = world.team.with_card(team_of(FOUR).cards[-1])
    ask = Ask(step="share", round=later.next_round(()).model_dump_json().encode())
    told = {
        "old": lambda: world.team,
        "damaged": broken,
        "rules": lambda: later.model_copy(update={"standard_errors": 2.0}),
    }
    refused = {name: replace(world.nodes["n00"], renewed=now).answer(ask).refused for name, now in told.items()}
    assert refused == {
        "old": "round 0 has other members than this node's team.json: its folder needs the server's team.json",
        "damaged": "this node's team.json cannot be used: ConfigError",
        "rules": "team.json has other rules than when this node was started: restart it",
    }


def test_who_joins_after_the_rules_changed_takes_the_rounds_that_their_members_signed(world: World) -> None:
    world.server().play(1)
    world.team = world.team.model_copy(update={"standard_errors": 2.0}).with_card(team_of(FOUR).cards[-1], since=1)
    world.carrier.nodes["n03"] = node_of("n03", world.team, MemoryBoard(), "When it is late, n03 says check.")
    for name in NAMES:
        world.carrier.nodes[name] = replace(world.nodes[name], team=world.team)
    world.server().play(1)
    assert world.texts("n00") == [entry.text for entry in world.carrier.nodes["n03"].history.library()] != []


def test_unsigned_a_round_of_other_rules_is_refused(world: World) -> None:
    world.carrier.lost = lambda node, step: step == "confirm"
    with pytest.raises(RunFailed):
        world.server().play(1)
    new = node_of("n03", world.team.model_copy(update={"standard_errors": 2.0}), MemoryBoard())
    assert new.answer(asked(world, "publish")).refused == "round 0 has other standard_errors than this node's team.json"


@pytest.mark.parametrize("place", [0, 2, 3, 5, 7, 8, 10, 13, 16])
def test_a_server_that_stops_anywhere_goes_on_with_the_same_round(tmp_path: Path, place: int) -> None:
    world = World(root=tmp_path if place % 5 == 0 else None)

    class Stopped(Exception):
        pass

    left = iter(range(place))

    def stop(node: str, step: Step) -> bool:
        if next(left, None) is None:
            raise Stopped
        return False

    world.carrier.lost = stop
    with pytest.raises(Stopped):
        world.server().play(1)
    world.carrier.lost = lambda node, step: False
    (decision,) = world.server().play(1)
    first = world.server().history.decisions()[0].published[0]
    assert decision.number == (1 if place > 14 else 0)
    assert world.texts("n00") == [first.text]
    assert len(world.libraries()) == 1


def test_a_node_that_restarts_says_what_it_said_before(tmp_path: Path) -> None:
    world = World(root=tmp_path)
    world.server().play(1)
    again = node_of("n00", world.team, FolderBoard(tmp_path / "n00"), "When it is late, check.")
    ask = Ask(step="share", round=world.board.rounds()[0].model_dump_json().encode())
    said = [unseal(packet, world.board.rounds()[0]) for packet in again.answer(ask).packets]
    assert all(isinstance(one, Received) for one in said)
    assert len([one for one in said if isinstance(one, Received) and isinstance(one.message, Bundle)]) == 1


def test_too_few_signatures_leave_the_round_open_and_it_is_signed_later(world: World) -> None:
    world.carrier.lost = lambda node, step: node != "n00" and step == "confirm"
    with pytest.raises(RunFailed, match=r"round 0 has the word of 1 node \(n00\), 2 needed"):
        world.server().play(1)
    assert world.texts("n00") == []
    world.carrier.lost = lambda node, step: False
    world.server().play(1)
    assert len(world.texts("n00")) == 1


@pytest.mark.parametrize("step", ["share", "review"])
def test_while_too_few_are_here_nothing_is_shut_so_that_no_word_is_late(world: World, step: Step) -> None:
    world.carrier.lost = lambda node, asked: node != "n00" and asked == step
    with pytest.raises(RunFailed, match=r"round 0 has the word of 1 node \(n00\), 2 needed"):
        world.server().play(1)
    world.carrier.lost = lambda node, asked: False
    (decision,) = world.server().play(1)
    assert decision.topics[0].nodes == NAMES
    assert len(world.libraries()) == 1


def test_nodes_too_slow_for_a_step_bring_what_they_said_and_it_counts(four: World) -> None:
    """Their answers to `measure` came too late: a decision without them would never be signed by enough."""
    slow = ("n01", "n02")

    def without(node: str, answer: Answer) -> Answer:
        late = node in slow and four.carrier.step == "measure"
        return replace_packets(answer, [] if late else answer.packets)

    four.carrier.forged = without
    (decision,) = four.server().play(1)
    assert len(decision.published) == 1
    assert four.told("check: n01 refuses: it leaves out 1 message of this node")
    assert len(four.libraries()) == 1


def test_a_straggler_is_late_and_still_gets_the_library(four: World) -> None:
    four.carrier.lost = lambda node, step: node == "n03" and step == "share"
    (decision,) = four.server().play(1)
    assert all("n03" not in topic.nodes for topic in decision.topics)
    assert len(four.libraries()) == 1


# What a server could try.


def asked(world: World, step: Step, **changes: object) -> Ask:
    """An honest question about the round that was played last."""
    round = world.board.rounds()[-1]
    decision = world.board.decision(round)
    assert decision is not None
    collected = world.board.collected(round, decision.messages)
    packets = tuple(one.packet for one in collected.messages)
    made = {"step": step, "round": round.model_dump_json().encode(), "packets": packets}
    return Ask.model_validate(made | {"messages": decision.messages, "decision": decision.digest} | changes)


def unsigned(world: World) -> World:
    """A round that was decided, and signed by nobody."""
    world.carrier.lost = lambda node, step: step == "confirm"
    with pytest.raises(RunFailed):
        world.server().play(1)
    return world


def test_a_tampered_decision_is_signed_by_nobody(world: World) -> None:
    answer = unsigned(world).nodes["n00"].answer(asked(world, "confirm", decision="0" * 64))
    assert "00000000… is not what its messages give" in answer.refused


def test_a_decision_that_leaves_out_what_a_node_said_is_not_signed_by_it(world: World) -> None:
    told = asked(unsigned(world), "confirm")
    assert told.messages is not None
    mine = {
        one.cid
        for one in world.nodes["n00"].board.collected(world.board.rounds()[0]).messages
        if one.message.node == "n00"
    }
    kept = tuple(cid for cid in told.messages if cid not in mine)
    decision = world.board.close(world.board.rounds()[0], kept)
    answer = world.nodes["n00"].answer(told.model_copy(update={"messages": kept, "decision": decision.digest}))
    assert answer.refused == "it leaves out 3 messages of this node"


def test_nothing_is_published_that_two_thirds_did_not_sign(world: World) -> None:
    answer = unsigned(world).nodes["n00"].answer(asked(world, "publish"))
    assert "is signed by 0 nodes, 2 needed" in answer.refused
    assert world.texts("n00") == []


def test_a_node_signs_one_decision_a_round(four: World) -> None:
    four.server().play(1)
    round = four.board.rounds()[0]
    less = [
        one.cid
        for one in four.board.collected(round).messages
        if not (one.message.node == "n03" and one.kind == "measurement")
    ]
    other = four.board.close(round, less)
    answer = four.nodes["n00"].answer(asked(four, "confirm", messages=other.messages, decision=other.digest))
    assert answer.refused == "this node has signed another decision of round 0"


def test_a_round_with_other_members_or_begun_twice_is_refused(world: World) -> None:
    more = team_of((*NAMES, "eve")).next_round(())
    node = world.nodes["n00"]
    refused = node.answer(Ask(step="share", round=more.model_dump_json().encode())).refused
    assert refused == "round 0 has other members than this node's team.json"
    world.server().play(1)
    assert "is another one here" in node.answer(Ask(step="share", round=more.model_dump_json().encode())).refused
    assert node.answer(Ask(step="share", round=b"{}")).refused == "that is no round"


def test_texts_that_were_tried_before_cannot_be_hidden(world: World) -> None:
    world.server().play(1)
    forgetful = world.team.next_round(world.server().history.decisions()).model_copy(update={"tried": ()})
    answer = world.nodes["n00"].answer(Ask(step="share", round=forgetful.model_dump_json().encode()))
    assert answer.refused == "round 1 has other tried than this node's team.json"


@pytest.mark.parametrize("step", ["measure", "check", "publish"])
def test_a_bundle_that_comes_in_after_the_review_is_not_taken(four: World, step: Step) -> None:
    unsigned(four)
    round, node = four.board.rounds()[0], four.nodes["n00"]
    late = seal(bundle(round, "n03", "When adding units, guess."), key("n03"))
    before = len(node.board.collected(round).messages)
    node.answer(asked(four, step, packets=(late,)))
    assert len(node.board.collected(round).messages) == before


def test_rubbish_is_no_question(world: World) -> None:
    for data in (b"", b"\xff" * 100, encode(Answer())):
        answer = read_answer(answered(world.nodes["n00"], data))
        assert answer is not None
        assert answer.refused == "that is no question of a round"


# What a node could try.


def bad(world: World, name: str, *packets: bytes) -> None:
    """Let a node send these packets instead of its own, once it is asked to share."""
    world.carrier.forged = lambda node, answer: replace_packets(answer, packets) if node == name else answer


def replace_packets(answer: Answer, packets: Sequence[bytes]) -> Answer:
    return answer.model_copy(update={"packets": tuple(packets)})


def first_round(world: World) -> Round:
    return world.team.next_round(())


def nan_scale(round: Round) -> bytes:
    item = Item(text="When late, check.", code=b"\0" * 48 + b"\0\0\xc0\x7f", evidence=Evidence(confidence=0.5))
    return seal(Bundle(round=round.digest, node="n03", encoder=round.encoder, model=MODEL, items=(item,)), key("n03"))


BAD: Mapping[str, tuple[str, Callable[[Round], Sequence[bytes]]]] = {
    "bad signature": ("bad signature", lambda round: [seal(bundle(round, "n03", "When late, check."), key("eve"))]),
    "unregistered": ("unknown node", lambda round: [seal(bundle(round, "eve", "When late, check."), key("eve"))]),
    "replayed": (
        "other round",
        lambda round: [seal(bundle(round.model_copy(update={"number": 7}), "n03", "When late, check."), key("n03"))],
    ),
    "oversized": ("oversized", lambda round: [b"\xff" * 9_000_000]),
    "nan": ("not finite", lambda round: [nan_scale(round)]),
    "another's": (
        "brings a bundle of 'n00'",
        lambda round: [seal(bundle(round, "n00", "When late, check."), key("n00"))],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_packet_is_refused_with_its_reason_and_stops_nothing(four: World, name: str) -> None:
    reason, made = BAD[name]
    bad(four, "n03", *made(first_round(four)))
    (decision,) = four.server().play(1)
    assert four.told(reason), four.heard
    assert len(decision.published) == 1
    assert all("n03" not in topic.nodes for topic in decision.topics)


def test_two_bundles_of_one_node_are_proven_to_all_and_count_for_nothing(four: World) -> None:
    round = first_round(four)
    bad(
        four,
        "n03",
        *[seal(bundle(round, "n03", text), key("n03")) for text in ("When late, check.", "When late, call.")],
    )
    (decision,) = four.server().play(1)
    assert decision.equivocators == ("n03",)
    assert four.told("n03 said two things")
    assert [four.nodes[name].board.decision(round) for name in NAMES] == 3 * [decision]


def test_an_answer_that_is_none_is_said(world: World) -> None:
    class Mad(Troubled):
        def ask(self, asks: Mapping[str, bytes], *, patience_s: float) -> Iterator[Answered]:
            for told in super().ask(asks, patience_s=patience_s):
                yield told._replace(answer=b"rubbish") if told.node == "n02" else told

    world.carrier = Mad(dict(world.nodes))
    world.server().play(1)
    assert world.told("n02 refuses: it answers with something else")


def test_what_goes_wrong_on_a_node_is_told_there_alone(world: World) -> None:
    def broken(encoder: Embedder) -> Sequence[Item]:
        raise ConfigError("/home/jo/secret.json is not here")

    own: list[str] = []
    world.carrier.nodes["n02"] = replace(world.nodes["n02"], offers=broken, say=own.append)
    world.server().play(1)
    assert world.told("n02 refuses: it could not share: ConfigError")
    assert not world.told("secret")
    assert own[0] == "round 0, share: /home/jo/secret.json is not here"


def test_a_text_that_two_thirds_want_out_leaves_every_library(world: World) -> None:
    (first,) = world.server().play(1)
    gone = text_digest(first.published[0].text)
    for name in NAMES[:2]:
        world.carrier.nodes[name] = replace(world.nodes[name], removals=lambda: (gone,), offers=lambda encoder: ())
    (second,) = world.server().play(1)
    assert second.removed == (gone,)
    assert world.texts("n00") == world.texts("n02")
    assert first.published[0].text not in world.texts("n00")


def test_a_confirmation_counts_for_its_round_and_node_alone(world: World) -> None:
    world.server().play(1)
    round = world.board.rounds()[0]
    signed = [unseal(packet, round) for packet in world.board.confirmations(round)]
    messages = [one.message for one in signed if isinstance(one, Received)]
    assert sorted(told.node for told in messages) == [*NAMES]
    assert {told.decision for told in messages if isinstance(told, Confirmation)} == {asked(world, "confirm").decision}
    assert not [one for one in world.board.collected(round).messages if isinstance(one.message, Confirmation)]
    assert [told for told in world.board.collected(round).messages if isinstance(told.message, Review)]
