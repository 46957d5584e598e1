"""Issue 5.1: two evaluations are compared on the problems that both asked, and what else differs is said."""

import json
import re

import numpy as np
import pytest

from gym.cli.tables import overhead, points
from gym.core.chat import Usage
from gym.errors import ConfigError
from gym.evaluation.compare import Comparison, Named, compare
from gym.evaluation.compare_page import html, markdown
from gym.evaluation.eval_page import said_again, said_elsewhere
from gym.evaluation.figures import difference
from gym.evaluation.record import Answers, Identity, Record
from gym.evaluation.resampling import bootstrap

PLAIN = Identity(
    name="plain", model="m", dataset="a.jsonl", data_sha256="a", domain="jsonl", reward="exact", library="",
    library_size=0, library_tokens=0, instructions="i", mode="chat", k=4, temperature=0.7, seed=0, max_tokens=99,
)  # fmt: skip
TOLD = PLAIN.model_copy(update={"name": "library", "library": "d", "library_size": 3, "library_tokens": 40})


def row(name: str, right: int, failed: int = 0, *, question: str = "", prompt: int = 10, **metadata: object) -> Answers:
    """Four answers, the first `right` of them right and the last `failed` failed."""
    rewards = tuple(float(place < right) for place in range(4 - failed))
    tokens = Usage(prompt=prompt * (4 - failed), completion=8)
    asked = question or name
    return Answers(
        id=name, asked=asked, rewards=rewards, failed=failed, tokens=tokens, latency_s=4.0, metadata=metadata
    )


def record(made: Identity, *rows: Answers, usd: float | None = None) -> Record:
    return Record(identity=made, usd=usd, answers=rows)


def compared(before: Record, after: Record, key: str | None = None) -> Comparison:
    return compare(Named("A", before), Named("B", after), key=key)


def twelve(made: Identity, right: int, prompt: int = 10) -> Record:
    rows = (
        row(f"p{n}", right, prompt=prompt, level=1 + n % 2, tags=["odd", "all"] if n % 2 else ["all"])
        for n in range(12)
    )
    return record(made, *rows, usd=0.5)


def test_the_difference_is_paired_and_each_side_keeps_its_own_figures() -> None:
    found = compared(twelve(PLAIN, 1), twelve(TOLD, 3))
    assert (found.gain.difference, found.gain.verdict, found.gain.better) == (0.5, "gain", 12)
    assert (found.before.score.mean, found.after.score.mean) == (0.25, 0.75)
    assert found.after.score.pass_at[4] == 1.0
    assert found.after.score.pass_at_interval[4] is not None
    assert (found.before.usd, found.before.made, found.after.made) == (0.5, PLAIN, TOLD)
    assert found.notes == ()


def test_failed_answers_count_as_0_in_the_second_difference() -> None:
    """One of two right among the scored, the rest failed: 0.5 and 0.25."""
    before = record(PLAIN, *(row(f"p{n}", 2) for n in range(8)))
    after = record(TOLD, *(row(f"p{n}", 2, failed=2) for n in range(8)))
    found = compared(before, after)
    assert (found.gain.difference, found.gain_failed_as_0.difference) == (0.5, 0.0)
    assert found.gain_failed_as_0.verdict == "no difference"
    assert found.overhead is None


def test_there_is_a_table_for_every_usual_key_and_several_tags_count_in_each() -> None:
    found = compared(twelve(PLAIN, 1), twelve(TOLD, 3))
    sizes = {key: {one.name: one.gain.n_problems for one in rows} for key, rows in found.tables.items()}
    assert sizes == {"level": {"1": 6, "2": 6}, "tags": {"all": 12, "odd": 6}}
    assert list(compared(twelve(PLAIN, 1), twelve(TOLD, 3), key="tags").tables) == ["tags"]
    with pytest.raises(ConfigError, match=r"--by 'colour': no problem has it; there is level, tags"):
        compared(twelve(PLAIN, 1), twelve(TOLD, 3), key="colour")


def test_between_different_sets_problems_are_matched_by_their_question() -> None:
    other = TOLD.model_copy(update={"data_sha256": "b", "dataset": "b.jsonl"})
    before = record(PLAIN, *(row(f"a{n}", 0, question=f"q{n}") for n in range(8)))
    after = record(other, *(row(f"a{n + 1}", 4, question=f"q{n}") for n in reversed(range(2, 10))))
    found = compared(before, after)
    assert (found.gain.n_problems, found.gain.difference, found.gain.left_out) == (6, 1.0, 4)
    assert found.notes[0].startswith("the data sets differ (8 of 'a.jsonl' and 8 of 'b.jsonl')")
    with pytest.raises(ConfigError, match="'A' and 'B' share no problem"):
        compared(before, record(other, row("a0", 1, question="another")))


def test_a_question_that_is_asked_twice_is_two_problems() -> None:
    other = TOLD.model_copy(update={"data_sha256": "b"})
    before = record(PLAIN, row("a", 0, question="q"), row("b", 4, question="q"))
    found = compared(before, record(other, row("c", 4, question="q"), row("d", 4, question="q")))
    assert (found.gain.n_problems, found.gain.better) == (2, 1)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("k", 5, "k differs (4 and 5)"), ("temperature", 0.0, "temperature differs (0.7 and 0.0)"), ("model", "n", "model differs"),
     ("instructions", "j", "instructions differs: it may"), ("reward", "json", "reward differs (exact and json)")],
)  # fmt: skip
def test_what_else_differs_is_said_and_not_refused(name: str, value: object, said: str) -> None:
    found = compared(twelve(PLAIN, 1), twelve(TOLD.model_copy(update={name: value}), 1))
    assert [said in note for note in found.notes] == [True]


def test_the_same_measurement_twice_is_said_to_be_none() -> None:
    found = compared(twelve(PLAIN, 2), twelve(PLAIN.model_copy(update={"name": "again"}), 2))
    (said,) = found.notes
    assert said.startswith("both sides are the same measurement")


def test_the_same_settings_with_other_answers_are_said_to_differ_by_chance() -> None:
    found = compared(twelve(PLAIN, 2), twelve(PLAIN, 3))
    assert found.notes == ("both sides have the same settings and library: whatever differs is chance, as in A/A",)


def test_one_problem_is_left_out_in_the_singular() -> None:
    broken = record(PLAIN, row("p0", 0, failed=4), row("p1", 2))
    (said,) = compared(broken, record(TOLD, row("p0", 2), row("p1", 3))).notes
    assert said == "1 problem left out: no answer could be scored on one side"


def test_the_overhead_is_measured_where_no_answer_failed() -> None:
    before = record(PLAIN, row("a", 1, prompt=10), row("b", 1, prompt=20), row("c", 1, failed=1, prompt=99))
    after = record(TOLD, row("a", 1, prompt=40), row("b", 1, prompt=50), row("c", 1, prompt=99))
    cost = compared(before, after).overhead
    assert cost is not None
    assert (cost.n_problems, cost.before_prompt, cost.after_prompt, cost.tokens) == (2, 15.0, 45.0, 30.0)
    assert cost.share == pytest.approx(2 / 3)
    assert (cost.before_latency_s, cost.after_latency_s) == (1.0, 1.0)


def test_a_difference_that_rounds_to_nothing_has_no_minus_sign() -> None:
    gain = compared(twelve(PLAIN, 2), twelve(TOLD, 2)).gain.model_copy(update={"difference": -1e-18})
    assert difference(gain).startswith("+0.000 [")
    assert points(gain).startswith("+0.0 points [")


def test_of_a_shorter_prompt_there_is_no_share() -> None:
    cost = compared(twelve(TOLD, 1, prompt=30), twelve(PLAIN, 1)).overhead
    assert cost is not None
    assert (cost.tokens, cost.share) == (-20.0, None)
    assert "prompt tokens an answer: 30 → 10 (-20); " in overhead(cost)


def test_tokens_that_a_server_keeps_to_itself_are_unknown() -> None:
    silent = row("a", 1).model_copy(update={"tokens": Usage(known=False)})
    cost = compared(record(PLAIN, silent), record(TOLD, row("a", 1))).overhead
    assert cost is not None
    assert (cost.before_prompt, cost.tokens, cost.share) == (None, None, None)


def test_the_bootstrap_agrees_where_problems_are_many() -> None:
    values = np.random.default_rng(4).normal(0.1, 0.3, size=500).clip(-1, 1)
    found = bootstrap(values.tolist(), seed=1, resamples=4_000)
    reach = 1.96 * values.std(ddof=1) / len(values) ** 0.5
    assert found == pytest.approx((values.mean() - reach, values.mean() + reach), abs=0.1 * reach)
    assert bootstrap([0.5], seed=1, resamples=100) is None


def test_the_object_is_json_with_its_verdicts() -> None:
    found = compared(twelve(PLAIN, 1), twelve(TOLD, 3, prompt=30)).as_object()
    told = json.loads(json.dumps(found))
    assert told["gain"]["verdict"] == told["gain_failed_as_0"]["verdict"] == "gain"
    assert told["tables"]["level"][0]["gain"]["verdict"] == "gain"
    assert (told["overhead"]["tokens"], told["overhead"]["share"]) == (20.0, pytest.approx(2 / 3))


def test_the_page_says_all_of_it_and_loads_nothing() -> None:
    found = compared(twelve(PLAIN, 1), twelve(TOLD.model_copy(update={"k": 5}), 3, prompt=30))
    text, page = re.sub(r"\\(.)", r"\1", markdown(found)), html(found)
    for said in ("+0.500", "With failed answers as 0", "Bootstrap", "By level", "By tags", "k differs", "+20.0"):
        assert said in text
        assert said in page
    assert page.count("<svg") == 3
    assert re.findall(r"https?://|<script|<link|<img", page) == []


def test_a_check_of_the_instrument_says_what_its_result_means() -> None:
    same = compared(twelve(PLAIN, 2), twelve(PLAIN.model_copy(update={"seed": 1}), 2))
    assert "sees none where there is none" in said_again(same)
    assert "take another --seed" in said_again(compared(twelve(PLAIN, 0), twelve(PLAIN, 4)))
    assert "harms here" in said_elsewhere(compared(twelve(PLAIN, 4), twelve(TOLD, 0)))
    assert "helps here too" in said_elsewhere(compared(twelve(PLAIN, 0), twelve(TOLD, 4)))
    low = same.gain.interval.low if same.gain.interval else 0.0
    assert f"a loss of up to {-100 * low:.1f} points is not excluded" in said_elsewhere(same)


def test_a_check_on_too_few_problems_vouches_for_nothing() -> None:
    five = [record(made, *(row(f"p{n}", right) for n in range(5))) for made, right in ((PLAIN, 0), (PLAIN, 4))]
    assert "says nothing of the instrument" in said_again(compared(five[0], five[1]))
    six = [record(made, *(row(f"p{n}", right) for n in range(6))) for made, right in ((PLAIN, 0), (PLAIN, 4))]
    assert "take another --seed" in said_again(compared(six[0], six[1]))
