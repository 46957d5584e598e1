"""The three stages, driven by plain functions: no model, no event loop."""

import asyncio
import json
from collections.abc import Callable, Sequence

import pytest

from gym.core.chat import Completion, Message, Sampling
from gym.core.experience import Add, Delete, Evidence, Library, Merge, Modify, Operation
from gym.core.problem import Problem, Trajectory, Verdict
from gym.core.reflection import Critique, Studied, Summary
from gym.core.rollout import Rollout
from gym.errors import AccessDenied, RateLimited
from gym.llm.scripted import Scripted
from gym.train.grpo.domains.base import StageWords
from gym.train.grpo.stages.consolidate import consolidate, decide
from gym.train.grpo.stages.critique import critique
from gym.train.grpo.stages.flow import Ask, adrive, drive
from gym.train.grpo.stages.prompts import EXAMPLES
from gym.train.grpo.stages.settings import MORE_TEMPERATURE, ReflectionSettings
from gym.train.grpo.stages.small_critic import rule_of
from gym.train.grpo.stages.summarize import summarize

LARGE = ReflectionSettings(profile="large")
SMALL = ReflectionSettings(profile="small", max_operations=3, context=4096)
PROBLEM = Problem(id="p1", query="What is {{query}} in A={1;2} for $x^2$ {problem}?", ground_truth="forty-two")


class Answers:
    """Replies in turn, keeping what was asked."""

    def __init__(self, *replies: str | Completion | Exception) -> None:
        self.replies, self.asked = list(replies), list[Ask]()

    def __call__(self, question: Ask) -> Completion:
        self.asked.append(question)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Completion) else Completion(text=reply)


def rollout(output: str, reward: float, index: int = 0, feedback: str = "") -> Rollout:
    said = (Message(role="user", content=PROBLEM.query), Message(role="assistant", content=output))
    verdict = Verdict(reward=reward, feedback=feedback)
    return Rollout(problem=PROBLEM, index=index, trajectory=Trajectory(messages=said, output=output), verdict=verdict)


def summary(text: str, reward: float | None, index: int = 0) -> Summary:
    return Summary(problem_id="p1", index=index, text=text, reward=reward, outcome="answered", output=text)


def library(*texts: str) -> Library:
    found = Library()
    for text in texts:
        found = found.minted(text).library
    return found


PAIR = (summary("a good way", 1.0), summary("a bad way", 0.0, 1))


def test_a_summary_is_told_query_attempt_reward_feedback_library_and_ground_truth() -> None:
    model = Answers("1. It guessed. [G0] was used.")
    made = drive(summarize(rollout("my output", 0.5, feedback="half right"), "[G0]. When x, do y.", LARGE), model)
    prompt = model.asked[0].messages[1].content
    for part in (PROBLEM.query, "my output", "0.5 of 1", "half right", "[G0]. When x, do y.", "forty-two"):
        assert part in prompt
    assert (made.text, made.reward, made.failure) == ("1. It guessed. [G0] was used.", 0.5, None)


def test_reflection_runs_at_temperature_zero() -> None:
    model = Answers("fine", '[{"option":"keep"}]')
    drive(summarize(rollout("x", 1.0), "", LARGE), model)
    drive(critique(PROBLEM, PAIR, "", LARGE), model)
    assert [question.sampling.temperature for question in model.asked] == [0.0, 0.0]


@pytest.mark.parametrize("settings", [LARGE, SMALL])
def test_the_critic_reads_what_the_reward_said_only_when_asked_to_and_with_ground_truth(
    settings: ReflectionSettings,
) -> None:
    told = [item.model_copy(update={"feedback": f"said of {item.text}"}) for item in PAIR]

    def prompt(**changes: object) -> str:
        model = Answers('[{"option":"keep"}]')
        drive(critique(PROBLEM, told, "", settings.model_copy(update=changes)), model)
        return model.asked[0].messages[-1].content

    with_it = prompt(feedback=True)
    assert "a bad way\nGRADER: said of a bad way" in with_it
    assert prompt() == "\n".join(line for line in with_it.splitlines() if not line.startswith("GRADER"))
    assert "GRADER" not in prompt(feedback=True, use_groundtruth=False)


def test_a_large_reflector_too_is_told_how_answers_differ_from_the_reference() -> None:
    problem = Problem(id="p1", query="How heavy are 12 kilograms?", ground_truth="12 kg")

    def prompt(**changes: object) -> str:
        model = Answers('[{"option":"keep"}]')
        pair = (summary("12 KG", 0.0), summary("12 kg", 1.0, 1))
        drive(critique(problem, pair, "", LARGE.model_copy(update=changes)), model)
        return model.asked[0].messages[-1].content

    told = prompt(contrast=True)
    assert "12 KG\nDIFFERENCE from the reference: only capital letters" in told
    assert "<form of the reference answer>\n<number> kg\n" in told
    assert told.count("DIFFERENCE") == 1
    for other in (prompt(), prompt(contrast=True, use_groundtruth=False)):
        assert "DIFFERENCE" not in other
        assert "<number>" not in other


@pytest.mark.parametrize("settings", [LARGE, SMALL])
def test_without_ground_truth_no_prompt_holds_the_label_or_feedback(settings: ReflectionSettings) -> None:
    blind = settings.model_copy(update={"use_groundtruth": False})
    model = Answers("a summary", '[{"option":"add","experience":"When asked, answer well."}]')
    long = "word " * 200
    drive(summarize(rollout(long, 0.0, feedback="expected forty-two"), "", blind), model)
    drive(critique(PROBLEM, (summary("one", 0.0), summary("two", 0.0, 1)), "", blind), model)
    for question in model.asked:
        assert all("forty-two" not in message.content for message in question.messages)


def test_a_small_reflector_is_not_asked_to_summarize_what_is_already_short() -> None:
    model = Answers()
    made = drive(summarize(rollout(" 15:30 ", 0.0), "", SMALL), model)
    assert (made.text, model.asked) == ("15:30", [])


@pytest.mark.parametrize("reply", [RateLimited("later"), "", Completion(text="half a sen", finish_reason="length")])
def test_a_summary_that_cannot_be_had_costs_neither_the_group_nor_the_batch(
    reply: str | Completion | Exception,
) -> None:
    made = drive(summarize(rollout("the output", 1.0), "", LARGE), Answers(reply))
    assert made.failure is not None
    assert made.failure.boundary == "summarize"
    assert made.text


def test_a_fatal_provider_error_passes_through_a_stage() -> None:
    with pytest.raises(AccessDenied):
        drive(summarize(rollout("x", 1.0), "", LARGE), Answers(AccessDenied("wrong key")))


def test_problem_text_appears_literally_and_nothing_in_it_expands() -> None:
    model = Answers("[]")
    drive(critique(PROBLEM, PAIR, "[G0]. {{max_operations}} $x^2$ {problem}", LARGE), model)
    prompt = model.asked[0].messages[1].content
    assert PROBLEM.query in prompt
    assert "[G0]. {{max_operations}} $x^2$ {problem}" in prompt


def test_a_critique_gives_operations_with_the_groups_evidence() -> None:
    model = Answers('Thoughts.\n[{"option":"add","experience":"When lost, look."},{"option":"delete","id":"[g2]."}]')
    made = drive(critique(PROBLEM, PAIR, "", LARGE), model)
    evidence = Evidence(origin=("p1",), separation=1.0, rollouts=2)
    assert made.operations == (
        Add(experience="When lost, look.", evidence=evidence),
        Delete(id="G2", evidence=evidence),
    )


def test_more_operations_than_allowed_are_rejected_with_a_reason() -> None:
    many = json.dumps([{"option": "add", "experience": f"When {n}, do {n}."} for n in range(5)])
    made = drive(critique(PROBLEM, PAIR, "", LARGE), Answers(many))
    assert (len(made.operations), len(made.rejected)) == (3, 2)
    assert "more than 3" in made.rejected[0].reason


def test_a_cut_critique_is_asked_again_with_more_room_and_never_adopted() -> None:
    cut = Completion(text='[{"option":"add","experience":"Check the bou', finish_reason="length")
    model = Answers(cut, '[{"option":"add","experience":"When near a bound, check it."}]')
    made = drive(critique(PROBLEM, PAIR, "", LARGE), model)
    first, second = (question.sampling.max_tokens for question in model.asked)
    assert second == 2 * (first or 0)
    assert [operation.option for operation in made.operations] == ["add"]
    assert "cut off" in model.asked[1].messages[-1].content


def test_a_critique_unusable_twice_is_empty_and_carries_its_failure() -> None:
    cut = Completion(text='[{"option":"add","experience":"Check the bou', finish_reason="length")
    model = Answers(cut, cut)
    made = drive(critique(PROBLEM, PAIR, "", LARGE), model)
    assert (made.operations, len(model.asked)) == ((), 2)
    assert made.failure is not None
    assert "cut" in made.failure.message


def test_a_small_reflector_is_shown_examples_as_turns_and_gives_one_operation() -> None:
    model = Answers('The rule: "When asked for a time, give only the time." It is short.')
    made = drive(critique(PROBLEM, (summary("15:30", 0.0), summary("3:30 PM", 1.0, 1)), "", SMALL), model)
    messages = model.asked[0].messages
    assert [message.role for message in messages] == ["system", *["user", "assistant"] * len(EXAMPLES), "user"]
    assert messages[-1].content == f"TASK: {PROBLEM.query}\nACCEPTED: 3:30 PM\nREJECTED: 15:30"
    evidence = Evidence(origin=("p1",), separation=1.0, rollouts=2)
    assert made.operations == (Add(experience="When asked for a time, give only the time.", evidence=evidence),)


def test_an_all_wrong_group_is_contrasted_with_the_reference() -> None:
    model = Answers("When asked, spell the number out.")
    made = drive(critique(PROBLEM, (summary("42", 0.0), summary("42", 0.0, 1)), "", SMALL), model)
    assert "ACCEPTED: forty-two\nREJECTED: 42" in model.asked[0].messages[-1].content
    assert made.operations[0].evidence.separation == 1.0


@pytest.mark.parametrize("settings", [LARGE, SMALL])
def test_groups_side_by_side_are_all_shown_all_named_as_origin_and_the_first_ones_spread_counts(
    settings: ReflectionSettings,
) -> None:
    other = Studied(Problem(id="p2", query="What else?", ground_truth="fifty"), (summary("a third way", 0.4),))
    model = Answers('[{"option":"add","experience":"When asked, answer."}]')
    made = drive(critique(PROBLEM, PAIR, "", settings, beside=[other]), model)
    prompt = model.asked[0].messages[-1].content
    places = [prompt.index(part) for part in (PROBLEM.query, "a good way", "a bad way", "What else?", "a third way")]
    assert places == sorted(places)
    assert made.operations[0].evidence == Evidence(origin=("p1", "p2"), separation=1.0, rollouts=2)


@pytest.mark.parametrize("settings", [LARGE, SMALL])
def test_further_critiques_of_a_group_are_draws_of_their_own(settings: ReflectionSettings) -> None:
    model = Answers(*['[{"option":"keep"}]'] * 3)
    for sample in range(3):
        drive(critique(PROBLEM, PAIR, "", settings, sample=sample), model)
    drawn = [(question.sampling.sample, question.sampling.temperature) for question in model.asked]
    assert drawn == [(0, 0.0), (1, MORE_TEMPERATURE), (2, MORE_TEMPERATURE)]


def test_side_by_side_a_small_reflectors_context_is_shared_out() -> None:
    long = Studied(Problem(id="p2", query="word " * 9_000), (summary("word " * 9_000, 1.0), summary("x " * 9_000, 0.0)))
    model = Answers("When asked, answer.")
    drive(critique(PROBLEM, PAIR, "", SMALL, beside=[long] * 5), model)
    assert sum(len(message.content) for message in model.asked[0].messages) / 4 + 100 < SMALL.context


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        ("<think>When x?</think>\nWhen asked, answer. When told, do.", "When asked, answer. When told, do."),
        ("When asked, answer with 3.5 m.\n\nWhen told, do it.", "When asked, answer with 3.5 m."),
        (f"When asked, answer. Then {'say more ' * 16}.", "When asked, answer."),
        ("I see no rule here.", None),
    ],
)
def test_the_rule_is_the_first_line_as_far_as_the_words_of_an_experience_go(reply: str, rule: str | None) -> None:
    assert rule_of(reply) == rule


def test_a_rule_that_was_cut_is_asked_for_again_and_only_whole_sentences_count() -> None:
    cut = Completion(text="When asked for a sum, write", finish_reason="length")
    model = Answers(cut, "When asked for a sum, write only the number.")
    made = drive(critique(PROBLEM, PAIR, "", SMALL), model)
    assert [operation.option for operation in made.operations] == ["add"]
    assert "cut off" in model.asked[1].messages[-1].content
    assert rule_of("When asked, answer. When told, do", complete=False) == "When asked, answer."


def test_five_rollouts_of_sixty_thousand_tokens_fit_a_64k_window_and_say_what_is_missing() -> None:
    settings = LARGE.model_copy(update={"context": 64_000})
    model = Answers(*["x"] * 5, "[]")
    for index in range(5):
        drive(summarize(rollout("word " * 60_000, 0.0, index), "", settings), model)
    drive(critique(PROBLEM, [summary("word " * 60_000, float(n % 2), n) for n in range(5)], "", settings), model)
    for question in model.asked:
        text = "".join(message.content for message in question.messages)
        assert len(text) / 4 + 2048 < 64_000
        assert "characters left out here" in text


def proposals(*operations: Operation) -> list[Critique]:
    return [Critique(problem_id=f"p{place}", operations=(operation,)) for place, operation in enumerate(operations)]


def test_a_controller_that_stays_silent_on_a_proposal_loses_nothing() -> None:
    adds = [Add(experience=f"When {n}, do {n}.") for n in range(3)]
    made = drive(consolidate(proposals(*adds), Library(), LARGE, seed=0), Answers('[{"option":"keep","id":"C0"}]'))
    assert made.operations == tuple(adds)


def test_a_controller_that_cannot_be_read_leaves_the_proposals_as_they_are() -> None:
    adds = [Add(experience=f"When {n}, do {n}.") for n in range(3)]
    made = drive(consolidate(proposals(*adds), Library(), LARGE, seed=0), Answers("hm", "hm again"))
    assert made.operations == tuple(adds)
    assert made.failures[0].boundary == "consolidate"


def test_every_proposal_ends_in_the_operations_or_in_the_rejected() -> None:
    known = library("When g, do g.", "When h, do h.")
    adds: list[Operation] = [
        Add(experience=f"When {n}, do {n}.", evidence=Evidence(origin=(str(n),), separation=1, rollouts=5))
        for n in range(5)
    ]
    reply: list[dict[str, object]] = [
        {"option": "delete", "id": "C0"},
        {"option": "modify", "id": "C1", "experience": "When one, do better."},
        {"option": "merge", "ids": ["C2", "C3"], "experience": "When two or three, do both."},
        {"option": "merge", "ids": ["C4", "G0"], "experience": "When g or four, do it."},
        {"option": "delete", "id": "G1"},
        {"option": "merge", "ids": ["C9", "G0"], "experience": "unknown"},
        {"option": "merge", "ids": ["G0", "G1"]},
    ]
    operations, rejected = decide(reply, adds, known)
    assert [operation.option for operation in operations] == ["add", "add", "modify", "delete"]
    merged = operations[1]
    assert isinstance(merged, Add)
    assert merged.evidence == Evidence(origin=("2", "3"), separation=1, rollouts=10)
    assert [item.reason for item in rejected] == [
        "turned down by the controller",
        "a merge needs two known ids",
        "merge without a text",
    ]


def test_a_merge_over_two_library_entries_and_a_proposal_stays_a_merge() -> None:
    known = library("When g, do g.", "When h, do h.")
    reply: list[dict[str, object]] = [
        {"option": "MERGE", "merged_from": ["[G0]", "g1", "C0"], "experience": "When g, h or x, act."}
    ]
    operations, _ = decide(reply, [Add(experience="When x, act.")], known)
    assert operations == (Merge(ids=("G0", "G1"), experience="When g, h or x, act."),)


def test_contradicting_proposals_are_surfaced_to_the_controller() -> None:
    model = Answers('[{"option":"delete","id":"C1"}]')
    opposed = proposals(Add(experience="Always simplify first."), Add(experience="Never simplify first."))
    made = drive(consolidate(opposed, Library(), LARGE, seed=0), model)
    assert "contradict each other" in model.asked[0].messages[0].content
    assert "C0 and C1" in model.asked[0].messages[0].content
    assert made.notes == ("C0 and C1",)
    assert [operation.experience for operation in made.operations if isinstance(operation, Add)] == [
        "Always simplify first."
    ]


@pytest.mark.parametrize(("critiques", "calls"), [(10, 1), (11, 4), (100, 11)])
def test_above_ten_critiques_consolidation_is_map_reduce_over_about_sqrt_n_groups(critiques: int, calls: int) -> None:
    adds = [Add(experience=f"When {n}, do {n}.") for n in range(critiques)]
    model = Answers(*["[]"] * calls)
    made = drive(consolidate(proposals(*adds), Library(), LARGE, seed=0), model)
    assert len(model.asked) == calls
    assert sorted(made.operations, key=str) == sorted(adds, key=str)


def test_map_reduce_is_the_same_for_the_same_seed() -> None:
    def order(seed: int) -> Sequence[Operation]:
        adds = [Add(experience=f"When {n}, do {n}.") for n in range(30)]
        answer: Callable[[Ask], Completion] = lambda question: Completion(text="[]")  # noqa: E731
        return drive(consolidate(proposals(*adds), Library(), LARGE, seed=seed), answer).operations

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_without_proposals_nothing_is_asked() -> None:
    assert drive(consolidate([], library("When a, do b."), LARGE, seed=0), Answers()).operations == ()


def test_a_modify_of_a_proposed_modify_keeps_its_target() -> None:
    known = library("When g, do g.")
    operations, _ = decide(
        [{"option": "modify", "id": "C0", "experience": "When g, do it well."}],
        [Modify(id="G0", experience="x")],
        known,
    )
    assert operations == (Modify(id="G0", experience="When g, do it well."),)


@pytest.mark.parametrize("rule", [rule for _, rule in EXAMPLES])
def test_what_a_small_reflector_copied_from_the_examples_is_rejected(rule: str) -> None:
    made = drive(critique(PROBLEM, PAIR, "", SMALL), Answers(rule))
    assert made.operations == ()
    assert "repeats an example" in made.rejected[0].reason


async def test_the_map_calls_of_a_consolidation_do_not_wait_for_each_other() -> None:
    together = asyncio.Barrier(4)

    async def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        if model.calls <= 4:
            await together.wait()
        return "[]"

    model = Scripted(reply)
    adds = [Add(experience=f"When {n}, do {n}.") for n in range(16)]
    async with asyncio.timeout(60):
        made = await adrive(consolidate(proposals(*adds), Library(), LARGE, seed=0), model)
    assert sorted(made.operations, key=str) == sorted(adds, key=str)
    assert model.calls == 5


@pytest.mark.parametrize("profile", ["large", "small"])
def test_a_domains_words_are_added_to_the_instructions_of_a_large_reflector_only(profile: str) -> None:
    words = StageWords(summarize="#sum", critique="#crit", consolidate="#cons")
    settings = ReflectionSettings.model_validate({"profile": profile, "words": words})
    model = Answers("read", "[]", "[]")
    drive(summarize(rollout("x" * 500, 1.0), "", settings), model)
    drive(critique(PROBLEM, PAIR, "", settings), model)
    drive(
        consolidate(
            proposals(Add(experience="When x, do y."), Add(experience="When a, do b.")), library(), settings, seed=0
        ),
        model,
    )
    heard = [ask.messages[0].content.rpartition("\n\n")[2] for ask in model.asked]
    assert [word for word in heard if word.startswith("#")] == (
        ["#sum", "#crit", "#cons"] if profile == "large" else []
    )
