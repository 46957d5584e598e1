"""One trainer, three ways: gradient GRPO changes weights, LoRA adapters, and the training-free mode a library alone.

All on the same data, the same tiny random model and the same reward; a random model cannot reflect, so a script does.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gym.config import RunConfig, load_config
from gym.core.chat import Message, Sampling
from gym.core.experience import Library
from gym.core.journal import replay
from gym.core.problem import Problem, Trajectory, Verdict
from gym.errors import ConfigError, LibraryError, MissingExtra, RunFailed, WeightsChanged
from gym.llm.scripted import Scripted
from gym.train.grpo.experience_manager import read_journal, read_library
from gym.train.grpo.trl.arguments import FinetuningArguments
from tests.tiny_model import TRAIN, Tiny, tiny
from tests.train.tiny_script import reflect, vowels

if TYPE_CHECKING:
    from gym.train.grpo.trainer import GRPOTrainer

WORDS = ("first", "second", "third", "fourth")
Trains = Callable[..., "GRPOTrainer"]
Tensors = dict[str, Any]

pytestmark = [
    TRAIN,
    pytest.mark.filterwarnings("ignore:.*deprecated and will be removed in v6:FutureWarning"),  # TRL's, of transformers
]


def rows(words: Sequence[str] = WORDS) -> list[dict[str, Any]]:
    return [
        {"prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Say the {word} word."}],
         "id": word, "answer": f"aeiou {word}"}
        for word in words
    ]  # fmt: skip


def share_of_vowels(completions: Sequence[Any], answer: Sequence[str], **more: Any) -> list[float]:
    """TRL's kind of reward; it is given the data set's columns."""
    assert all(word.startswith("aeiou") for word in answer)
    assert more["trainer_state"] is not None
    return [vowels(turns[0]["content"]) for turns in completions]


class Vowels:
    """Ours: the same, with a word on it."""

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict]:
        return [Verdict(reward=vowels(one.output), feedback=f"{problem.ground_truth}!") for one in trajectories]

    def unscorable(self, problem: Problem) -> str | None:
        return None


@pytest.fixture
def trains(tmp_path: Path) -> Trains:
    """A trainer of the tiny model; 4 answers to each prompt, 2 prompts a step, 2 steps an epoch."""

    def trainer(
        model: Tiny | None = None, reward: Any = share_of_vowels, *, folder: str = "run", words: Sequence[str] = WORDS,
        settings: dict[str, Any] | None = None, **more: Any,
    ) -> "GRPOTrainer":  # fmt: skip
        from datasets import Dataset
        from trl import GRPOConfig

        from gym.train.grpo import GRPOTrainer

        made = model or tiny()
        defaults = {
            "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "num_generations": 4, "logging_steps": 1,
            "max_completion_length": 10, "learning_rate": 2e-2, "num_train_epochs": 1, "report_to": [], "bf16": False,
            "use_cpu": True, "disable_tqdm": True, "save_strategy": "no", "seed": 3, "activation_checkpointing": False,
        }  # fmt: skip
        args = GRPOConfig(str(tmp_path / folder), **{**defaults, **(settings or {})})
        data = Dataset.from_list(rows(words))
        return GRPOTrainer(made.model, reward, args, data, processing_class=made.tokenizer, **more)

    return trainer


@pytest.fixture
def learns(trains: Trains) -> Trains:
    """The same, training-free, with a script that reflects."""

    def trainer(*given: Any, **more: Any) -> "GRPOTrainer":
        return trains(*given, **{"continuous_learning_grpo": True, "reflector": Scripted(reflect), **more})

    return trainer


def tensors(model: Any) -> Tensors:
    """Copies of every parameter and buffer."""
    return {name: one.detach().clone() for name, one in (*model.named_parameters(), *model.named_buffers())}


def changed(before: Tensors, after: Tensors) -> set[str]:
    assert before.keys() <= after.keys()
    return {name for name, one in before.items() if not one.equal(after[name])}


def logged(trainer: "GRPOTrainer", name: str) -> list[float]:
    return [entry[name] for entry in trainer.state.log_history if name in entry]


def test_gradient_grpo_changes_weights_and_raises_its_reward(trains: Trains) -> None:
    trainer = trains(settings={"num_train_epochs": 8})
    before = tensors(trainer.model)
    trainer.train()
    assert len(changed(before, tensors(trainer.model))) > len(before) / 2
    rewards = logged(trainer, "reward")
    assert len(rewards) == 16
    assert sum(rewards[-4:]) / 4 > sum(rewards[:4]) / 4 + 0.25
    assert len(trainer.library) == 0


def test_lora_changes_adapter_tensors_alone(trains: Trains) -> None:
    trainer = trains(finetuning_args=FinetuningArguments(finetuning_type="lora"))
    before = tensors(trainer.model)
    trainer.train()
    moved = changed(before, tensors(trainer.model))
    assert moved
    assert all("lora_" in name for name in moved)
    assert len(changed(tensors(tiny().model), _unwrapped(trainer.model))) == 0


def _unwrapped(model: Any) -> Tensors:
    """The base model's tensors under their own names."""
    found = tensors(model)
    return {name.removeprefix("base_model.model.").replace(".base_layer", ""): one for name, one in found.items()}


def test_training_free_leaves_every_tensor_while_its_library_grows(learns: Trains) -> None:
    trainer = learns()
    before = tensors(trainer.model)
    trainer.train()
    assert changed(before, tensors(trainer.model)) == set()
    assert all(one.grad is None for one in trainer.model.parameters())
    sizes = logged(trainer, "library/size")
    assert sizes == sorted(sizes)
    assert sizes[-1] == len(trainer.library) > 0
    assert logged(trainer, "loss") == [0.0, 0.0]
    assert trainer.state.global_step == 2


def test_the_model_is_asked_with_the_library_it_learned(learns: Trains, tmp_path: Path) -> None:
    trainer = learns(settings={"num_train_epochs": 2})
    trainer.train()
    calls = [json.loads(line) for line in (tmp_path / "run" / "calls.jsonl").read_text(encoding="utf-8").splitlines()]
    asked = [call for call in calls if call["stage"] == "rollout"]
    assert len(asked) == 2 * len(WORDS) * 4
    first, last = (call["request"]["messages"][0]["content"] for call in (asked[0], asked[-1]))
    assert first == "Be brief."
    assert last.startswith("Be brief.\n\n")
    assert "[G0]. When asked for the" in last


def test_a_step_is_one_whatever_the_accumulation(learns: Trains) -> None:
    parts = learns(folder="parts")
    whole = learns(folder="whole", settings={"per_device_train_batch_size": 8, "gradient_accumulation_steps": 1})
    parts.train()
    whole.train()
    assert len(whole.library) > 0
    assert parts.library == whole.library
    assert parts.state.global_step == whole.state.global_step == 2


def test_a_resumed_run_ends_where_the_uninterrupted_one_does(learns: Trains, tmp_path: Path) -> None:
    saving = {"num_train_epochs": 3, "save_strategy": "steps", "save_steps": 1}
    whole = learns(folder="whole", settings=saving)
    whole.train()
    stopped = learns(folder="stopped", settings={**saving, "max_steps": 3})
    stopped.train()
    assert stopped.library != whole.library
    (tmp_path / "stopped" / "calls.jsonl").unlink()  # nothing may hang on the record
    resumed = learns(folder="stopped", settings=saving)
    resumed.train(resume_from_checkpoint=True)
    assert resumed.library == whole.library
    assert resumed.state.global_step == whole.state.global_step == 6
    assert logged(resumed, "reward") == logged(whole, "reward")
    checkpoint = tmp_path / "stopped" / "checkpoint-6"
    assert read_library(checkpoint) == whole.library
    assert replay(read_journal(checkpoint / "experiences.json").events) == whole.library
    assert not list(checkpoint.glob("*.safetensors"))


def test_a_checkpoint_of_weights_is_none_of_a_library(trains: Trains, learns: Trains, tmp_path: Path) -> None:
    trains(settings={"save_strategy": "steps", "save_steps": 1, "max_steps": 1}).train()
    with pytest.raises(LibraryError, match=r"is no checkpoint of a training-free run: it has no experiences\.json"):
        learns().train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-1"))


def test_callbacks_see_every_step_and_the_best_library_can_be_kept(learns: Trains) -> None:
    from datasets import Dataset
    from transformers import TrainerCallback

    seen: list[tuple[str, int]] = []

    class Seeing(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            seen.append(("step", state.global_step))

        def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **more: Any) -> None:
            seen.append(("evaluate", state.global_step))

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
            if "library/size" in logs:
                seen.append(("log", int(logs["library/size"])))

    trainer = learns(
        callbacks=[Seeing()], eval_dataset=Dataset.from_list(rows(("fifth", "sixth"))),
        settings={
            "eval_strategy": "steps", "eval_steps": 1, "save_strategy": "steps", "save_steps": 1, "per_device_eval_batch_size": 4,
            "load_best_model_at_end": True, "metric_for_best_model": "eval_reward", "greater_is_better": True,
            "num_train_epochs": 2,
        },
    )  # fmt: skip
    trainer.train()
    assert [what for what, _ in seen if what != "log"] == ["step", "evaluate"] * 4
    assert len([what for what, _ in seen if what == "log"]) == 4
    scores = logged(trainer, "eval_reward")
    assert trainer.state.best_metric == max(scores)
    best = Path(str(trainer.state.best_model_checkpoint))
    assert trainer.library == read_library(best)
    assert trainer.evaluate()["eval_reward"] == max(scores)


def test_logs_go_where_report_to_says(learns: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "board"))
    trainer = learns(settings={"report_to": ["tensorboard"]})
    trainer.train()
    (file,) = (tmp_path / "board").rglob("events.*")
    told = dict(scalars(file.read_bytes()))
    for name in ("reward", "library/size", "operations/accepted"):
        assert told[f"train/{name}"] == pytest.approx(logged(trainer, name)[-1])


def scalars(events: bytes) -> Iterator[tuple[str, float]]:
    """Of a TensorBoard file: records of a length (8 bytes), its checksum (4), an event, and its checksum (4)."""
    from tensorboardX.proto.event_pb2 import Event

    while events:
        length = int.from_bytes(events[:8], "little")
        for value in Event.FromString(events[12 : 12 + length]).summary.value:
            yield value.tag, value.simple_value
        events = events[16 + length :]


def test_one_step_by_hand_returns_a_zero_loss(learns: Trains) -> None:
    trainer = learns()
    before = tensors(trainer.model)
    loss = trainer.training_step_free(trainer.model, rows())
    assert (float(loss), loss.requires_grad) == (0.0, False)
    assert changed(before, tensors(trainer.model)) == set()
    assert len(trainer.library) > 0
    trainer.close()


def test_our_rewards_and_trls_score_alike_in_every_mode(trains: Trains, learns: Trains) -> None:
    for name, way in (("trains", trains), ("learns", learns)):
        theirs = way(reward=share_of_vowels, folder=f"{name}-theirs")
        theirs.train()
        ours = way(reward=Vowels(), folder=f"{name}-ours")
        ours.train()
        assert logged(theirs, "reward") == pytest.approx(logged(ours, "reward"))


def test_several_rewards_are_weighed_and_one_may_not_apply(learns: Trains) -> None:
    def never(completions: Sequence[Any], **more: Any) -> list[None]:
        return [None] * len(completions)

    async def half(completions: Sequence[Any], **more: Any) -> list[float]:
        return [0.5] * len(completions)

    alone = learns(folder="alone")
    mixed = learns(reward=[share_of_vowels, never, half], settings={"reward_weights": [0.5, 3.0, 0.5]}, folder="mixed")
    alone.train()
    mixed.train()
    first, other = logged(alone, "reward")[0], logged(mixed, "reward")[0]
    assert other == pytest.approx(0.5 * first + 0.25)


def test_a_reward_outside_0_to_1_says_what_to_do_and_one_that_breaks_is_no_wrong_answer(learns: Trains) -> None:
    with pytest.raises(ConfigError, match=r"reward ten, problem '\w+': 10 does not lie in \[0, 1\].*by reward_weights"):
        learns(reward=ten).train()
    with pytest.raises(
        RunFailed, match=r"all 8 rollouts of step 0 failed, 8 of them at 'reward' with ZeroDivisionError"
    ):
        learns(reward=broken).train()


def ten(completions: Sequence[Any], **more: Any) -> list[float]:
    return [10.0] * len(completions)


def broken(completions: Sequence[Any], **more: Any) -> list[float]:
    return [1 / 0] * len(completions)


def test_a_model_that_reflects_on_itself_is_the_default(learns: Trains, tmp_path: Path) -> None:
    trainer = learns(reflector=None, config=RunConfig(reflection_max_tokens=16))
    trainer.train()
    calls = (tmp_path / "run" / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["stage"] for line in calls} >= {"rollout", "critique"}
    assert len({json.loads(line)["model"] for line in calls}) == 1


def test_a_reflector_may_be_named(learns: Trains, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    named, given = learns(reflector="scripted:tiny_script:reflect", folder="named"), learns(folder="given")
    named.train()
    given.train()
    assert named.library.texts == given.library.texts


@pytest.mark.parametrize(
    ("more", "settings", "message"),
    [
        ({"peft_config": object()}, {}, "peft_config asks for adapters that learn"),
        ({"reward": []}, {}, "needs reward_funcs"),
        (
            {"finetuning_args": FinetuningArguments(finetuning_type="lora")},
            {},
            "finetuning_type: lora asks for adapters",
        ),
        (
            {"finetuning_args": FinetuningArguments(grpo_group_size=5)},
            {},
            "grpo_group_size: 5 answers do not divide the 8",
        ),
        ({}, {"top_p": 0.9}, "top_p: 0.9 means nothing to the training-free mode; leave it at 1.0"),
        ({}, {"steps_per_generation": 4}, "answers anew at every step"),
    ],
)
def test_settings_that_clash_are_refused(
    learns: Trains, more: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        learns(settings=settings, **more)


def test_weights_that_change_on_the_way_are_noticed(learns: Trains) -> None:
    made = tiny()

    def meddling(messages: Sequence[Message], sampling: Sampling) -> str:
        with torch_no_grad():
            made.model.lm_head.weight[0, 0] += 1.0
        return reflect(messages, sampling)

    with pytest.raises(WeightsChanged, match=r"weights changed while the library learned: .*lm_head\.weight"):
        learns(made, reflector=Scripted(meddling)).train()


def torch_no_grad() -> Any:
    import torch

    return torch.no_grad()


def test_the_yaml_of_the_seeds_selects_the_mode(tmp_path: Path) -> None:
    text = (
        "finetuning_type: grpo\ncontinuous_learning_grpo: true\ngrpo_group_size: 5\ngrpo_normalize_advantages: false\n"
    )
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
    found = FinetuningArguments.of(tmp_path / "c.yaml")
    assert (found.finetuning_type, found.continuous_learning_grpo) == ("grpo", True)
    assert (found.grpo_group_size, found.grpo_normalize_advantages) == (5, False)
    assert FinetuningArguments.of({"training_free": False, "finetuning_type": "lora"}) == FinetuningArguments("lora")
    from transformers import HfArgumentParser

    (parsed,) = HfArgumentParser(FinetuningArguments).parse_args_into_dataclasses(["--finetuning_type", "lora"])
    assert parsed == FinetuningArguments("lora")
    with pytest.raises(ConfigError, match="did you mean 'finetuning_type'"):
        FinetuningArguments.of({"finetuning_typ": "lora"})


def test_a_runs_settings_make_the_trainer_of_each_mode(tmp_path: Path) -> None:
    from gym.train.grpo import GRPOTrainer

    problems = [Problem(id=word, query=f"Say the {word} word.", ground_truth="aeiou") for word in WORDS]
    folder = tiny().saved(tmp_path / "model")
    base = {"model": f"hf:{folder}", "group_size": 4, "batch_size": 2, "epochs": 1, "rollout_max_tokens": 8, "seed": 3}
    libraries = {}
    for mode, changes in (("free", {}), ("lora", {"finetuning_type": "lora", "training_free": False})):
        config = load_config(None, {**base, **changes}, environ={})
        trainer = GRPOTrainer.of(
            config, problems, Vowels(), folder=tmp_path / mode, reflector=Scripted(reflect), held_out=problems[:1]
        )
        trainer.train()
        assert trainer.state.global_step == 2
        libraries[mode] = trainer.library
    assert len(libraries["free"]) > 0
    assert libraries["lora"] == Library()
    with pytest.raises(
        ConfigError, match="a trainer needs weights of this machine: give --model hf:FOLDER, not 'gpt-4o'"
    ):
        GRPOTrainer.of(load_config(None, {"model": "gpt-4o"}, environ={}), problems, Vowels(), folder=tmp_path)


@pytest.mark.slow
def test_two_processes_share_the_work_and_end_with_one_library(learns: Trains, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    search = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "GLOO_SOCKET_IFNAME": "lo"}
    alone = {**os.environ, **place, "OMP_NUM_THREADS": "1", "PYTHONPATH": search}
    script = [sys.executable, "-m", "tests.train.two_processes", str(tmp_path / "two")]
    both = [
        subprocess.Popen(script, env={**alone, "RANK": rank, "LOCAL_RANK": rank}, stdout=subprocess.PIPE, text=True)
        for rank in ("0", "1")
    ]
    told = [json.loads(process.communicate(timeout=150)[0].splitlines()[-1]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert told[0]["library"] == told[1]["library"]
    assert [one["unchanged"] for one in told] == [True, True]
    assert [one["steps"] for one in told] == [2, 2]
    assert all(one["generated"] > 0 for one in told)
    single = learns(settings={"gradient_accumulation_steps": 2})
    single.train()
    assert told[0]["library"] == json.loads(single.library.to_json())


@pytest.mark.slow
def test_the_example_shows_the_three_ways() -> None:
    example = Path(__file__).parents[2] / "examples" / "three_ways.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=True, timeout=150)
    said = [line for line in done.stdout.splitlines() if "tensors" in line]
    assert [line.rpartition(", ")[2] for line in said] == [
        f"{count} of 21 tensors of the model changed" for count in (21, 0, 0)
    ]


def test_without_the_extra_one_line_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import gym.train.grpo

    monkeypatch.setitem(sys.modules, "trl", None)
    with pytest.raises(MissingExtra, match=r"GRPOTrainer needs the extra \[train\]: pip install 'zoo-gym\[train\]'"):
        gym.train.grpo.GRPOTrainer  # noqa: B018
