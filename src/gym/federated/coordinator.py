"""The server's side of a round: share, align, gate, publish. It moves packets and asks; what it decides nobody believes.

Its board is its memory: it can be stopped at any moment, and goes on with the same round when it is started again. A
member that is silent is waited for once, and then for as long as it takes the others; what it says later still counts
where it is not late.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gym.core.text import count
from gym.errors import RunFailed
from gym.federated.boards import Board
from gym.federated.carrier import Answered, Carrier
from gym.federated.decision import Decision
from gym.federated.exchange import Answer, Ask, Step, encode, read_answer
from gym.federated.history import History
from gym.federated.inbox import MOST_MESSAGES, Collected
from gym.federated.merge import Prepared, decide, prepare
from gym.federated.messages import Kind
from gym.federated.packet import Received, kind_of_packet, unseal
from gym.federated.quorum import confirmed_by, holds
from gym.federated.round import Round, two_thirds
from gym.federated.team import Team

Progress = Callable[[str, int, int], None]
"""Told the step, how many nodes have answered, and of how many."""
MOST_CHARACTERS = 300
"""Of a node's reason that are said."""
MOST_CHECKS = 5
"""Of one round, before it is left open."""


@dataclass
class Coordinator:
    """Plays rounds over a carrier."""

    team: Team
    board: Board
    carrier: Carrier
    patience_s: float = 600.0
    """For one step: how long the slowest node may take."""
    say: Callable[[str], None] = lambda text: None
    progress: Progress = lambda step, done, of: None
    renewed: Callable[[], Team] | None = None
    """The team as it is when a round begins: members may have joined since the last."""
    libraries: dict[str, str] = field(default_factory=dict)
    """By node, the digest of the library that it has after the last round."""
    _has: dict[str, set[bytes]] = field(default_factory=dict)
    """By node, packets that it has answered to: they are not sent again."""
    _here: frozenset[str] = frozenset()
    """Nodes that answered the last step."""
    _left: frozenset[str] = frozenset()
    """Nodes that said they lack something, and were silent when they were given it: not given it again in this round."""

    def __post_init__(self) -> None:
        self.history = History(self.board)

    def play(self, rounds: int) -> Sequence[Decision]:
        """So many rounds, the one that was left open first; raises `RunFailed` when too few nodes sign a decision."""
        return [self._play() for _ in range(rounds)]

    def _play(self) -> Decision:
        round = self._current()
        self._here, self._left = frozenset(member.address for member in round.members), frozenset()
        self.say(f"round {round.number} of {count(round.n, 'node')}")
        if (decision := self.board.decision(round)) is None:
            decision = self._decide(round)
        self._confirm(round, decision)
        self._publish(round, decision)
        return decision

    def _current(self) -> Round:
        """The round that is open, or closed without enough signatures; else a new one."""
        rounds = self.board.rounds()
        if rounds and not self._is_signed(rounds[-1]):
            return rounds[-1]
        self.team = self.renewed() if self.renewed else self.team
        self.board.open(round := self.team.next_round(self.history.decisions()))
        return round

    def _is_signed(self, round: Round) -> bool:
        decision = self.board.decision(round)
        return decision is not None and holds(
            round, confirmed_by(round, self.board.confirmations(round), decision.digest)
        )

    def _decide(self, round: Round) -> Decision:
        self._until_shut("share", round, "bundle")
        self._until_shut("review", round, "review")
        prepared: Prepared = prepare(collected := self.board.collected(round))
        self._told_refusals(collected)
        while (decision := decide(self.board.collected(round), prepared=prepared)).pending:
            before = decision.messages
            self._step("measure", round)
            if self.board.collected(round).cids == before:
                self.say(f"  {count(len(decision.pending), 'text')} left open: nobody measures more")
                break
        return self._agreed(round, prepared)

    def _agreed(self, round: Round, prepared: Prepared) -> Decision:
        """The decision that enough members will sign, closed; each signs one, so they are asked before any does.

        Who was too slow for a step brings with its answer what it had said, and then that counts too.
        """
        for _ in range(MOST_CHECKS):
            decision = decide(self.board.collected(round), prepared=prepared)
            answers = self._step("check", round, decision)
            if holds(round, agree := [node for node, answer in answers.items() if not answer.refused]):
                return self.board.close(round, decision.messages)
            if self.board.collected(round).cids == decision.messages:
                break
        raise RunFailed(_too_few(round, agree))

    def _until_shut(self, step: Step, round: Round, kind: Kind) -> None:
        """Ask for what is taken in this step alone; not again after a restart.

        It ends when enough members have spoken in every step so far: a node signs no decision without what it said.
        """
        if self.board.is_shut(round, kind):
            return
        self._step(step, round)
        said = self.board.collected(round).messages
        spoken = [{one.message.node for one in said if one.kind == each} for each in ("bundle", kind)]
        if not holds(round, nodes := sorted(set.intersection(*spoken))):
            raise RunFailed(_too_few(round, nodes))
        self.board.shut(round, kind)

    def _confirm(self, round: Round, decision: Decision) -> None:
        self._step("confirm", round, decision)
        nodes = confirmed_by(round, self.board.confirmations(round), decision.digest)
        if not holds(round, nodes):
            raise RunFailed(_too_few(round, nodes))

    def _publish(self, round: Round, decision: Decision) -> None:
        self.libraries.clear()
        self._step("publish", round, decision)
        known = set(self.libraries.values())
        self.say(
            f"  {count(len(decision.published), 'text')} published, on {count(len(self.libraries), 'node')}"
            + ("" if len(known) < 2 else f", which hold {len(known)} different libraries")
        )

    def _step(self, step: Step, round: Round, decision: Decision | None = None) -> Mapping[str, Answer]:
        """Ask every member, and keep what they say; over when those that answered the last step have answered.

        Who lacks something is given it, and asked once more; who is silent then is waited for no longer.
        """
        members = [member.address for member in round.members]
        told = self._asked(step, round, decision, members, wait_for=self._here)
        if silent := self._here - told.keys():
            self.say(f"  {step}: silent {', '.join(sorted(silent))}")
        self._here = frozenset(told)
        if behind := {
            node: answer.closed for node, answer in told.items() if answer.missing and node not in self._left
        }:
            told |= self._caught_up(step, round, decision, behind)
        return told

    def _caught_up(
        self, step: Step, round: Round, decision: Decision | None, behind: Mapping[str, int]
    ) -> Mapping[str, Answer]:
        """The answers of nodes to which only so many rounds are over, when they have the others."""
        here = set(behind)
        for past, decided in zip(self.board.rounds(), self.history.decisions(), strict=False):
            if lacking := [node for node in here if behind[node] <= past.number < round.number]:
                here -= {*lacking} - {*self._asked("publish", past, decided, lacking, wait_for=frozenset(lacking))}
        told = self._asked(step, round, decision, sorted(here), wait_for=frozenset(here)) if here else {}
        self._left |= behind.keys() - told.keys()
        self._here -= self._left
        return told

    def _asked(
        self, step: Step, round: Round, decision: Decision | None, nodes: Sequence[str], *, wait_for: frozenset[str]
    ) -> dict[str, Answer]:
        """The answers of the nodes, by node, as far as they come before all of `wait_for` have answered."""
        packets, answers = self._packets(round, decision), dict[str, Answer]()
        asks = {node: self._ask(step, round, decision, packets - self._has.get(node, set())) for node in nodes}
        for told in self.carrier.ask(asks, patience_s=self.patience_s):
            answers[told.node] = self._take(told, step, round, packets)
            self.progress(step, len(answers), len(nodes))
            if wait_for <= answers.keys():
                break
        return answers

    def _ask(self, step: Step, round: Round, decision: Decision | None, packets: set[bytes]) -> bytes:
        return encode(
            Ask(
                step=step,
                round=round.model_dump_json().encode(),
                packets=tuple(sorted(packets)),
                messages=decision.messages if decision else None,
                decision=decision.digest if decision else None,
            )
        )

    def _packets(self, round: Round, decision: Decision | None) -> set[bytes]:
        """What nodes must have for a step: all that counts, the proofs of double talk, and at the end the signatures."""
        collected = self.board.collected(round, None if decision is None else decision.messages)
        proofs = [packet for proof in collected.equivocations for packet in (proof.first, proof.second)]
        return {*(one.packet for one in collected.messages), *proofs, *self.board.confirmations(round)}

    def _take(self, told: Answered, step: Step, round: Round, sent: set[bytes]) -> Answer:
        answer = read_answer(told.answer) or Answer(refused="it answers with something else")
        for packet in answer.packets[:MOST_MESSAGES]:
            self._keep(told.node, packet, round)
        if answer.refused:
            does = "is catching up" if answer.missing else "refuses"
            self.say(f"  {step}: {told.node} {does}: {answer.refused[:MOST_CHARACTERS]}")
        if answer.missing:
            self._has.pop(told.node, None)
        elif not answer.refused:
            self._has.setdefault(told.node, set()).update(sent)
        if answer.library is not None:
            self.libraries[told.node] = answer.library
        return answer

    def _keep(self, node: str, packet: bytes, round: Round) -> None:
        """A packet that is signed by whom it came from; why not, is said."""
        received = unseal(packet, round)
        if isinstance(received, Received) and received.message.node != node:
            self.say(f"  {node} brings a {received.kind} of {received.message.node!r}: not taken")
            return
        if (refusal := self.board.post(round, packet)) and refusal.reason != "late":
            self.say(
                f"  a {kind_of_packet(packet) or 'packet'} of {node} is refused: {refusal.reason} ({refusal.detail})"
            )

    def _told_refusals(self, collected: Collected) -> None:
        for proof in collected.equivocations:
            self.say(f"  {proof.node} said two things, and counts for nothing in this round")


def _too_few(round: Round, nodes: Sequence[str]) -> str:
    return (
        f"round {round.number} has the word of {count(len(nodes), 'node')} ({', '.join(nodes) or 'none'}), "
        f"{two_thirds(round.n)} needed: start it again when more are here"
    )
