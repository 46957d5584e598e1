"""SPEC 5.3: calls, tokens and dollars before they are spent; the paper's table is the worked example."""

from math import isqrt

import pytest

from gym.config import RunConfig
from gym.core.chat import Completion, Usage
from gym.core.experience import Add, Library
from gym.core.problem import Problem
from gym.core.reflection import Critique
from gym.evaluation.estimate import Assumptions, PerCall, Shape, calls, costs, estimate, estimate_for, query_tokens
from gym.train.grpo.stages.consolidate import consolidate
from gym.train.grpo.stages.flow import Ask, drive
from gym.train.grpo.stages.settings import ReflectionSettings
from gym.train.grpo.task import Task, load_domain

PAPER = Shape(problems=100, epochs=3, group_size=5, batch_size=10, test_problems=100, eval_k=3, evaluations=1)
PAPER_TOKENS = {"rollout": 2_000, "summarize": 1_500, "critique": 4_000, "consolidate": 6_000, "evaluate": 1_000}
PAPER_DOLLARS = {"rollout": 3.00, "summarize": 3.00, "critique": 1.20, "consolidate": 0.18, "evaluate": 0.30}
INPUT, OUTPUT = 0.14, 0.28
"""The paper's rates in dollars per million tokens (its table "Cost breakdown")."""


def at_paper_rates(stage: str, tokens: Usage) -> float:
    return (tokens.prompt * INPUT + tokens.completion * OUTPUT) / 1e6


def test_the_papers_example_makes_the_papers_calls() -> None:
    found = calls(PAPER, 1.0)
    assert found == {"rollout": 1_500, "summarize": 1_500, "critique": 300, "consolidate": 30, "evaluate": 300}
    assert sum(found.values()) == 3_630


def test_the_papers_dollars_do_not_follow_from_its_own_tokens_and_rates() -> None:
    """Even with every token at the dearer output rate the table's tokens cost a quarter of its $7.68: a claim, not a constant.

    What follows: the calls and their sum (3,630), and that the dollars add up to 7.68. What does not: any dollar figure at
    the stated rates. Four rows are calls × tokens at $1 a million, the summaries at $1.33.
    """
    all_output = {stage: PerCall(0, tokens) for stage, tokens in PAPER_TOKENS.items()}
    all_input = {stage: PerCall(tokens, 0) for stage, tokens in PAPER_TOKENS.items()}
    most = costs(calls(PAPER, 1.0), all_output, at_paper_rates)
    least = costs(calls(PAPER, 1.0), all_input, at_paper_rates)
    assert most.tokens.total == 6_930_000
    assert most.usd == pytest.approx(1.9404)
    assert least.usd == pytest.approx(0.9702)
    assert sum(PAPER_DOLLARS.values()) == pytest.approx(7.68)
    implied = {
        stage: 1e6 * PAPER_DOLLARS[stage] / (count * PAPER_TOKENS[stage]) for stage, count in calls(PAPER, 1.0).items()
    }
    assert implied == pytest.approx({"rollout": 1, "summarize": 4 / 3, "critique": 1, "consolidate": 1, "evaluate": 1})


@pytest.mark.parametrize(
    ("shape", "share", "expected"),
    [
        (Shape(problems=24, epochs=2, batch_size=8, test_problems=48), 0.5, (240, 120, 24, 6, 288)),
        (Shape(problems=25, epochs=1, batch_size=10, group_size=4), 1.0, (100, 100, 25, 3, 0)),
        (Shape(problems=100, epochs=3), 1.0, (1500, 1500, 300, 3 * 18, 0)),
        (Shape(problems=100, epochs=3, profile="small"), 1.0, (1500, 1500, 300, 0, 0)),
        (Shape(problems=100, epochs=3, profile="small", short_answers=True), 1.0, (1500, 0, 300, 0, 0)),
        (
            Shape(problems=10, epochs=2, batch_size=5, val_problems=8, test_problems=0, eval_k=3),
            0.0,
            (100, 0, 0, 0, 120),
        ),
    ],
)
def test_calls_follow_from_the_loop(shape: Shape, share: float, expected: tuple[int, ...]) -> None:
    assert tuple(calls(shape, share).values()) == expected


def test_above_ten_teaching_groups_consolidation_is_map_reduce() -> None:
    assert calls(Shape(problems=10, epochs=1), 1.0)["consolidate"] == 1
    assert calls(Shape(problems=49, epochs=1), 1.0)["consolidate"] == isqrt(3 * 49) + 1


@pytest.mark.parametrize("teaching", [1, 10, 11, 49])
@pytest.mark.parametrize("operations", [1, 3])
def test_the_consolidation_makes_the_predicted_calls(teaching: int, operations: int) -> None:
    asked: list[Ask] = []

    def controller(question: Ask) -> Completion:
        asked.append(question)
        return Completion(text='[{"option": "keep"}]')

    critiques = [
        Critique(problem_id=f"p{n}", operations=tuple(Add(experience=f"For {n}.{m}, wait.") for m in range(operations)))
        for n in range(teaching)
    ]
    standing = Library().minted("When in doubt, look again.").library
    drive(consolidate(critiques, standing, ReflectionSettings(profile="large"), seed=0), controller)
    shape = Shape(problems=teaching, epochs=1, batch_size=teaching, operations=operations)
    assert calls(shape, 1.0)["consolidate"] == len(asked)


def test_the_expected_cost_is_below_the_upper_bound() -> None:
    found = estimate(PAPER, usd=at_paper_rates, informative_share=0.4)
    assert found.informative_share == 0.4
    assert found.expected.calls == 1500 + 600 + 120 + 30 + 300
    assert found.expected.usd is not None
    assert found.upper.usd is not None
    assert found.expected.usd < found.upper.usd
    assert found.expected.tokens.total < found.upper.tokens.total


def test_a_stage_without_a_price_makes_the_dollars_unknown_not_0() -> None:
    found = estimate(PAPER, usd=lambda stage, tokens: None if stage == "critique" else 1.0)
    assert found.upper.usd is None
    assert (
        estimate(
            PAPER, usd=lambda stage, tokens: None if stage == "critique" else 1.0, informative_share=0
        ).expected.usd
        == 2.0
    )


def test_tokens_are_assumptions_that_can_be_given() -> None:
    shape = Shape(problems=10, epochs=1, batch_size=10)
    given = Assumptions(
        query=40, instructions=10, library=100, answer=20, reflection=200, summary=50, critique=30, consolidation=60
    )
    assert given.per_call(shape) == {
        "rollout": PerCall(150, 20),
        "screen": PerCall(150, 20),
        "summarize": PerCall(360, 50),
        "critique": PerCall(590, 30),
        "consolidate": PerCall(600, 60),
        "evaluate": PerCall(150, 20),
    }
    found = estimate(shape, assumptions=given)
    assert found.upper.tokens == Usage(
        prompt=50 * 150 + 50 * 360 + 10 * 590 + 600, completion=50 * 20 + 50 * 50 + 300 + 60
    )


def test_query_tokens_are_measured_at_four_characters() -> None:
    assert query_tokens(["a" * 8, "b" * 16]) == 3.0
    assert query_tokens([]) == 0.0


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_outside_0_and_1_is_a_bug(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        calls(PAPER, share)


def a_task(problems: int, *, val: int = 0, test: int = 0) -> Task:
    sets = {
        name: tuple(Problem(id=f"{name}{place}", query="q" * 80, ground_truth="x") for place in range(count))
        for name, count in (("train", problems), ("val", val), ("test", test))
    }
    return Task(domain=load_domain(RunConfig()), notes=(), **sets)


def test_a_run_is_estimated_from_its_configuration_and_its_data() -> None:
    config = RunConfig(model_name_or_path="gpt-4o-mini", epochs=2, batch_size=5, rollout_max_tokens=64)
    found = estimate_for(config, a_task(10, val=4, test=8), informative_share=0.5)
    by_stage = {stage.stage: stage for stage in found.expected.stages}
    assert [stage.calls for stage in by_stage.values()] == [100, 50, 10, 4, 3 * (2 * 8 + 4 * 5)]
    assert by_stage["rollout"].tokens.completion == 100 * 64
    assert found.upper.usd is not None
    assert found.upper.usd > 0


def test_the_reflector_is_priced_as_itself_and_an_embedded_model_is_free() -> None:
    task = a_task(10)
    mixed = RunConfig(
        model_name_or_path="local:qwen2.5-coder-1.5b",
        reflector_model="mine",
        prices={"mine": {"prompt": 1, "completion": 1}},
    )
    stages = {stage.stage: stage for stage in estimate_for(mixed, task).upper.stages}
    assert stages["rollout"].usd == 0
    assert stages["critique"].usd == pytest.approx(stages["critique"].tokens.total / 1e6)
    unknown = RunConfig(model_name_or_path="nobody-knows")
    assert estimate_for(unknown, task).expected.usd is None


def test_the_embedded_model_reflects_without_summaries_of_short_answers() -> None:
    config = RunConfig(model_name_or_path="local:qwen2.5-coder-1.5b", rollout_max_tokens=48, epochs=1)
    found = estimate_for(config, a_task(10))
    assert [stage.calls for stage in found.upper.stages] == [50, 0, 10, 0, 0]
    assert found.upper.usd == 0
