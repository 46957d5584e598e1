"""A planted harmful experience is found and removed by a run, which resumes and can be undone (issue 5, credit)."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.planted import SILENT, Planted, fruit
from gym.config import RunConfig, load_config
from gym.core.experience import Add, Delete, Library
from gym.llm.call_log import CallLog
from gym.train.grpo.experience_manager import ExperienceManager, read_journal
from gym.train.grpo.training_free_workflow import Run, train
from gym.train.grpo.watch import Silent

PLANTED = fruit(24)
Config = Callable[..., RunConfig]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Two epochs over 24 problems under a library of three good sentences, a harmful and a useless one."""
    data, library = PLANTED.write(tmp_path, 0)

    def made(**changes: object) -> RunConfig:
        settings = {
            "model": "scripted:bench.planted:reply", "reflector_model": SILENT, "data": str(data), "reward": "exact",
            "experiences": str(library), "inclusion": 0.6, "epochs": 2, "batch_size": 24, "output_dir": str(tmp_path / "out"),
            "experiment_name": "run", "grpo_group_size": 8,
        }  # fmt: skip
        return load_config(None, settings | changes, environ={})

    return made


def held_out(folder: Path, name: str, planted: Planted) -> str:
    """Other problems of the same kind."""
    path = folder / f"{name}.jsonl"
    rows = [
        {"question": row["question"].replace(" are ", " are 9"), "answer": f"9{row['answer']}"} for row in planted.rows
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


REWORDED = PLANTED.harmful.replace("as a word", "as one word")


def removed(run: Run) -> dict[str, float]:
    """The measured effect of every entry that left, by text."""
    found = {}
    for event in read_journal(run.folder / "experiences.json").events:
        if event.accepted and isinstance(event.operation, Delete) and event.operation.evidence.effect:
            (entry,) = event.before.values()
            assert entry is not None
            found[entry.text] = event.operation.evidence.effect.mean
    return found


def test_a_planted_harmful_entry_is_removed_for_its_figures_and_undo_brings_it_back(config: Config) -> None:
    run = train(config())
    gone = removed(run)
    assert gone[PLANTED.harmful] < -0.1
    assert set(PLANTED.good) <= set(run.library.texts)
    assert all(entry.effect is not None for entry in run.library)
    manager = ExperienceManager(run.folder / "experiences.json", actor="person")
    event = next(event for event in manager.journal if "measured effect" in event.reason)
    assert manager.undo(event.seq).reason == ""
    assert PLANTED.harmful in manager.library.texts


def test_what_was_removed_for_harm_is_not_learned_again(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    whole = train(config(reflector_model="scripted:insist_script:reply", epochs=3))
    assert not {PLANTED.harmful, REWORDED} & set(whole.library.texts)
    events = read_journal(whole.folder / "experiences.json").events
    left = next(event.step for event in events if isinstance(event.operation, Delete))
    refused = [event for event in events if not event.accepted and "was removed: measured effect -0." in event.reason]
    known = [(event.step, event.operation.experience) for event in refused if isinstance(event.operation, Add)]
    assert {(left, REWORDED), (left + 1, PLANTED.harmful), (left + 1, REWORDED)} <= set(known)


def test_a_step_whose_trials_are_lost_is_run_again_for_nothing_and_ends_the_same(config: Config) -> None:
    whole = train(config())
    for lost in ("epoch_1/step_1/experiences.json", "epoch_0/step_0/credit.json"):
        (whole.folder / lost).unlink()
        assert train(config()).library == whole.library
    with CallLog.open(whole.folder / "calls.jsonl") as log:
        assert len(log) == len({call.key for call in log})


def systems(run: Run, stage: str) -> set[str]:
    with CallLog.open(run.folder / "calls.jsonl") as log:
        return {call.request.messages[0].content for call in log if call.stage == stage}


def test_evaluation_shows_everything_while_training_shows_a_part(config: Config, tmp_path: Path) -> None:
    run = train(config(epochs=1, test=held_out(tmp_path, "test", PLANTED), eval_k=1))
    assert len(systems(run, "rollout")) > 10
    assert len(systems(run, "evaluate")) == 2
    started = Library.from_json((tmp_path / "library-0.json").read_text(encoding="utf-8"))
    assert any(started.render() in system for system in systems(run, "evaluate"))


def test_without_the_experiment_every_prompt_holds_the_library_and_nothing_more_is_written(config: Config) -> None:
    run = train(config(inclusion=1.0, epochs=1))
    assert len(systems(run, "rollout")) == 1
    assert not list(run.folder.rglob("credit.json"))
    assert "effect" not in (run.folder / "experiences.json").read_text(encoding="utf-8")
    assert set(run.library.texts) == {*PLANTED.good, PLANTED.harmful, PLANTED.useless}


class Heard(Silent):
    """A watch that keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def test_validation_problems_need_only_not_speak_against_a_measured_removal(config: Config, tmp_path: Path) -> None:
    heard = Heard()
    run = train(
        config(val=held_out(tmp_path, "val", PLANTED), credit_margin=0.2, epochs=1, eval_k=1, seed=1, gate_error=0.01),
        watch=heard,
    )
    assert "gate: the measured removals alone are kept" in heard.lines
    assert removed(run).keys() == {PLANTED.harmful, PLANTED.useless}
    alone = [step for step in run.steps if step.whole]
    assert alone
    assert all(step.gate and step.gate.kept and step.whole and not step.whole.kept for step in alone)
    assert f"| {alone[0].epoch}/{alone[0].step}, whole step | " in (run.folder / "report.md").read_text(
        encoding="utf-8"
    )
