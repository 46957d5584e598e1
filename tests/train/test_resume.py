"""A run that was stopped goes on where it was, pays nothing twice, and ends with the same library (SPEC 4.6, FAULTS S1)."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gym.config import RunConfig
from gym.core.experience import Library
from gym.errors import ConfigError
from gym.llm.call_log import CallLog
from gym.train.grpo.experience_manager import ExperienceManager
from gym.train.grpo.fork import fork_run
from gym.train.grpo.run_dir import RunDir
from gym.train.grpo.training_free_workflow import train

Configured = Callable[..., RunConfig]

KILLS = 20


def texts_at(folder: Path) -> str:
    return (folder / "experiences.json").read_text(encoding="utf-8")


def calls_in(folder: Path) -> list[str]:
    with CallLog.open(folder / "calls.jsonl") as log:
        return [call.key for call in log if call.completion is not None]


@pytest.fixture
def finished(configured: Configured, tmp_path: Path) -> Path:
    """The folder of an uninterrupted run."""
    return train(configured(test=str(tmp_path / "test.jsonl"))).folder


def test_a_finished_run_started_again_pays_nothing_and_changes_nothing(
    configured: Configured, finished: Path, tmp_path: Path
) -> None:
    before, paid = texts_at(finished), calls_in(finished)
    again = train(configured(test=str(tmp_path / "test.jsonl")))
    assert texts_at(finished) == before
    assert calls_in(finished) == paid
    assert again.gain is not None


FILES = (
    "experiences.json",
    "journal.jsonl",
    "stats.json",
    "manifest.json",
    "epoch_0/step_1/experiences.json",
    "epoch_0/step_0/rollout.jsonl",
    "epoch_1/step_4/batch_update.json",
    "epoch_1/shuffled_data.jsonl",
)


@pytest.mark.parametrize("name", FILES)
def test_any_one_output_file_deleted_comes_back_the_same_and_free(
    configured: Configured, finished: Path, tmp_path: Path, name: str
) -> None:
    before, paid = texts_at(finished), calls_in(finished)
    (finished / name).unlink()
    train(configured(test=str(tmp_path / "test.jsonl")))
    assert (finished / name).exists()
    assert texts_at(finished) == before
    assert calls_in(finished) == paid


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.3, 0.5, 0.8, 0.99])
def test_a_call_log_cut_anywhere_even_in_mid_line_is_continued(
    configured: Configured, finished: Path, tmp_path: Path, kept: float
) -> None:
    before, paid = texts_at(finished), calls_in(finished)
    log = finished / "calls.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole[: int(len(whole) * kept)])
    for path in finished.rglob("step_*/*"):
        path.unlink()
    train(configured(test=str(tmp_path / "test.jsonl")))
    assert texts_at(finished) == before
    assert sorted(calls_in(finished)) == sorted(paid)


def test_changed_settings_are_refused_and_the_keys_named(
    configured: Configured, finished: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=r"grpo_group_size: 5 → 3.*--fork"):
        train(configured(test=str(tmp_path / "test.jsonl"), group_size=3))
    with pytest.raises(ConfigError, match="model_name_or_path"):
        train(configured(test=str(tmp_path / "test.jsonl"), model="scripted:desk_script:same"))


def test_a_run_from_before_a_setting_was_known_had_its_default(
    configured: Configured, finished: Path, tmp_path: Path
) -> None:
    file = finished / "config.yaml"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith("inclusion:")), encoding="utf-8")
    train(configured(test=str(tmp_path / "test.jsonl")))
    with pytest.raises(ConfigError, match=r"inclusion: 1.0 → 0.5"):
        train(configured(test=str(tmp_path / "test.jsonl"), inclusion=0.5))


def test_changed_data_under_the_same_name_is_refused(configured: Configured, finished: Path, tmp_path: Path) -> None:
    data = tmp_path / "train.jsonl"
    data.write_text(data.read_text(encoding="utf-8").replace("p3", "q3"), encoding="utf-8")
    with pytest.raises(ConfigError, match="inputs"):
        train(configured(test=str(tmp_path / "test.jsonl")))


def test_more_calls_in_flight_or_a_higher_budget_is_no_change(
    configured: Configured, finished: Path, tmp_path: Path
) -> None:
    train(configured(test=str(tmp_path / "test.jsonl"), rollout_concurrency=3, budget_calls=10_000))


def test_two_processes_on_one_run_are_refused(configured: Configured, finished: Path) -> None:
    with RunDir(finished), pytest.raises(ConfigError, match="in use by another process"):
        train(configured())


def command(config: RunConfig, tmp_path: Path) -> list[str]:
    return [
        sys.executable, "-m", "gym", "train", "--model", "scripted:desk_script:paid", "--data", config.dataset,
        "--reward", "exact", "--epochs", "2", "--batch-size", "5", "--output-dir", config.output_dir,
        "--experiment-name", "killed", "--test", str(tmp_path / "test.jsonl"), "--rollout-concurrency", "4", "--quiet",
    ]  # fmt: skip


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.slow
def test_kill_9_at_twenty_random_moments_gives_the_same_library_and_repeats_no_finished_call(
    configured: Configured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = train(configured(test=str(tmp_path / "test.jsonl"), experiment_name="whole")).folder
    total = len(calls_in(whole))
    counted = tmp_path / "paid.txt"
    monkeypatch.setenv("DESK_PAID", str(counted))
    moments = sorted(random.Random(7).sample(range(total), KILLS))
    folder = tmp_path / "output" / "killed"
    killed = 0
    for moment in moments:
        process = subprocess.Popen(command(configured(), tmp_path), cwd=tmp_path, stdout=subprocess.DEVNULL)
        while process.poll() is None and lines(folder / "calls.jsonl") < moment:
            os.sched_yield()
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.wait()
    done = subprocess.run(command(configured(), tmp_path), cwd=tmp_path, check=True, capture_output=True, text=True)
    finished, paid = calls_in(folder), lines(counted)
    with capsys.disabled():
        print(
            f"\n{killed} kills: {total} calls uninterrupted, {len(finished)} finished after the kills, "
            f"{paid} sent in all, {paid - len(finished)} in flight at a kill and sent again"
        )
    assert done.stdout
    assert texts_at(folder) == texts_at(whole)
    assert len(finished) == len(set(finished)) == total
    assert len(finished) <= paid <= len(finished) + killed * 4
    assert killed >= KILLS - 2


def test_the_journal_replays_to_every_step_byte_for_byte(finished: Path) -> None:
    from gym.core.journal import Event, replay, verify

    events = [Event.from_line(line) for line in (finished / "journal.jsonl").read_text(encoding="utf-8").splitlines()]
    verify(events)
    for step in range(6):
        saved = (finished / f"epoch_{step // 3}" / f"step_{step}" / "experiences.json").read_text(encoding="utf-8")
        assert replay(event for event in events if event.step <= step).to_json() == saved
        assert Library.from_json(saved).to_json() == saved


def test_training_on_never_overwrites_a_persons_changes(configured: Configured, finished: Path, tmp_path: Path) -> None:
    manager = ExperienceManager(finished / "experiences.json", actor="person")
    manager.add("When unsure, count again from the start.")
    manager.save()
    edited = texts_at(finished)
    with pytest.raises(ConfigError, match=r"changes by person.*--experience-lib-path"):
        train(configured(test=str(tmp_path / "test.jsonl")))
    assert texts_at(finished) == edited


def test_training_on_never_overwrites_a_file_edited_by_hand(
    configured: Configured, finished: Path, tmp_path: Path
) -> None:
    path = finished / "experiences.json"
    path.write_text('{"G0": "When unsure, count again from the start."}', encoding="utf-8")
    with pytest.raises(ConfigError, match="changes made in the file itself"):
        train(configured(test=str(tmp_path / "test.jsonl")))
    assert "count again" in texts_at(finished)


def test_a_fork_reuses_the_paid_calls_that_its_changed_settings_leave_as_they_were(
    configured: Configured, finished: Path, tmp_path: Path
) -> None:
    test = str(tmp_path / "test.jsonl")
    forked = train(fork_run(configured(test=test, group_size=3, epochs=1), "smaller"))
    assert forked.folder == finished.parent / "smaller"
    before, after = calls_in(finished), calls_in(forked.folder)
    assert after[: len(before)] == before
    stages = forked.report.spent["stages"]
    model = "scripted:desk_script:reply"
    assert stages["evaluate"][model]["replayed"] >= 12 * 3  # the whole baseline
    assert stages["rollout"][model]["replayed"] >= 5 * 3  # the first step
    with pytest.raises(ConfigError, match="exists already"):
        fork_run(configured(test=test, group_size=2), "smaller")
    with pytest.raises(ConfigError, match="no run"):
        fork_run(configured(experiment_name="nowhere"), "other")


def test_a_command_that_never_made_a_call_does_not_bind_the_next_one(configured: Configured) -> None:
    with pytest.raises(ConfigError):
        train(configured(model="gpt-4o-mini"))
    assert train(configured(epochs=1)).library is not None
