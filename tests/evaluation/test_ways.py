"""Several ways in one table: seeds pooled by problem, differences to the first, what each took, and what it forgot."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gym.cli.main import gym
from gym.core.chat import Usage
from gym.errors import ConfigError
from gym.evaluation import ways_page
from gym.evaluation.effort import Changed, Effort, learned_with
from gym.evaluation.metrics import score
from gym.evaluation.record import FOLDER, Answers, Identity, Record
from gym.evaluation.ways import Run, Way, compare_ways, open_run, pooled

IDENTITY = Identity(
    name="before", model="hf:m", dataset="test.jsonl", data_sha256="d", domain="jsonl", reward="exact", library="",
    library_size=0, library_tokens=0, instructions="i", mode="chat", k=2, temperature=0.7, seed=0, max_tokens=8,
)  # fmt: skip


def record(*means: float, seed: int = 0, **changes: object) -> Record:
    """Two answers to each problem, whose mean is given."""
    answers = tuple(
        Answers(
            id=f"p{place}",
            asked=f"q{place}",
            rewards=(mean, mean),
            tokens=Usage(prompt=10, completion=2),
            latency_s=0.5,
        )
        for place, mean in enumerate(means)
    )
    return Record(
        identity=IDENTITY.model_copy(update={"seed": seed, **changes}),
        usd=0.0,
        answers=answers,
    )


def effort(**changes: object) -> Effort:
    told = {"way": "grpo", "learning_s": 90.0, "seconds": 120.0, "calls": 48, "tokens": 4_800, "usd": 0.0, **changes}
    return Effort.model_validate(told)


def saved(folder: Path, made: Record, took: Effort | None = None, **others: Record) -> Path:
    """A run's folder with its evaluations and what it took."""
    (folder / FOLDER).mkdir(parents=True)
    for name, one in (("after", made), *others.items()):
        (folder / FOLDER / f"{name.replace('_', '-')}.json").write_text(one.model_dump_json(), encoding="utf-8")
    told = {"seconds": 120.0, **({"effort": took.model_dump(mode="json")} if took else {})}
    (folder / "report.json").write_text(json.dumps(told), encoding="utf-8")
    return folder


def test_answers_of_several_seeds_to_one_problem_are_put_together() -> None:
    one, other = pooled([record(0.0, 1.0), record(1.0, 1.0, seed=1)])
    assert (one.rewards, other.rewards) == ((0.0, 0.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0))
    assert one.tokens == Usage(prompt=20, completion=4)
    found = score((one, other))
    assert (found.mean, found.n_problems, found.n_answers) == (0.75, 2, 8)


def test_differences_are_to_the_first_and_each_way_is_named() -> None:
    ways = [
        Way("none", (Run(record(*[0.0] * 8), None, ()),)),
        Way("grpo", (Run(record(*[1.0] * 8, weights="grpo, SHA-256 1"), effort(), ()),)),
        Way("library", (Run(record(*[0.0] * 7, 1.0, library="x"), effort(way="library"), ()),)),
    ]
    found = compare_ways(ways)
    first, grpo, library = found.lines
    assert first.gain is None
    assert grpo.gain is not None
    assert library.gain is not None
    assert (grpo.gain.difference, grpo.gain.verdict) == (1.0, "gain")
    assert (library.gain.difference, library.gain.verdict) == (0.125, "no difference")
    assert found.notes == ()
    assert [line["gain"] and line["gain"]["verdict"] for line in found.as_object()["lines"]] == [
        None,
        "gain",
        "no difference",
    ]


def test_what_differs_beside_what_was_learned_is_said_once() -> None:
    odd = Run(record(0.0, 1.0, temperature=1.0), None, ())
    found = compare_ways([Way("none", (Run(record(0.0, 1.0), None, ()),)), Way("a", (odd,)), Way("b", (odd,))])
    assert found.notes == (
        "a, b: temperature differs (0.7 and 1.0): it may be the cause of a difference, as may the library",
    )


def test_other_data_is_matched_by_question_or_refused() -> None:
    apart = record(1.0, 1.0, data_sha256="e")
    found = compare_ways([Way("none", (Run(record(0.0, 0.0, 0.0), None, ()),)), Way("other", (Run(apart, None, ()),))])
    assert found.lines[1].gain is not None
    assert (found.lines[1].gain.n_problems, found.lines[1].gain.left_out) == (2, 1)
    none = apart.model_copy(
        update={"answers": tuple(one.model_copy(update={"asked": "z" + one.id}) for one in apart.answers)}
    )
    with pytest.raises(ConfigError, match="'none' and 'other' share no problem"):
        compare_ways([Way("none", (Run(record(0.0), None, ()),)), Way("other", (Run(none, None, ()),))])


def test_a_folder_tells_what_was_learned_what_it_took_and_what_was_forgotten(tmp_path: Path) -> None:
    there = {"also_1_plain": record(1.0, 1.0, dataset="other"), "also_1_after": record(0.0, 1.0, dataset="other")}
    run = open_run(saved(tmp_path / "run", record(0.5), effort(), **there))
    assert run.effort == effort()
    (pair,) = run.elsewhere
    assert (score(pair.before.tallies).mean, score(pair.after.tallies).mean) == (1.0, 0.5)
    assert open_run(tmp_path / "run" / FOLDER / "after.json").effort is None
    (tmp_path / "run" / "report.json").write_text('{"effort": {"way": "magic"}}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"the report of run .* is damaged"):
        open_run(tmp_path / "run")


def test_the_command_prints_one_table_and_writes_it_as_pages(tmp_path: Path) -> None:
    counted = Changed(parameters=1_000, changed=0, added=50, tensors=9, changed_tensors=0)
    lora = effort(way="lora", weights="changed", changed=counted, peak_bytes=98_362_432)
    free = effort(way="library", weights="unchanged", usd=None, calls=20)
    forgot = {"also_1_plain": record(*[1.0] * 8, dataset="other"), "also_1_after": record(*[0.0] * 8, dataset="other")}
    for seed in (0, 1):
        saved(tmp_path / f"lora{seed}", record(*[1.0] * 8, seed=seed, weights="lora"), lora, **forgot)
    saved(tmp_path / "free", record(*[0.5] * 8, library="x", library_size=3), free, before=record(*[0.0] * 8))
    words = [
        "compare", f"none={tmp_path}/free/evaluations/before.json", f"LoRA={tmp_path}/lora0,{tmp_path}/lora1",
        f"library={tmp_path}/free",
    ]  # fmt: skip
    done = CliRunner().invoke(gym, [*words, "--markdown", str(tmp_path / "t.md"), "--html", str(tmp_path / "t.html")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "t.md").read_text(encoding="utf-8")
    for said in ("+1.000", "+0.500", "98.4 MB", "1 min 30 s", "unknown", "5 %", "-1.000"):
        assert said in done.stdout
        assert said in page.replace("\\", "")
    assert "| LoRA | 2 |" in page
    assert "Elsewhere: other" in page
    assert (tmp_path / "t.html").read_text(encoding="utf-8").count("<svg") == 1
    found = json.loads(CliRunner().invoke(gym, [*words, "--json"]).stdout)
    assert [line["label"] for line in found["lines"]] == ["none", "LoRA", "library"]
    assert found["lines"][1]["elsewhere"][0]["gain"]["verdict"] == "loss"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("one",), "give two runs or more"),
        (("=one", "two"), "expected NAME=RUN"),
        (("a=one,", "two"), "expected NAME=RUN"),
        (("a=one", "b=two", "--by", "level"), "--by makes tables of two runs"),
    ],
)
def test_a_mistake_in_the_command_is_said(words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(gym, ["compare", *words])
    assert done.exit_code == 2
    assert said in done.output


def test_a_way_does_not_pool_the_same_answers_twice_or_ways_that_are_none() -> None:
    first = Way("none", (Run(record(0.0, 1.0), None, ()),))
    one, later = record(0.0, 1.0, name="after"), record(0.0, 1.0, name="before")
    with pytest.raises(ConfigError, match="'x': two of its runs hold the same answers"):
        compare_ways([first, Way("x", (Run(one, None, ()), Run(later, None, ())))])
    mixed = (Run(one, effort(), ()), Run(record(1.0, 1.0, seed=1), effort(way="lora"), ()))
    with pytest.raises(ConfigError, match=r"'x': its runs learned in different ways \(grpo, lora\)"):
        compare_ways([first, Way("x", mixed)])


def test_what_differs_between_the_runs_of_a_way_is_said() -> None:
    pair = (Run(record(0.0, 1.0), None, ()), Run(record(1.0, 1.0, seed=1, k=4), None, ()))
    found = compare_ways([Way("none", (Run(record(0.0, 1.0), None, ()),)), Way("x", pair)])
    assert "x: k differs between the runs that are pooled" in found.notes


def test_two_ways_of_one_name_are_refused(tmp_path: Path) -> None:
    run = saved(tmp_path / "run", record(0.5))
    done = CliRunner().invoke(gym, ["compare", f"a={run}", f"a={run}"])
    assert "two ways are called 'a'" in done.output


def test_a_page_without_efforts_has_no_table_of_them() -> None:
    plain = Run(record(0.0, 1.0), None, ())
    found = compare_ways([Way("one", (plain,)), Way("two", (plain,))])
    assert ways_page.took(found) is None
    assert "What each took" not in ways_page.markdown(found)


def test_what_learning_took_leaves_held_out_answers_out() -> None:
    total = {"calls": 30, "prompt_tokens": 300, "completion_tokens": 60, "usd": 1.0}
    held_out = score(record(0.0, 1.0).tallies)
    assert learned_with(total, [held_out], [0.25], chat=True) == {"calls": 26, "tokens": 336, "usd": 0.75}
    assert learned_with(total, [held_out], [None], chat=False) == {"calls": None, "tokens": 336, "usd": None}
