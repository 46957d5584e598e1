"""Gradient baselines from end to end on a tiny random model: same data and rewards as `gym train`, measured before and after."""

import asyncio
import gc
import json
import resource
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from gym.cli.main import gym
from gym.config import RunConfig, load_config
from gym.errors import ConfigError, Interrupted, MissingExtra, RunFailed, StorageError, WeightsChanged
from gym.evaluation.record import read
from gym.llm.brake import Brake
from gym.train.grpo.frozen.count import adapter_parameters, stored_tensors
from gym.train.grpo.gradient.checkpoints import last_whole
from gym.train.grpo.gradient.plan import plan
from gym.train.grpo.gradient.settings import Training
from gym.train.grpo.gradient.workflow import Also, Baseline, abaseline, baseline
from gym.train.grpo.training_free_workflow import train
from gym.train.grpo.verification import verify_run
from gym.train.grpo.watch import Silent
from tests.tiny_model import TRAIN, tiny

if TYPE_CHECKING:
    from gym.llm.meter import Meter

Trains = Callable[..., Baseline]

pytestmark = [
    TRAIN,
]
EVALUATES = ("model", "data", "reward", "rollout_max_tokens", "output_dir", "experiment_name", "seed")
FAST = Training(way="grpo", learning_rate=2e-2)
LORA = Training(way="lora", learning_rate=2e-1, rank=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny().saved(tmp_path_factory.mktemp("model") / "tiny-model")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve training problems, six held-out ones, and four of another kind."""
    place = tmp_path_factory.mktemp("data")
    for name, numbers, text in (
        ("train", range(12), "How many apples are {} apples?"),
        ("test", range(12, 18), "How many apples are {} apples?"),
        ("other", range(4), "Say {}."),
    ):
        rows = [{"id": f"{name}{n}", "question": text.format(n), "answer": f"{n}"} for n in numbers]
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return place


@pytest.fixture
def settings(folder: Path, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return {
        "model": f"hf:{folder}", "data": str(place / "train.jsonl"), "test": str(place / "test.jsonl"),
        "reward": "tiny_script:vowels", "rollout_max_tokens": 8, "epochs": 2, "batch_size": 4, "group_size": 4, "eval_k": 2,
        "output_dir": str(tmp_path / "output"), "experiment_name": "run", "seed": 3,
    }  # fmt: skip


def configured(settings: dict[str, Any], **changes: Any) -> RunConfig:
    return load_config(None, settings | changes, environ={})


class Stopping(Silent):
    """Pulls the brake in the training's step `at`."""

    def __init__(self, brake: Brake, at: int = 2) -> None:
        self.brake, self.at, self.training, self.done = brake, at, False, 0

    def phase(self, name: str, total: int, meter: "Meter") -> None:
        self.training = name == "training"

    def advance(self, count: int = 1) -> None:
        self.done += count if self.training else 0
        if self.training and self.done >= self.at:
            self.brake.pull(Interrupted("enough"))


def test_gradient_grpo_is_trained_measured_and_counted(settings: dict[str, Any], place: Path) -> None:
    done = baseline(configured(settings, epochs=6), FAST, also=Also((str(place / "other.jsonl"),)))
    report, changed = done.report, done.report.effort.changed
    assert changed is not None
    assert changed.changed > 0.9 * changed.parameters
    assert (changed.added, changed.changed_tensors) == (0, changed.tensors)
    assert len(report.steps) == 18
    assert report.comparison.gain.difference is not None
    assert report.comparison.gain.difference > 0.2
    assert report.comparison.notes == ()
    (there,) = report.elsewhere
    assert there.after.made.dataset.endswith("other.jsonl")
    assert report.effort.calls == 18 * 4 * 4
    assert report.effort.tokens == report.steps[-1].tokens > 18 * 16 * 20
    assert report.effort.usd == 0.0
    assert report.effort.peak_bytes is not None
    assert report.effort.peak_bytes > 100e6
    names = sorted(file.stem for file in (done.folder / "evaluations").iterdir())
    assert names == ["after", "also-1-after", "also-1-plain", "before"]
    manifest = json.loads((done.folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["weights"]["verified"] is True
    assert manifest["trained"]["weights"] == read(done.folder).identity.weights
    assert [check.exit_code for check in verify_run(done.folder)] == [0]


def test_before_training_the_answers_are_those_of_the_training_free_run(settings: dict[str, Any]) -> None:
    free = train(configured(settings, reflector_model="scripted:tiny_script:reflect", experiment_name="free", epochs=1))
    done = baseline(configured(settings, epochs=1), FAST)
    mine, theirs = (read(run / "evaluations" / "before.json") for run in (done.folder, free.folder))
    assert [one.rewards for one in mine.answers] == [one.rewards for one in theirs.answers]
    assert mine.identity == theirs.identity


def test_lora_adds_adapters_and_leaves_every_weight(settings: dict[str, Any], folder: Path) -> None:
    done = baseline(configured(settings, epochs=4), LORA)
    changed = done.report.effort.changed
    assert changed is not None
    assert (changed.changed, changed.changed_tensors) == (0, 0)
    assert changed.added == adapter_parameters(stored_tensors(folder), LORA.rank) > 0
    assert changed.parameters == sum(one.parameters for one in stored_tensors(folder))
    assert read(done.folder).identity.weights.startswith("lora, SHA-256 ")
    checkpoint = done.folder / done.report.checkpoint
    assert (checkpoint / "adapter_model.safetensors").is_file()
    assert not (checkpoint / "optimizer.pt").exists()


@pytest.mark.parametrize("at", [2, 5, 6])
async def test_a_stopped_training_is_continued_to_the_end_of_an_uninterrupted_one(
    settings: dict[str, Any], at: int
) -> None:
    settings |= {"epochs": 3}
    config, brake = configured(settings), Brake()
    with pytest.raises(Interrupted, match="enough"):
        await abaseline(config, FAST, watch=Stopping(brake, at), brake=brake)
    saved = [file.name for file in (Path(config.output_dir) / "run" / "checkpoints").glob("checkpoint-*")]
    assert saved in [[f"checkpoint-{at + more}"] for more in range(3)]  # it ends the step in hand
    resumed = await abaseline(config, FAST)
    whole = await abaseline(configured(settings, experiment_name="whole"), FAST)
    assert read(resumed.folder).identity == read(whole.folder).identity  # with the digest of every tensor
    for told in ("reward", "tokens"):
        assert [getattr(one, told) for one in resumed.report.steps] == [
            getattr(one, told) for one in whole.report.steps
        ]
    calls = (resumed.folder / "calls.jsonl").read_bytes()
    again = await abaseline(config, FAST)
    assert (again.folder / "calls.jsonl").read_bytes() == calls
    assert again.report.comparison == resumed.report.comparison
    assert again.report.steps == resumed.report.steps


class Cancelling(Silent):
    """Cancels the run in the training's first step, as a second Ctrl-C does."""

    def __init__(self) -> None:
        self.task, self.training = asyncio.current_task(), False

    def phase(self, name: str, total: int, meter: "Meter") -> None:
        self.training = name == "training"

    def advance(self, count: int = 1) -> None:
        if self.training and count and self.task:
            self.task.cancel()


async def test_a_training_that_is_stopped_at_once_ends_its_thread_and_goes_on_later(settings: dict[str, Any]) -> None:
    config = configured(settings)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(_cancelled(config))
    futures = [one for one in gc.get_objects() if issubclass(type(one), asyncio.Future)]
    assert not [one for one in futures if one.done() and one._log_traceback]  # asyncio would print it at the end
    resumed = await abaseline(config, FAST)
    assert [one.step for one in resumed.report.steps] == [1, 2, 3, 4, 5, 6]


async def _cancelled(config: RunConfig) -> None:
    await abaseline(config, FAST, watch=Cancelling())


async def test_steps_of_one_problem_are_stopped_at_once_too(settings: dict[str, Any]) -> None:
    config = configured(settings, batch_size=1)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(_cancelled(config))
    saved = Path(config.output_dir) / "run" / "checkpoints"
    assert not list(saved.glob("checkpoint-24"))


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def _only(folder: Path, name: str) -> None:
    for file in folder.iterdir():
        if file.name != name:
            file.unlink()


BREAKAGES: dict[str, Callable[[Path], None]] = {
    "killed before its weights": lambda one: _only(one, "config.json"),
    "killed before its state": lambda one: (one / "trainer_state.json").unlink(),
    "weights cut": lambda one: _cut(one / "model.safetensors"),
    "optimizer cut": lambda one: _cut(one / "optimizer.pt"),
    "state cut": lambda one: _cut(one / "trainer_state.json"),
}


@pytest.fixture(scope="module")
def two_checkpoints(folder: Path, place: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Of a run whose first and second epoch are both still there, as at a kill before the first is removed."""
    output = tmp_path_factory.mktemp("two")
    settings = {
        "model": f"hf:{folder}", "data": str(place / "train.jsonl"), "test": str(place / "test.jsonl"), "reward": "exact",
        "rollout_max_tokens": 8, "epochs": 3, "batch_size": 4, "group_size": 4, "output_dir": str(output), "seed": 3,
        "experiment_name": "run",
    }  # fmt: skip
    checkpoints = output / "run" / "checkpoints"
    for step in (2, 5):
        brake = Brake()
        with pytest.raises(Interrupted):
            asyncio.run(abaseline(configured(settings), FAST, watch=Stopping(brake, step), brake=brake))
        (kept,) = checkpoints.glob("checkpoint-*")
        shutil.copytree(kept, output / kept.name)
    for one in output.glob("checkpoint-*"):
        shutil.copytree(one, checkpoints / one.name, dirs_exist_ok=True)
    return output, settings


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_broken_checkpoint_is_set_aside_and_the_one_before_goes_on(
    two_checkpoints: tuple[Path, dict[str, Any]], tmp_path: Path, breakage: str
) -> None:
    output, settings = two_checkpoints
    shutil.copytree(output / "run", tmp_path / "run")
    before, broken = sorted((tmp_path / "run" / "checkpoints").glob("checkpoint-*"))
    BREAKAGES[breakage](broken)
    assert last_whole(tmp_path / "run") == before
    done = baseline(configured(settings, output_dir=str(tmp_path)), FAST)
    assert [one.step for one in done.report.steps] == list(range(1, 10))
    assert done.report.checkpoint == "checkpoints/checkpoint-9"
    assert (broken.parent / f"broken-{broken.name}").is_dir()


def test_what_was_trained_is_not_measured_again_when_a_bit_of_it_changed(settings: dict[str, Any]) -> None:
    config = configured(settings, epochs=1)
    done = baseline(config, LORA)
    file = done.folder / done.report.checkpoint / "adapter_model.safetensors"
    whole = bytearray(file.read_bytes())
    whole[-3] ^= 1
    file.write_bytes(whole)
    for _ in range(2):
        with pytest.raises(WeightsChanged, match=r"what was trained is not what it was: lora, SHA-256 .* remove it to"):
            baseline(config, LORA)
    assert read(done.folder).identity.weights == done.report.comparison.after.made.weights


def test_a_damaged_report_is_written_again(settings: dict[str, Any]) -> None:
    config = configured(settings, epochs=1)
    done = baseline(config, LORA)
    (done.folder / "report.json").write_text('{"effort": {"way": "magic"}}', encoding="utf-8")
    assert baseline(config, LORA).report.effort.changed == done.report.effort.changed


def test_a_disk_that_refuses_a_checkpoint_is_one_line(settings: dict[str, Any]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64_000, hard))
    try:
        with pytest.raises(StorageError, match=r"the training cannot be saved \(SafetensorError: .*File too large"):
            baseline(configured(settings), FAST)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(baseline(configured(settings), FAST).report.steps) == 6


@pytest.mark.parametrize("given", ["loss_type=zzz", "max_grad_norm=word"])
def test_what_breaks_inside_the_training_is_one_line(settings: dict[str, Any], given: str) -> None:
    with pytest.raises(
        RunFailed, match=r"the training failed \((ValueError|TypeError): .*its last checkpoint is intact"
    ):
        baseline(configured(settings), Training.of("grpo", settings=(given,)))


def test_another_set_that_is_no_longer_asked_is_forgotten_and_one_given_twice_asked_once(
    settings: dict[str, Any], place: Path
) -> None:
    other, test = str(place / "other.jsonl"), str(place / "train.jsonl")
    both = baseline(configured(settings, epochs=1), LORA, also=Also((other, test)))
    assert len(both.report.elsewhere) == 2
    one = baseline(configured(settings, epochs=1), LORA, also=Also((test, test)))
    assert len(one.report.elsewhere) == 1
    names = sorted(file.stem for file in (one.folder / "evaluations").iterdir())
    assert names == ["after", "also-1-after", "also-1-plain", "before"]


def test_gym_eval_leaves_a_baselines_measurements_alone(settings: dict[str, Any]) -> None:
    done = baseline(configured(settings, epochs=1), LORA)
    words = [word for key, value in settings.items() if key in EVALUATES for word in (f"--{key}", str(value))]
    found = CliRunner().invoke(gym, ["eval", *words], standalone_mode=False)
    assert isinstance(found.exception, ConfigError)
    assert "is one of `gym baseline`" in str(found.exception)
    assert not (done.folder / "evaluations" / "plain.json").exists()


def test_other_settings_are_no_continuation(settings: dict[str, Any]) -> None:
    baseline(configured(settings, epochs=1), FAST)
    with pytest.raises(ConfigError, match=r"was started with other.*rate 0.02.*rate 0.5.*or choose another --exp"):
        baseline(configured(settings, epochs=1), Training(way="grpo", learning_rate=0.5))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": ""}, "no model: give --model hf:FOLDER"),
        ({"model": "gpt-4o"}, "gradients need weights of this machine.*not 'gpt-4o'"),
        ({"model": "hf:nowhere"}, "'hf:nowhere' is no transformers model: it does not exist"),
        ({"test": ""}, "no held-out problems.*--test FILE"),
        ({"mode": "agent"}, "mode: agent is for the training-free method"),
        ({"reward": "judge"}, "would be judged by the model that is trained"),
        ({"group_size": 1}, "one answer has no other to compare it with"),
        ({"temperature": 0}, "at 0 all answers to a problem are one"),
        ({"executor": "ray"}, "executor: a gradient baseline trains in this process"),
    ],
)
def test_a_mistake_is_told_before_anything_is_loaded(
    settings: dict[str, Any], changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        baseline(configured(settings, **changes), FAST)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("beta", "expected KEY=VALUE"),
        ("seed=4", "--set seed: give --seed instead"),
        ("report_to=wandb", "--set report_to: it cannot be changed here"),
        ("num_iterations=2", "--set num_iterations: it cannot be changed here"),
        ("per_device_train_batch_size=2", "--set per_device_train_batch_size: give --batch-size instead"),
        ("include_num_input_tokens_seen=true", "it cannot be changed here"),
        ("beta=.nan", "the value is no number, word, list or mapping"),
        ("beta=&a [*a]", "the value is no number, word, list or mapping"),
        ("beta=2020-01-01", "the value is no number, word, list or mapping"),
    ],
)
def test_a_setting_of_trls_must_not_have_a_name_of_ours(given: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Training.of("grpo", settings=(given,))


def test_a_rank_is_refused_where_there_are_no_adapters() -> None:
    with pytest.raises(ConfigError, match="--rank is of LoRA's adapters, and grpo trains all weights"):
        Training.of("grpo", rank=16)
    assert (Training.of("lora", rank=16).rank, Training.of("lora").rank) == (16, 8)


def test_a_reward_for_other_sets_is_refused_without_one(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="--also-reward scores the answers to another set: give it with --also"):
        baseline(configured(settings), FAST, also=Also(reward="exact"))


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), 0.0])
def test_a_learning_rate_is_a_number_above_zero(rate: float) -> None:
    with pytest.raises(ConfigError, match=r"--learning-rate .*: expected a number above 0"):
        Training.of("lora", learning_rate=rate)


def test_a_setting_that_trl_does_not_know_is_one_line(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"TRL refuses the settings of this training: .*'wrong'"):
        baseline(configured(settings), Training.of("grpo", settings=("wrong=1",)))


def test_without_the_extra_one_line_names_it(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingExtra, match=r"gym baseline needs the extra \[train\]"):
        baseline(configured(settings), LORA)


def test_a_plan_counts_without_loading_anything(
    settings: dict[str, Any], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    full, lora = (plan(configured(settings), way) for way in (FAST, LORA))
    assert (full.steps, full.answers, full.measured) == (6, 96, 24)
    assert full.trained == full.parameters
    assert full.memory == 16 * full.parameters
    assert 0 < lora.trained < full.trained
    assert plan(configured(settings), FAST, Also((str(place / "other.jsonl"),))).measured == 24 + 2 * 4 * 2
    with pytest.raises(ConfigError, match="does not exist"):
        plan(configured(settings), FAST, Also(("nowhere.jsonl",)))


def test_the_command_plans_trains_and_says_what_came_of_it(settings: dict[str, Any], place: Path) -> None:
    words = ["baseline", "lora", *(word for key, value in settings.items() for word in (f"--{key}", str(value)))]
    planned = CliRunner().invoke(gym, [*words, "--dry-run"], catch_exceptions=False)
    assert "6 optimizer steps, 96 answers" in planned.stdout
    more = ["--learning-rate", "0.05", "--also", str(place / "other.jsonl"), "--quiet"]
    done = CliRunner().invoke(gym, [*words, *more], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "paired difference" in done.stdout
    assert "elsewhere: " in done.stdout
    assert "In memory 0 of" in done.stdout
    page = (Path(settings["output_dir"]) / "run" / "report.md").read_text(encoding="utf-8")
    for said in ("What it took", "Step by step", "Elsewhere"):
        assert said in page


def test_gym_train_names_the_command_for_gradients(settings: dict[str, Any]) -> None:
    for changes in ({"continuous_learning_grpo": False, "finetuning_type": "lora"}, {"finetuning_type": "lora"}):
        with pytest.raises(ConfigError, match="use `gym baseline lora` with the same arguments"):
            train(configured(settings, **changes))
