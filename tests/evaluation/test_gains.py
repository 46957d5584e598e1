"""The gain that a node signs: paired, within its budget, and not paid for twice."""

import json
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean, stdev

import pytest

from gym.config import RunConfig
from gym.core.chat import Usage
from gym.core.rollout import Tally
from gym.errors import ConfigError
from gym.evaluation.gains import Blur, Gains, gain_of
from gym.federated.history import AcceptedExperience
from gym.federated.messages import Gain, exact_digest
from gym.federated.node import Trial

RULE = "When asked for a count, put an exclamation mark after the number."
OTHER = "When asked for a count, answer with the number alone."
TRIALS = (Trial(RULE, "desk"), Trial(OTHER, "desk"))


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunConfig:
    """Twelve problems, answered by a script that a rule in the prompt makes right."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "train"))
    rows = [{"problem": f"How many apples are {n}?", "answer": f"{n}!"} for n in range(12)]
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return RunConfig(
        model_name_or_path="scripted:desk_script:reply",
        dataset=str(file),
        reward="exact",
        eval_k=2,
        output_dir=str(tmp_path / "measured"),
    )


def tally(problem: str, *rewards: float) -> Tally:
    return Tally(problem, {}, rewards, no_answer=0, failed=0, failure=None, tokens=Usage(), tools={})


def calls(config: RunConfig, round: int = 0) -> int:
    lines = (Path(config.output_dir) / f"round-{round}" / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    return len(lines)


def test_a_text_that_helps_and_one_that_does_nothing(config: RunConfig) -> None:
    helping, idle = Gains(config)(0, TRIALS, ())
    assert (helping.text, helping.problems) == (exact_digest(RULE), 12)
    assert helping.mean > helping.error > 0
    assert (idle.text, idle.mean, idle.error) == (exact_digest(OTHER), 0.0, 0.0)


def test_it_is_measured_beside_what_was_accepted(config: RunConfig) -> None:
    accepted = (AcceptedExperience(id="N0", text=RULE, cid="bafk"),)
    (again,) = Gains(config)(0, TRIALS[:1], accepted)
    assert again.mean == 0.0


def test_the_same_again_costs_nothing_and_gives_the_same(config: RunConfig) -> None:
    first = Gains(config)(0, TRIALS, ())
    paid = calls(config)
    assert Gains(config)(0, TRIALS, ()) == first
    assert calls(config) == paid


def test_a_budget_is_of_one_round_and_leaves_the_rest_unmeasured(config: RunConfig) -> None:
    small = config.model_copy(update={"budget_calls": 50})
    assert [gain.text for gain in Gains(small)(0, TRIALS, ())] == [exact_digest(RULE)]
    assert calls(config) <= 50
    assert [gain.text for gain in Gains(small)(0, TRIALS, ())] == [exact_digest(RULE)]
    assert len(Gains(small)(1, TRIALS, ())) == 1
    assert Gains(config.model_copy(update={"budget_calls": 20}))(2, TRIALS, ()) == ()


def test_a_node_may_clip_and_blur_what_it_sends(config: RunConfig) -> None:
    (plain,) = Gains(config)(0, TRIALS[:1], ())
    (sent,) = Gains(config, blur=Blur(clip=0.05, noise=0.1), luck=Random(1))(0, TRIALS[:1], ())
    assert sent.mean != plain.mean
    assert sent.error == pytest.approx(sqrt(plain.error**2 + 0.1**2))


def test_without_data_there_is_nothing_to_measure_on(config: RunConfig) -> None:
    with pytest.raises(ConfigError, match="no data"):
        Gains(config.model_copy(update={"dataset": ""}))(0, TRIALS, ())


def test_a_gain_by_its_definition() -> None:
    before = [tally("a", 0.0, 1.0), tally("b", 0.0), tally("c", 1.0), tally("gone", 1.0)]
    after = [tally("a", 1.0, 1.0), tally("b", 1.0), tally("c", 0.0), tally("new", 0.0)]
    pairs: Sequence[float] = (0.5, 1.0, -1.0)
    (gain,) = gain_of(RULE, before, after)
    assert gain == Gain(text=exact_digest(RULE), mean=fmean(pairs), error=stdev(pairs) / sqrt(3), problems=3)


def test_one_problem_says_nothing_and_none_gives_no_gain() -> None:
    (alone,) = gain_of(RULE, [tally("a", 0.0)], [tally("a", 1.0)])
    assert (alone.mean, alone.error) == (1.0, 1.0)
    assert gain_of(RULE, [tally("a", 0.0)], [tally("b", 1.0)]) == ()
