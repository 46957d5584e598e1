"""A node's side of a round: it says each thing once, keeps what it said, and takes no decision that is not its own.

Its board is its memory. Whatever a server asks, and however often, the node answers from what lies there, and what it has
not said yet it says and keeps before it answers.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import ValidationError

from gym.core.operation import Refused
from gym.core.text import count
from gym.embedding import Embedder
from gym.errors import GymError, RunFailed
from gym.federated.boards import Board
from gym.federated.decision import Decision
from gym.federated.exchange import Answer, Ask
from gym.federated.history import AcceptedExperience, History, library_digest
from gym.federated.inbox import Collected
from gym.federated.merge import Prepared, decide, prepare
from gym.federated.messages import Bundle, Confirmation, Gain, Item, Measurement, Removal, Review, exact_digest
from gym.federated.packet import kind_of_packet
from gym.federated.quorum import confirmed_by, holds
from gym.federated.review import review
from gym.federated.round import Round, two_thirds
from gym.federated.team import TEAM, Team
from gym.federated.voice import Voice
from gym.signing import NodeKey


class Trial(NamedTuple):
    """A text to be measured."""

    text: str
    domain: str


Measure = Callable[[int, Sequence[Trial], Sequence[AcceptedExperience]], Sequence[Gain]]
"""In a round of this number, what a node's own problems say of texts beside what the federation has accepted: the gains of
those that its budget allowed."""


class NotDone(RunFailed):
    """A server asks for what this node will not do."""


class Behind(NotDone):
    """This node lacks packets or earlier rounds."""


@dataclass
class Node:
    """One member, with what it needs to take part."""

    address: str
    key: NodeKey
    team: Team
    board: Board
    encoder: Embedder
    model: str
    offers: Callable[[Embedder], Sequence[Item]]
    """What its owner released, coded."""
    measure: Measure
    removals: Callable[[], Sequence[str]] = tuple
    """Digests of published texts that its owner wants to leave again."""
    refused: Callable[[str], Refused | None] = lambda text: None
    """What its own admission has against a text."""
    published: Callable[[Sequence[AcceptedExperience]], None] = lambda library: None
    """Told of the federation's library whenever a round ends."""
    say: Callable[[str], None] = lambda text: None
    renewed: Callable[[], Team] | None = None
    """Its team as the file is now, asked for when a round does not fit the one it knows."""
    _prepared: dict[str, Prepared] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.history = History(self.board)

    def answer(self, ask: Ask) -> Answer:
        """What the node has said in the round after doing what was asked; a refusal tells why.

        Of what went wrong on this machine nothing leaves but its kind: messages quote paths and addresses.
        """
        try:
            voice = Voice(self.address, self.key, self.board, self._round(ask))
        except NotDone as error:
            self.say(f"{'catching up' if isinstance(error, Behind) else ask.step}: {error}")
            return Answer(refused=str(error), missing=isinstance(error, Behind), closed=len(self.history.decisions()))
        library, why, missing = None, "", False
        try:
            library = self._do(ask, voice)
        except GymError as error:
            self.say(f"round {voice.round.number}, {ask.step}: {error}")
            why = str(error) if isinstance(error, NotDone) else f"it could not {ask.step}: {type(error).__name__}"
            missing = isinstance(error, Behind)
        closed = len(self.history.decisions())
        return Answer(packets=voice.packets(), refused=why, missing=missing, closed=closed, library=library)

    def _round(self, ask: Ask) -> Round:
        """The round that is asked about, if it is one of this node's team."""
        try:
            round = ask.opened
        except ValidationError as error:
            raise NotDone("that is no round") from error
        known = next((one for one in self.board.rounds() if one.number == round.number), None)
        if known is not None and known != round:
            raise NotDone(f"round {round.number} is another one here: none is begun twice")
        if known is None:
            if round.number > len(decisions := self.history.decisions()):
                raise Behind(f"round {len(decisions)} is not closed here yet")
            if misfit := self._misfit(round, ask):
                raise NotDone(misfit)
            self.board.open(round)
        return round

    def _misfit(self, round: Round, ask: Ask) -> str | None:
        """Why the next round is not one of the team's, be it of the team as its file is by now."""
        decisions = self.history.decisions()
        signed = ask.step == "publish" and holds(round, confirmed_by(round, ask.packets, ask.decision or ""))
        wrong = self.team.misfit(round, decisions, signed=signed)
        if wrong is None or self.renewed is None:
            return wrong
        try:
            now = self.renewed()
        except GymError as error:
            self.say(str(error))
            return f"this node's {TEAM} cannot be used: {type(error).__name__}"
        if now == self.team:
            return f"{wrong}: its folder needs the server's {TEAM}"
        if now != self.team.with_members_of(now):
            self.say(told := f"{TEAM} has other rules than when this node was started: restart it")
            return told
        self.say(f"{TEAM} has changed: {count(len(now.cards), 'member')}")
        self.team = now
        return now.misfit(round, decisions, signed=signed)

    def _do(self, ask: Ask, voice: Voice) -> str | None:
        self._take(ask, voice)
        match ask.step:
            case "share":
                self._share(voice)
            case "review":
                self._review(voice)
            case "measure":
                self._measure(voice)
            case "check":
                self._checked(voice, ask)
            case "confirm":
                self._confirm(voice, ask)
            case "publish":
                return self._publish(voice.round, ask)
        return None

    def _take(self, ask: Ask, voice: Voice) -> None:
        """Keep what others said. Once this node has reviewed the bundles it takes no other, so that none comes in unseen;
        what two thirds have signed it takes whole.
        """
        late = {"bundle"} if voice.said(Review) and not self._is_signed(voice.round, ask) else set()
        for packet in ask.packets:
            if kind_of_packet(packet) not in late:
                self.board.post(voice.round, packet)

    def _is_signed(self, round: Round, ask: Ask) -> bool:
        """Whether enough members have signed the decision that is to be published."""
        signed = [*ask.packets, *self.board.confirmations(round)]
        return ask.step == "publish" and holds(round, confirmed_by(round, signed, ask.decision or ""))

    def _share(self, voice: Voice) -> None:
        if voice.said(Bundle):
            return
        round, items = voice.round, tuple(self.offers(self.encoder))
        voice.say(
            Bundle(round=round.digest, node=self.address, encoder=self.encoder.name, model=self.model, items=items)
        )
        if texts := tuple(self.removals()):
            voice.say(Removal(round=round.digest, node=self.address, texts=texts))
        hint = "" if items else ": nothing is released (gym federate preview … --release)"
        self.say(f"round {round.number}: sent {count(len(items), 'experience')}{hint}")

    def _review(self, voice: Voice) -> None:
        if voice.said(Review):
            return
        told = review(self.board.collected(voice.round), node=self.address, encoder=self.encoder, refused=self.refused)
        voice.say(told)
        self.say(f"round {voice.round.number}: {count(len(told.objections), 'objection')}")

    def _measure(self, voice: Voice) -> None:
        decision = self._decided(self.board.collected(voice.round))
        known = {gain.text for told in voice.said(Measurement) for gain in told.gains}
        trials = [trial for trial in _pending(decision) if exact_digest(trial.text) not in known]
        if not trials:
            return
        self.say(f"round {voice.round.number}: measuring {count(len(trials), 'text')}")
        if gains := tuple(self.measure(voice.round.number, trials, self.history.library())):
            voice.say(Measurement(round=voice.round.digest, node=self.address, gains=gains))
        if len(gains) < len(trials):
            self.say(
                f"round {voice.round.number}: the budget left {count(len(trials) - len(gains), 'text')} unmeasured"
            )

    def _checked(self, voice: Voice, ask: Ask) -> Decision:
        """The decision that the server's messages give, if it is the server's, and they hold all this node said."""
        decision = self._from(voice.round, ask.messages or ())
        if decision.digest != ask.decision:
            raise NotDone(f"{_short(ask.decision)} is not what its messages give, which is {_short(decision.digest)}")
        if left_out := voice.cids() - {*decision.messages}:
            raise NotDone(f"it leaves out {count(len(left_out), 'message')} of this node")
        if {told.decision for told in voice.said(Confirmation)} - {decision.digest}:
            raise NotDone(f"this node has signed another decision of round {voice.round.number}")
        return decision

    def _confirm(self, voice: Voice, ask: Ask) -> None:
        decision = self._checked(voice, ask)
        if not voice.said(Confirmation):
            voice.say(Confirmation(round=voice.round.digest, node=self.address, decision=decision.digest))

    def _publish(self, round: Round, ask: Ask) -> str:
        """End the round with the decision that enough members signed, when this node's own is the same."""
        decision = self._from(round, ask.messages or ())
        nodes = confirmed_by(round, self.board.confirmations(round), decision.digest)
        if not holds(round, nodes):
            needed = two_thirds(round.n)
            raise NotDone(
                f"decision {_short(decision.digest)} is signed by {count(len(nodes), 'node')}, {needed} needed"
            )
        if self.board.decision(round) is None:
            self.board.close(round, decision.messages)
            self.say(f"round {round.number}: {count(len(decision.published), 'text')} published")
        self.published(library := self.history.library())
        return library_digest(library)

    def _from(self, round: Round, messages: Collection[str]) -> Decision:
        collected = self.board.collected(round, messages)
        if missing := {*messages} - {*collected.cids}:
            raise Behind(
                f"{count(len(missing), 'message')} of its {len(messages)} {_are(missing)} not here, or not taken"
            )
        return self._decided(collected)

    def _decided(self, collected: Collected) -> Decision:
        """The costly half is kept as long as bundles and reviews stay the same."""
        known = self._prepared.get(collected.round.digest)
        if known is None or not known.fits(collected):
            self._prepared = {collected.round.digest: (known := prepare(collected))}
        return decide(collected, prepared=known)


def _pending(decision: Decision) -> list[Trial]:
    """The texts to be measured, in the order of their digests: with a small budget all nodes begin with the same ones.

    The same words under two domains are one text here, as a node's gain for them counts under both.
    """
    candidates = [(one.digest, one.text, topic.domain) for topic in decision.topics for one in topic.candidates
                  if one.verdict == "open"]  # fmt: skip
    trials = {text: Trial(text, domain) for _, text, domain in sorted(candidates, reverse=True)}
    return [*reversed(trials.values())]


def _short(digest: str | None) -> str:
    return f"{digest[:8]}…" if digest else "nothing"


def _are(things: Collection[object]) -> str:
    return "is" if len(things) == 1 else "are"
