"""Calls, tokens and dollars of a run before it is paid (SPEC 5.3).

The counts follow from the loop (arXiv:2510.08191 §3): G answers to each problem in each epoch, a summary per answer and a
critique per group that is informative, a consolidation per step. How many groups will be informative is not known before, so
there are two figures: `upper`, where all are, and `expected`, for a stated share. Tokens per call are assumptions, each a
parameter; they start from the data's mean query length at four characters a token. Neither figure counts retries and repairs.
"""

from collections.abc import Callable, Mapping, Sequence
from math import ceil, isqrt
from typing import Literal, NamedTuple

from gym.config import RunConfig
from gym.core.chat import Usage
from gym.core.value import Value
from gym.evaluation.closed_book import without_tools
from gym.llm.hf.place import runs_here
from gym.llm.prices import price
from gym.train.grpo.screen import PROBLEMS, rounds
from gym.train.grpo.stages.consolidate import MAP_REDUCE_ABOVE
from gym.train.grpo.stages.summarize import SHORT_OUTPUT
from gym.train.grpo.task import Task

CHARACTERS_PER_TOKEN = 4

STAGES = ("rollout", "summarize", "critique", "screen", "consolidate", "evaluate")

INFORMATIVE_SHARE = 0.5
"""Assumed share of groups whose rewards differ, until a run of yours says better."""

Dollars = Callable[[str, Usage], float | None]
"""(stage, its tokens) -> dollars, or None when the stage's model has no price."""


class Shape(Value):
    """What decides how many calls a run makes."""

    problems: int
    epochs: int = 3
    group_size: int = 5
    group_least: int | None = None
    """Answers after which a mixed group stops; None: it never stops early."""
    group_most: int | None = None
    """Answers to which a group that agrees goes on; None: it does not."""
    batch_size: int = 100
    operations: int = 3
    """Proposals a critique may make; more than ten teaching groups are consolidated in √ of all proposals."""
    test_problems: int = 0
    eval_k: int = 3
    evaluations: int = 2
    """Measurements of the test problems: before and after (free when nothing was learned), and an agent's closed book."""
    val_problems: int = 0
    """Answered once at the start and once after each step when the gate is on; 0 when it is off."""
    critique_groups: int = 1
    """Groups that a critique sees."""
    critique_samples: int = 1
    """Critiques of a group."""
    screen_answers: int = 0
    """Answers to each of three problems by which a proposal is tried; 0 when it is not."""
    screen_keep: int = 0
    """The best of a step that stay after a race; 0: no race."""
    screen_after_gate: bool = False
    """Whether only a step that the gate took back is tried, for the gate to decide once more; at most, all are."""
    profile: Literal["small", "large"] = "large"
    """A small reflector asks for no consolidation …"""
    short_answers: bool = False
    """… and reads answers of up to 400 characters as they are, without a summary."""

    @property
    def steps(self) -> int:
        """Steps of the whole run; the short last batch of an epoch is one."""
        return self.epochs * ceil(self.problems / self.batch_size)


class PerCall(NamedTuple):
    """Tokens of one call."""

    prompt: float
    completion: float


class Assumptions(Value):
    """Typical lengths in tokens; all are guesses until a run is measured, except `query`."""

    query: float = 100
    instructions: float = 50
    """The system prompt in front of every problem."""
    library: float = 250
    """The rendered library, averaged over the run; about 25 tokens an entry."""
    answer: float = 500
    reflection: float = 350
    """A stage's own instructions and example."""
    summary: float = 300
    critique: float = 200
    consolidation: float = 400

    def per_call(self, shape: Shape) -> dict[str, PerCall]:
        """Stage -> tokens of one call: what SPEC 1.4-1.6 put into its prompt and what it gives back."""
        asked = self.instructions + self.library + self.query
        told = self.reflection + self.library + self.query
        seen = shape.critique_groups * (self.query + shape.group_size * self.summary)
        together = min(shape.batch_size, shape.problems, MAP_REDUCE_ABOVE)
        return {
            "rollout": PerCall(asked, self.answer),
            "summarize": PerCall(told + self.answer, self.summary),
            "screen": PerCall(asked, self.answer),
            "critique": PerCall(self.reflection + self.library + seen, self.critique),
            "consolidate": PerCall(self.reflection + self.library + together * self.critique, self.consolidation),
            "evaluate": PerCall(asked, self.answer),
        }


class StageCost(Value):
    """One stage of a predicted run."""

    stage: str
    calls: int
    tokens: Usage
    usd: float | None
    """None: the model has no price; never 0 for that reason."""


class Costs(Value):
    """A whole predicted run."""

    stages: tuple[StageCost, ...]

    @property
    def calls(self) -> int:
        """Calls of all stages."""
        return sum(stage.calls for stage in self.stages)

    @property
    def tokens(self) -> Usage:
        """Tokens of all stages."""
        return sum((stage.tokens for stage in self.stages), Usage())

    @property
    def usd(self) -> float | None:
        """Dollars of all stages; None when one of them with calls has no price."""
        known = [stage.usd for stage in self.stages if stage.calls]
        return None if None in known else sum(usd for usd in known if usd is not None)


class Estimate(Value):
    """The prediction: what a run can cost at most, and what it costs when `informative_share` of the groups teach."""

    upper: Costs
    expected: Costs
    informative_share: float
    assumptions: Assumptions = Assumptions()


def estimate_for(config: RunConfig, task: Task, *, informative_share: float = INFORMATIVE_SHARE) -> Estimate:
    """The prediction for a run of `config` on `task`, at the list prices or those of the config.

    Query length is measured; an answer is assumed as long as `Assumptions` says, or as `rollout_max_tokens` allows.
    """
    usual = Assumptions()
    assumptions = usual.model_copy(
        update={
            "query": query_tokens([problem.query for problem in task.train]),
            "instructions": query_tokens([config.system_prompt or task.domain.prompts.solve]),
            "library": min(usual.library, config.experience_token_budget),
            "answer": min(usual.answer, config.rollout_max_tokens),
        }
    )
    return estimate(
        shape_of(config, task, assumptions.answer),
        assumptions=assumptions,
        usd=list_prices(config),
        informative_share=informative_share,
    )


def shape_of(config: RunConfig, task: Task, answer_tokens: float) -> Shape:
    """The counts that decide the calls of a run."""
    reflector = config.reflector_model or config.model_name_or_path
    automatic: Literal["small", "large"] = "small" if runs_here(reflector) else "large"
    return Shape(
        problems=len(task.train),
        epochs=config.epochs,
        group_size=config.grpo_group_size,
        group_least=config.group_size_min,
        group_most=config.group_size_max,
        batch_size=config.batch_size,
        operations=config.semantic_max_operations,
        test_problems=len(task.test),
        eval_k=config.eval_k,
        evaluations=3 if without_tools(config, task.domain) else 2,
        critique_groups=config.critique_groups,
        critique_samples=config.critique_samples,
        screen_answers=config.screen_answers,
        screen_keep=config.screen_keep,
        screen_after_gate=config.screen_when == "after_gate",
        val_problems=0 if config.gate == "none" else len(task.val),
        profile=automatic if config.reflector_profile == "auto" else config.reflector_profile,
        short_answers=answer_tokens * CHARACTERS_PER_TOKEN <= SHORT_OUTPUT,
    )


def list_prices(config: RunConfig) -> Dollars:
    """Dollars of a stage's tokens by the price of the model that serves it."""
    policy, reflector = config.model_name_or_path, config.reflector_model or config.model_name_or_path

    def usd(stage: str, tokens: Usage) -> float | None:
        known = price(policy if stage in ("rollout", "screen", "evaluate") else reflector, config.prices)
        return None if known is None else known.usd(tokens)

    return usd


def estimate(
    shape: Shape,
    *,
    assumptions: Assumptions = Assumptions(),  # noqa: B008 - a frozen value
    usd: Dollars = lambda stage, tokens: None,
    informative_share: float = INFORMATIVE_SHARE,
) -> Estimate:
    """Both predictions for a run of `shape`; `informative_share` in [0, 1]."""
    per_call = assumptions.per_call(shape)
    return Estimate(
        upper=costs(calls(shape, 1.0), per_call, usd),
        expected=costs(calls(shape, informative_share), per_call, usd),
        informative_share=informative_share,
        assumptions=assumptions,
    )


def calls(shape: Shape, informative_share: float) -> dict[str, int]:
    """Stage -> calls.

    >>> calls(Shape(problems=100, batch_size=10, test_problems=100, evaluations=1), 1.0)
    {'rollout': 1500, 'summarize': 1500, 'critique': 300, 'consolidate': 30, 'evaluate': 300}
    """
    if not 0 <= informative_share <= 1:
        raise ValueError(f"informative_share is a share in [0, 1], got {informative_share}")
    groups = shape.problems * shape.epochs
    teaching = round(groups * informative_share)
    turns = 2 if shape.screen_answers and shape.screen_after_gate and shape.val_problems else 1
    validations = shape.steps * turns + 1 if shape.val_problems else 0
    critiques = teaching * shape.critique_samples
    answers = _answers(shape, informative_share)
    trials = {"screen": _trials(shape, informative_share)} if shape.screen_answers else {}
    return {
        "rollout": answers.drawn,
        "summarize": 0 if shape.profile == "small" and shape.short_answers else answers.studied,
        "critique": critiques,
        **trials,
        "consolidate": turns * _consolidations(shape, informative_share),
        "evaluate": shape.eval_k * (shape.test_problems * shape.evaluations + shape.val_problems * validations),
    }


class _Answers(NamedTuple):
    drawn: int
    studied: int
    """Those of groups that teach."""


def _answers(shape: Shape, informative_share: float) -> _Answers:
    """A group that teaches is assumed to stop halfway between its least and its usual size; at most, all go to their end."""
    groups, most = shape.problems * shape.epochs, shape.group_most or shape.group_size
    teaching = round(groups * informative_share)
    mixed = most if informative_share == 1 else ceil(((shape.group_least or shape.group_size) + shape.group_size) / 2)
    return _Answers(teaching * mixed + (groups - teaching) * most, teaching * mixed)


def costs(calls: Mapping[str, int], per_call: Mapping[str, PerCall], usd: Dollars) -> Costs:
    """The bill for `calls`, stage by stage."""
    stages = []
    for stage, count in calls.items():
        prompt, completion = per_call[stage]
        tokens = Usage(prompt=round(count * prompt), completion=round(count * completion))
        stages.append(StageCost(stage=stage, calls=count, tokens=tokens, usd=usd(stage, tokens) if count else 0.0))
    return Costs(stages=tuple(stages))


def query_tokens(queries: Sequence[str]) -> float:
    """Mean length of the queries at four characters a token; 0 without any."""
    return sum(map(len, queries)) / CHARACTERS_PER_TOKEN / len(queries) if queries else 0.0


def _critiques(shape: Shape, informative_share: float) -> list[int]:
    """Of each step of an epoch."""
    full, rest = divmod(shape.problems, shape.batch_size)
    sizes = [shape.batch_size] * full + [rest] * bool(rest)
    return [round(size * informative_share) * shape.critique_samples for size in sizes]


def _trials(shape: Shape, informative_share: float) -> int:
    """Answers to proposals, each on three problems."""
    each = 1 if shape.profile == "small" else shape.operations
    races = (
        rounds(made * each, shape.screen_answers, shape.screen_keep) for made in _critiques(shape, informative_share)
    )
    return shape.epochs * PROBLEMS * sum(len(draws) * field for race in races for draws, field in race)


def _consolidations(shape: Shape, informative_share: float) -> int:
    """One call a step up to ten critiques; above that √ of their proposals, and one that joins them (SPEC 1.6)."""
    if shape.profile == "small":
        return 0
    return shape.epochs * sum(_joins(made, shape.operations) for made in _critiques(shape, informative_share))


def _joins(critiques: int, operations: int) -> int:
    if critiques <= MAP_REDUCE_ABOVE:
        return int(critiques > 0)
    return isqrt(critiques * operations) + 1
