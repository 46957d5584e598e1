"""An ablation runs every variant under every seed once, resumes, keeps to its budget, and says what differs."""

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gym.config import RunConfig, load_config
from gym.errors import BudgetReached, ConfigError, Interrupted
from gym.evaluation.ablation import Ablation
from gym.evaluation.variants import variants, varied
from gym.llm.brake import Brake
from gym.llm.call_log import CallLog
from gym.llm.meter import Meter
from gym.train.grpo.ablation import Experiment, experiment
from gym.train.grpo.run_dir import RunDir
from gym.train.grpo.watch import Silent

Planned = Callable[..., Experiment]
TASK = {"model": "scripted:desk_script:reply", "reward": "exact", "epochs": 1, "eval_k": 1, "batch_size": 12}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Twelve training and twelve held-out problems, and the script that answers them."""
    folder = tmp_path_factory.mktemp("data")
    for name, numbers in (("train", range(12)), ("test", range(12, 24))):
        rows = [json.dumps({"question": f"How many apples are {n} apples?", "answer": f"{n}!"}) for n in numbers]
        (folder / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield folder


def plan_in(
    folder: Path, data: Path, *wanted: tuple[str, str], seeds: tuple[int, ...] = (0, 1), **changes: object
) -> Experiment:
    """An ablation of short runs, of G in (5, 1) unless other values are wanted."""
    sets = {"dataset": str(data / "train.jsonl"), "test": str(data / "test.jsonl")}

    def load(more: Mapping[str, Any]) -> RunConfig:
        return load_config(None, {**TASK, **sets, **changes, **more}, environ={})

    several = [varied(key, words, load) for key, words in wanted or (("group_size", "5,1"),)]
    return experiment(load, folder, variants(load({}), several, full=False), seeds)


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished ablation."""
    folder = tmp_path_factory.mktemp("whole") / "ablation"
    run(plan_in(folder, data))
    return folder


@pytest.fixture
def planned(data: Path, tmp_path: Path) -> Planned:
    """Plans in a new folder."""
    return partial(plan_in, tmp_path / "ablation", data)


@pytest.fixture
def finished(whole: Path, planned: Planned, tmp_path: Path) -> Planned:
    """Plans in a folder in which the usual one is finished."""
    shutil.copytree(whole, tmp_path / "ablation")
    return planned


def run(plan: Experiment, watch: Silent | None = None, brake: Brake | None = None) -> Ablation:
    return asyncio.run(plan.run(watch or Silent(), brake or Brake()))


class Heard(Silent):
    """A watch that keeps what is said, and may pull a brake at a phase."""

    def __init__(self, brake: Brake | None = None, at: int = 0) -> None:
        self.lines: list[str] = []
        self._brake, self._at, self._phases = brake, at, 0

    def say(self, text: str) -> None:
        self.lines.append(text)

    def phase(self, name: str, total: int, meter: Meter) -> None:
        self._phases += 1
        if self._brake and self._phases == self._at:
            self._brake.pull(Interrupted("stopped"))


def calls_below(folder: Path) -> int:
    """Lines of all records that are no copies."""
    keys: list[tuple[str, str]] = []
    for path in folder.rglob("calls.jsonl"):
        with CallLog.open(path) as log:
            keys += [(call.key, call.at) for call in log]
    return len(set(keys))


def test_every_variant_runs_under_every_seed_and_the_table_says_what_is_worth_what(finished: Planned) -> None:
    plan = finished()
    found = run(plan)
    base, alone = found.rows
    assert (base.name, base.seeds, alone.name, alone.seeds) == ("base", (0, 1), "grpo_group_size=1", (0, 1))
    assert base.gain.mean is not None
    assert base.gain.mean > 0.3
    assert (base.gain.n_problems, base.gain.n_seeds) == (12, 2)
    assert (alone.gain.mean, alone.experiences) == (0.0, 0.0)
    assert alone.against_first is not None
    assert alone.against_first.mean == pytest.approx(-base.gain.mean)
    assert alone.calls == 12  # one answer to each problem; what measures is not learning
    assert base.calls is not None
    assert base.calls > 60
    kept = Ablation.model_validate_json((plan.folder / "ablation.json").read_text(encoding="utf-8"))
    assert kept == found
    page = (plan.folder / "ablation.md").read_text(encoding="utf-8")
    assert "grpo_group_size=1" in page
    assert f"{base.gain.mean:+.3f}" in page


def test_the_answers_before_learning_are_paid_once_a_seed_and_no_other_call_is_shared(finished: Planned) -> None:
    plan = finished()
    records = []
    for job in plan.jobs:
        with CallLog.open(job.record) as log:
            records.append(list(log))
    for base, alone in (records[:2], records[2:]):
        assert alone[:12] == base[:12]
        assert {call.stage for call in alone[:12]} == {"evaluate"}
        assert {call.stage for call in alone[12:]} == {"rollout"}  # nothing was learned with G = 1
    assert plan.result().paid.calls == calls_below(plan.folder) == sum(map(len, records)) - 2 * 12
    assert plan.shared_calls == 0  # nothing is to be done


def test_a_setting_that_changes_the_answers_before_learning_shares_none(planned: Planned) -> None:
    plan = planned(("eval_temperature", "0.7,0.2"), seeds=(0,))
    assert [plan.lender(job) is job for job in plan.jobs] == [True, True]
    assert (plan.shared_calls, planned(seeds=(0,)).shared_calls) == (0, 12)


def test_a_finished_run_is_not_run_again_and_more_variants_can_be_added(finished: Planned) -> None:
    heard = Heard()
    before = finished(seeds=(0,)).result()
    again = run(finished(("group_size", "5,1,3"), seeds=(0,)), heard)
    assert [line for line in heard.lines if line.startswith("run ")] == ["run 3 of 3: grpo_group_size=3, seed 0"]
    assert again.rows[:2] == before.rows
    assert again.rows[2].seeds == (0,)


def test_a_stop_keeps_what_is_finished_and_the_same_call_goes_on(planned: Planned) -> None:
    brake = Brake()
    plan = planned(("group_size", "1,3"), seeds=(0,))
    with pytest.raises(Interrupted):
        run(plan, Heard(brake, at=5), brake)
    assert len(plan.outcomes) == 1
    assert plan.result().rows[1].gain.mean is None
    found = run(planned(("group_size", "1,3"), seeds=(0,)))
    assert found.finished == 2
    assert calls_below(plan.folder) == found.paid.calls


def test_a_budget_is_for_the_whole_and_a_higher_one_goes_on(finished: Planned) -> None:
    paid = finished().result().paid.calls
    more = ("group_size", "5,1,2")
    with pytest.raises(BudgetReached, match=r"grpo_group_size=2, seed 0: .*of the budget for the whole"):
        run(finished(more, budget_calls=paid + 10))
    assert calls_below(finished().folder) == paid + 10
    with pytest.raises(BudgetReached, match="the runs before used the budget up"):
        run(finished(more, budget_calls=paid - 50))
    assert run(finished(more, budget_calls=10_000, seeds=(0,))).finished == 3


def test_an_experiment_of_the_same_name_with_other_settings_is_refused_by_variant_and_key(finished: Planned) -> None:
    with pytest.raises(ConfigError, match=r"base, seed 0.*eval_k: 1 → 2.*another --experiment-name"):
        finished(eval_k=2)


def test_a_run_that_was_only_begun_with_other_settings_is_refused_before_a_call(finished: Planned) -> None:
    plan = finished()
    for job in plan.jobs:
        (job.folder / "outcome.json").unlink()
    paid = calls_below(plan.folder)
    with pytest.raises(ConfigError, match="eval_k: 1 → 2"):
        finished(eval_k=2)
    assert calls_below(plan.folder) == paid


def test_a_plan_can_be_looked_at_while_its_runs_are_in_use(finished: Planned) -> None:
    plan = finished()
    with RunDir(plan.jobs[0].folder):
        assert finished().result() == plan.result()


def test_other_held_out_problems_are_no_variant(planned: Planned, data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    rows = [json.dumps({"question": f"How many pears are {n} pears?", "answer": f"{n}!"}) for n in range(12)]
    other.write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(ConfigError, match="other held-out problems than base, seed 0"):
        planned(("test", f"{data / 'test.jsonl'},{other}"))


def test_an_outcome_that_is_damaged_is_made_again_for_nothing(finished: Planned) -> None:
    plan = finished()
    first = plan.result()
    (plan.jobs[0].folder / "outcome.json").write_text("{", encoding="utf-8")
    assert run(finished()).rows == first.rows
    assert calls_below(plan.folder) == first.paid.calls


def test_what_cannot_be_compared_is_refused_before_a_call(planned: Planned, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--test FILE"):
        planned(test="")
    with pytest.raises(ConfigError, match="splits by the seed"):
        planned(test="", test_fraction=0.3)
    with pytest.raises(ConfigError, match="needs validation problems"):
        planned(("gate", "on,off"))
    assert not (tmp_path / "ablation").exists()
