"""What is proposed for removal: what surely harms, and what surely adds too little (issue 5, credit)."""

import json
import random

import pytest

from gym.core.chat import Completion
from gym.core.experience import Add, Applied, Delete, Effect, Evidence, Experience, Library, Modify
from gym.core.journal import record, record_import, replay, undo
from gym.core.operation import Accepted, Admitted, Rejected
from gym.core.reflection import Critique
from gym.core.trials import Trial, Trials
from gym.train.grpo.credit import Credit, boundary, is_harmful, is_useless, removals_alone
from gym.train.grpo.stages.consolidate import consolidate
from gym.train.grpo.stages.flow import Ask, drive
from gym.train.grpo.stages.settings import ReflectionSettings

LIBRARY = Library.of(Experience(id=f"G{n}", text=f"When {n}, do {n}.") for n in range(3))


def effect(mean: float, reach: float = 0.05) -> Effect:
    return Effect(mean=mean, low=mean - reach, high=mean + reach, rollouts=500, problems=100)


@pytest.mark.parametrize(("mean", "harmful"), [(-0.2, True), (-0.1, True), (-0.06, False), (0.2, False)])
def test_harmful_is_what_lies_below_0_at_every_look(mean: float, harmful: bool) -> None:
    assert is_harmful(effect(mean), tried=1) is harmful


def test_the_more_texts_were_tried_the_more_it_takes() -> None:
    assert boundary(500, 0.05) < boundary(500, 0.005) < boundary(500, 0.0005)
    assert is_harmful(effect(-0.085), tried=1)
    assert not is_harmful(effect(-0.085), tried=20)


@pytest.mark.parametrize(
    ("mean", "reach", "useless"),
    [(0.0, 0.05, True), (0.0, 0.07, False), (0.02, 0.03, True), (0.02, 0.01, False), (0.06, 0.05, False)],
)
def test_useless_is_what_surely_adds_less_than_the_margin_unless_it_was_proven(
    mean: float, reach: float, useless: bool
) -> None:
    assert is_useless(effect(mean, reach), margin=0.05) is useless
    assert not is_useless(effect(mean, reach), margin=0.0)


def test_every_harmful_entry_and_the_most_useless_one_are_proposed_with_their_figures() -> None:
    measured = {"G0": effect(-0.3), "G1": effect(0.0), "G2": effect(-0.01), "G3": effect(0.4), "G4": effect(-0.2)}
    found = Credit(margin=0.05).removals(measured, [Trials(texts={"G0": "a"}, groups=())])
    assert [item.id for item in found] == ["G0", "G4", "G2"]
    assert [item.evidence.effect for item in found] == [effect(-0.3), effect(-0.2), effect(-0.01)]


def groups(rng: random.Random, ids: tuple[str, ...]) -> tuple[Trial, ...]:
    """Thirty problems whose answers have nothing to do with what was shown."""
    made = []
    for n in range(30):
        shown = tuple(tuple(id for id in ids if rng.random() < 0.7) for _ in range(5))
        made.append(Trial(problem=f"p{n}", shown=shown, rewards=tuple(float(rng.random() < 0.5) for _ in range(5))))
    return tuple(made)


def test_of_entries_that_do_nothing_hardly_ever_one_is_called_harmful_at_any_of_many_looks() -> None:
    rng, credit, wrong = random.Random(0), Credit(margin=0.0), 0
    for _ in range(20):
        library, past = LIBRARY, list[Trials]()
        for _ in range(6):
            past.append(Trials(texts={e.id: e.text for e in library}, groups=groups(rng, library.ids)))
            library, removals = credit.judged(library, past)
            wrong += len(removals)
    assert wrong <= 1  # 5 % of the runs


def asked(profile: str, removals: tuple[Delete, ...], *adds: str, says: str = "[]") -> tuple[list[Ask], list[object]]:
    """What the controller is asked, and the operations that are left."""
    questions: list[Ask] = []

    def controller(question: Ask) -> Completion:
        questions.append(question)
        return Completion(text=says)

    critiques = [Critique(problem_id="p", operations=tuple(Add(experience=text) for text in adds))]
    settings = ReflectionSettings(profile="small" if profile == "small" else "large")
    made = drive(consolidate(critiques, LIBRARY, settings, seed=0, removals=removals), controller)
    return questions, list(made.operations)


REMOVAL = Delete(id="G1", evidence=Evidence(effect=effect(-0.2)))


def test_the_controller_sees_the_figures_and_its_silence_lets_the_removal_stand() -> None:
    (question,), operations = asked("large", (REMOVAL,))
    assert "[C0] (delete G1) measured -0.200 [-0.250, -0.150]" in question.messages[1].content
    assert '"measured"' in question.messages[0].content
    assert operations == [REMOVAL]


def test_the_controller_may_keep_or_mend_the_entry() -> None:
    says = [{"option": "delete", "id": "C0"}, {"option": "modify", "id": "G1", "experience": "When 1, do 2."}]
    _, operations = asked("large", (REMOVAL,), says=json.dumps(says))
    assert [operation.option for operation in operations if isinstance(operation, Modify | Delete)] == ["modify"]


def test_a_small_reflector_has_no_controller_so_the_figures_decide() -> None:
    questions, operations = asked("small", (REMOVAL,), "When x, do y.")
    assert questions == []
    assert operations == [Add(experience="When x, do y."), REMOVAL]


def test_without_measured_removals_the_controllers_prompt_is_what_it_was() -> None:
    (question,), _ = asked("large", (), "When x, do y.")
    assert "measured" not in question.messages[0].content + question.messages[1].content


def admit(text: str, others: object, origin: object) -> object:
    raise AssertionError("a removal asks nobody")


def test_a_removal_is_journalled_with_its_figures_and_can_be_undone() -> None:
    measured = LIBRARY.measured({"G1": effect(-0.2)})
    start = record_import((), measured, actor="train", at="")
    applied = measured.apply([REMOVAL], admit)  # type: ignore[arg-type]
    events = start + record(start, applied, actor="train", at="")
    assert events[-1].reason == "measured effect -0.200 [-0.250, -0.150], 500 rollouts of 100 problems"
    assert "G1" not in applied.library
    undone = undo(events, applied.library, events[-1].seq, actor="person", at="")
    assert undone.library == measured
    assert replay(events + undone.events) == measured


def test_a_new_text_has_no_effect_yet() -> None:
    measured = LIBRARY.measured({"G1": effect(0.3)})
    changed = measured.apply([Modify(id="G1", experience="When 1, do 3.")], lambda text, others, origin: _in(text))
    assert changed.library.entries[1].text == "When 1, do 3."
    assert changed.library.entries[1].effect is None


def _in(text: str) -> Admitted:
    return Admitted(text=text)


def test_the_removals_of_a_step_can_stand_without_its_other_changes() -> None:
    added = Accepted(operation=Add(experience="When x, do y."), after=(Experience(id="G3", text="When x, do y."),))
    removed = Accepted(operation=REMOVAL, before=LIBRARY.entries[1:2])
    after = Library.of([*LIBRARY.only(["G0", "G2"]), *added.after])
    applied = Applied(library=after, accepted=(removed, added), rejected=(Rejected(operation="?", reason="unread"),))
    alone = removals_alone(applied, LIBRARY, "gate: unclear")
    assert alone is not None
    assert (alone.library.ids, alone.library.next_id, alone.accepted) == (("G0", "G2"), 4, (removed,))
    assert [item.reason for item in alone.rejected] == ["unread", "gate: unclear"]
    assert removals_alone(applied.model_copy(update={"accepted": (added,)}), LIBRARY, "") is None
