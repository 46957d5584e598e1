"""The bench of learning, on a scripted model: equal budgets, no work done twice, figures that can say no."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bench.learning import page, same, work
from bench.learning.__main__ import RECORD, arguments, figures, finished_files
from bench.learning.cell import Cell, Cost, Outcome, cells
from bench.learning.figures import Key, Suite, mean, ratio_interval
from bench.learning.methods import METHODS
from bench.learning.settings import INSTRUCTIONS, PLAIN, QUICK, ZOO, Scale, known, scaled
from bench.learning.workplace import Workplace
from bench.record import pack, unpack
from bench.report import filled
from bench.tasks import FAMILIES
from bench.tasks.family import Sizes
from gym.config import RunConfig
from gym.errors import DataError
from gym.loop import run_on_new_loop

Told = list[str]
TINY = Scale(Sizes(train=4, val=8, test=6), held_out_k=1)


@pytest.fixture(scope="module")
def place() -> Iterator[Workplace]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield Workplace(model="scripted:house_script:reply")


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(FAMILIES["csv"], 0, TINY, tmp_path)


@pytest.fixture(scope="module")
def done(place: Workplace, tmp_path_factory: pytest.TempPathFactory) -> Cell:
    """A cell in which every method has finished."""
    cell = Cell(FAMILIES["csv"], 0, TINY, tmp_path_factory.mktemp("done"))
    run_on_new_loop(work.run(place, [cell], tuple(METHODS)))
    return cell


def outcomes(cell: Cell) -> dict[str, Outcome]:
    return {outcome.method: outcome for outcome in work.finished(cell, METHODS)}


def test_every_method_learns_what_the_oracle_knows(done: Cell) -> None:
    found = outcomes(done)
    assert list(found) == list(METHODS)
    means = {name: mean(outcome) for name, outcome in found.items()}
    assert means.pop("baseline") < 1.0
    assert means == dict.fromkeys(means, 1.0)
    assert found["gepa"].instructions != INSTRUCTIONS
    assert found["gepa"].experiences == ()
    assert found["zoo"].instructions == INSTRUCTIONS


def test_no_rival_has_fewer_calls_or_tokens_than_zoo_spent(done: Cell) -> None:
    found = outcomes(done)
    budget = found["zoo"].cost
    assert budget.calls > TINY.sizes.train
    assert found["baseline"].cost == found["oracle"].cost == Cost()
    assert all(found[name].cost.covers(budget) for name in ("plain", "gepa"))


def test_a_result_that_was_lost_is_had_again_without_a_call(place: Workplace, done: Cell) -> None:
    log = next(done.folder.glob("runs/*/gepa/calls.jsonl"))
    first, lines = outcomes(done), log.read_bytes()
    (done.folder / "gepa.json").unlink()
    run_on_new_loop(work.run(place, [done], tuple(METHODS)))
    again = outcomes(done)
    assert log.read_bytes() == lines
    assert again["gepa"].model_copy(update={"seconds": 0.0}) == first["gepa"].model_copy(update={"seconds": 0.0})
    assert again["zoo"] == first["zoo"]


def test_gepa_is_billed_for_answers_of_their_own_alone(done: Cell) -> None:
    """A minibatch of three of four problems comes out even only by a repeat, which is another answer."""
    (log,) = done.folder.glob("runs/*/gepa/calls.jsonl")
    assert len(log.read_text().splitlines()) == outcomes(done)["gepa"].cost.calls


def test_results_go_on_from_their_record_on_another_machine(done: Cell, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    pack(record, done.root, finished_files([done], tuple(METHODS)))
    unpack(record, tmp_path)
    there = replace(done, root=tmp_path)
    assert outcomes(there) == outcomes(done)
    (there.folder / "zoo.json").write_text("{}")
    unpack(record, tmp_path)
    assert (there.folder / "zoo.json").read_text() == "{}", "what is there is not touched"
    pack(record, tmp_path, finished_files([there], tuple(METHODS)))
    assert len(record.read_text().splitlines()) == len(METHODS), "what is not finished here stays in the record"


def test_a_damaged_line_of_a_record_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    record.write_text('{"content":1,"file":"a.json"}\n<<<<<<< HEAD\n')
    with pytest.raises(DataError, match=r"record\.jsonl:2: no recorded result"):
        pack(record, tmp_path, [])
    assert record.read_text().count("\n") == 2


def test_figures_of_nothing_are_refused(tmp_path: Path) -> None:
    asked = arguments(["--figures", "--output", str(tmp_path)])
    with pytest.raises(DataError, match="nothing is finished yet"):
        figures(asked, cells([FAMILIES["csv"]], (0,), TINY, tmp_path), TINY)


async def test_another_wording_or_scale_is_another_cell(place: Workplace, cell: Cell) -> None:
    await work.run(place, [cell], ["oracle"])
    other = replace(cell, family=replace(cell.family, oracle=("When asked for values, be brief.",)))
    assert list(work.finished(cell, ["oracle"])) != []
    assert list(work.finished(other, ["oracle"])) == []
    assert replace(cell, scale=scaled(1.0)).folder != cell.folder


async def test_a_rival_waits_for_the_budget(place: Workplace, cell: Cell) -> None:
    said: Told = []
    await work.run(replace(place, say=said.append), [cell], ["plain"])
    assert said == ["csv seed 0 plain: zoo has not run there, which sets the budget"]


async def test_progress_tells_result_cost_and_what_is_left(place: Workplace, cell: Cell) -> None:
    said: Told = []
    ticks = iter(range(0, 100_000, 900))
    await work.run(replace(place, say=said.append), [cell], ["baseline", "oracle"], clock=lambda: float(next(ticks)))
    assert said[-1].endswith("0 calls, 0 tokens, 900 s; about 0.0 h left")
    assert "about 0.1 h left" in said[0]


def test_the_plain_loop_has_every_lever_off() -> None:
    plain = RunConfig.model_validate(known(PLAIN))
    assert (plain.gate, plain.screen_answers, plain.learn_from) == ("none", 0, "mixed")
    assert all(key in PLAIN for key in ZOO if ZOO[key] is True)


def outcome(method: str, family: str, seed: int, rewards: Sequence[float], calls: int = 0) -> Outcome:
    return Outcome(
        family=family,
        seed=seed,
        method=method,
        inputs="",
        instructions="",
        experiences=(),
        cost=Cost(calls, 10 * calls, calls),
        seconds=1.0,
        rewards={f"{family}-{seed}-{number}": (reward,) for number, reward in enumerate(rewards)},
        failed=0,
        measured=f"on day {seed}",
    )


def suite(zoo: Sequence[float]) -> Suite:
    """Two families x two seeds: baseline 0.25, oracle 0.75, `zoo` as given, a rival that learned nothing."""
    made = []
    for family in ("a", "b"):
        for seed in (0, 1):
            made += [
                outcome("baseline", family, seed, (1, 0, 0, 0)),
                outcome("oracle", family, seed, (1, 1, 1, 0)),
                outcome("zoo", family, seed, zoo, calls=100),
                outcome("plain", family, seed, (1, 0, 0, 0), calls=120),
            ]
    return Suite(made)


def test_a_gain_is_told_as_a_share_of_the_oracles() -> None:
    share = suite((1, 1, 0, 0)).share("zoo")
    assert share is not None
    assert (share.cells, share.gain, share.share, share.cost) == (4, 0.25, 0.5, Cost(100, 1000, 100))
    assert suite((1, 1, 0, 0)).share("gepa") is None


def test_the_worst_cell_of_a_method_is_told() -> None:
    found = suite((1, 1, 0, 0))
    found.found[Key("b", 1)]["zoo"] = outcome("zoo", "b", 1, (0, 0, 0, 0))
    share = found.share("zoo")
    assert share is not None
    assert share.worst == -0.25
    row = next(line for line in page.markdown(found, [], QUICK).splitlines() if line.startswith("| zoo |"))
    assert row.split(" | ")[3] == "-0.25"


def test_a_cell_without_its_oracle_is_not_counted() -> None:
    found = suite((1, 1, 0, 0))
    del next(iter(found.found.values()))["oracle"]
    share = found.share("zoo")
    assert share is not None
    assert share.cells == 3


def test_the_share_of_sums_weighs_cells_by_what_there_is_to_gain() -> None:
    interval = ratio_interval([0.0, 0.5], [0.01, 0.5])
    assert interval is not None
    assert interval.low == 0.0
    assert interval.high == 1.0
    assert ratio_interval([0.5], [0.5]) is None


def test_the_page_says_where_we_lose() -> None:
    text = page.markdown(suite((0, 0, 0, 0)), ["gain", "gain", "no difference"], QUICK)
    assert "| share of the oracle's gain | -50% [-50%, -50%], 4 cells | >= 60% | NOT |" in text
    assert "behind in a, b" in text
    assert text.startswith("Measured on day 0; on day 1; ")
    assert "| A/A: one prompt against itself | 2 wins and 0 losses in 3 pairs | <= 0.15 wins | NOT |" in text
    assert "| a | 0.25 | 0.75 | 0.00 | 0.25 |" in text


def test_an_unfinished_page_says_what_is_missing() -> None:
    told = page.markdown(suite((0, 0, 0, 0)), [], QUICK, planned=5)
    assert "**Unfinished**: of 5 cells there are baseline 4, oracle 4, zoo 4, plain 4, gepa 0; the verdicts" in told
    assert "Unfinished" not in page.markdown(suite((0, 0, 0, 0)), [], QUICK)


def test_a_method_that_has_fewer_cells_than_the_others_is_not_called_the_best() -> None:
    found = suite((1, 1, 0, 0))
    lucky = outcome("gepa", "a", 0, (1, 1, 1, 1))
    both = Suite([*(made for cell in found.found.values() for made in cell.values()), lucky])
    rows = page.markdown(both, [], QUICK).splitlines()
    assert next(row for row in rows if row.startswith("| a |")).endswith("| zoo |")


def test_the_page_takes_the_figures_between_its_markers() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert filled(filled(text, "| 1 |", page.BEGIN, page.END), "| 2 |", page.BEGIN, page.END).count("| 2 |") == 1


def test_the_page_has_the_figures_of_the_record(tmp_path: Path) -> None:
    unpack(RECORD, tmp_path)
    asked = arguments(["--scale", "0.5", "--output", str(tmp_path)])
    scale = scaled(asked.scale)
    told = figures(asked, cells([FAMILIES[name] for name in asked.families], asked.seeds, scale, asked.output), scale)
    text = page.PAGE.read_text(encoding="utf-8")
    assert filled(text, told, page.BEGIN, page.END) == text


def test_any_two_halvings_agree_on_half_of_the_draws() -> None:
    found = list(same.halves())
    assert len(found) == 7
    for place, one in enumerate(found):
        assert len(one.left) == len(one.right) == 4
        assert set(one.left) | set(one.right) == set(range(same.DRAWS))
        for other in found[:place]:
            assert len(set(one.left) & set(other.left)) == 2


def test_a_real_difference_between_draws_would_be_seen() -> None:
    """The pairs are not blind: the second half of the draws is right throughout, the first never."""
    split = list(same.halves())[3]
    assert split.left == (0, 1, 2, 3)
    rewards = {f"p{number}": [0.0] * 4 + [1.0] * 4 for number in range(12)}
    assert same.verdicts(rewards)[3] == "gain"
    assert same.verdicts({name: [1.0, 0.0] * 4 for name in rewards})[3] == "no difference"


async def test_the_baselines_answers_are_the_first_draws(place: Workplace, cell: Cell) -> None:
    await work.run(place, [cell], ["baseline"])
    found = outcomes(cell)["baseline"]
    drawn = await same.draws(place, cell)
    assert {name: rewards[:1] for name, rewards in drawn.rewards.items()} == dict(found.rewards)
    assert same.kept(cell) == drawn


def test_an_unfinished_table_is_balanced_over_families(tmp_path: Path) -> None:
    families = [FAMILIES["csv"], FAMILIES["dates"]]
    order = [(cell.seed, cell.family.name) for cell in cells(families, (0, 1), QUICK, tmp_path)]
    assert order == [(0, "csv"), (0, "dates"), (1, "csv"), (1, "dates")]
