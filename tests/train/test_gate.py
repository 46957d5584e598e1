"""The gate and the library a run returns, on scripted models (SPEC 2.11, 4.6)."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gym.config import RunConfig, load_config
from gym.core.chat import Message, Sampling
from gym.core.decision import Decision
from gym.core.experience import Library
from gym.core.journal import Event, replay, verify
from gym.core.problem import Problem
from gym.errors import BudgetReached, ConfigError, ConnectionFailed
from gym.llm.call_line import Call
from gym.llm.call_log import CallLog
from gym.llm.meter import Budget, Meter
from gym.llm.scripted import Reply, Scripted
from gym.train.grpo.experience_manager import ExperienceManager
from gym.train.grpo.gate import Gate, ordered
from gym.train.grpo.requirements import before_spending
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.rollout_manager import RolloutManager
from gym.train.grpo.snapshots import Snapshot, best, unbeaten, with_later_uses
from gym.train.grpo.solvers.single_turn import single_turn
from gym.train.grpo.training_free_workflow import Run, train
from gym.train.grpo.watch import Silent

MANY, K = 24, 3
"""Validation problems, and answers to each."""
BLOCK = 2 * K * 6
"""Calls of the gate's first look: both libraries, six of the 24 problems."""


class Desk:
    """Runs of one step over models of gate_script; one that a test only reads is made once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, numbers in (("train", range(4)), ("test", range(12, 24)), ("val", range(100, 100 + MANY))):
            rows = [{"id": f"p{n}", "question": f"How many apples are {n} apples?", "answer": f"{n}!"} for n in numbers]
            (root / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def config(self, model: str, name: str = "", **changes: object) -> RunConfig:
        settings = {
            "model": f"scripted:gate_script:{model}", "data": str(self.root / "train.jsonl"), "reward": "exact",
            "val": str(self.root / "val.jsonl"), "epochs": 1, "rollout_max_tokens": 16, "reflection_max_tokens": 16,
            "output_dir": str(self.root / "output"), "experiment_name": name or model,
        }  # fmt: skip
        return load_config(None, settings | changes, environ={})

    @cache  # noqa: B019 - lives as long as the module
    def run(self, model: str, **changes: Any) -> Run:
        return train(self.config(model, **changes))

    def copy(self, run: Run, name: str) -> Path:
        """The run's folder once more, under another name."""
        return Path(shutil.copytree(run.folder, run.folder.parent / name))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield Desk(tmp_path_factory.mktemp("desk"))


def decisions(run: Run) -> list[Decision]:
    return [step.gate for step in run.steps if step.gate]


def calls_of(folder: Path) -> list[Call]:
    with CallLog.open(folder / "calls.jsonl") as log:
        return list(log)


def evaluated(folder: Path) -> int:
    return sum(call.stage == "evaluate" for call in calls_of(folder))


def before_the_gate(run: Run) -> list[Call]:
    return [call for call in calls_of(run.folder) if call.stage != "evaluate"]


def journal_of(folder: Path) -> list[Event]:
    return [Event.from_line(line) for line in (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()]


def test_what_helps_is_kept_before_all_problems_are_answered(desk: Desk) -> None:
    run = desk.run("helps")
    (decision,) = decisions(run)
    assert (decision.verdict, decision.kept, decision.ended) == ("better", True, "decided")
    assert decision.problems < decision.planned == MANY
    assert evaluated(run.folder) == decision.answers == 2 * K * decision.problems
    assert len(run.library) == 1


def test_what_ruins_is_taken_back_soon_and_its_texts_stay_to_be_read(desk: Desk) -> None:
    run = desk.run("ruins")
    (decision,) = decisions(run)
    assert decision.verdict == "worse"
    assert decision.problems == 6
    assert len(run.library) == 0
    update = json.loads((run.folder / "epoch_0" / "step_0" / "batch_update.json").read_text(encoding="utf-8"))
    assert any(item["reason"].startswith("gate: worse: -") for item in update["rejected"])


def test_a_run_whose_last_step_was_taken_back_is_what_its_journal_gives_and_can_be_started_again(desk: Desk) -> None:
    run = desk.run("ruins")
    assert (len(run.library), run.library.next_id) == (0, 1)
    assert replay(journal_of(run.folder)) == run.library
    folder = desk.copy(run, "ruined again")
    names = ("experiences.json", "journal.jsonl", "calls.jsonl", "stats.json")
    before = [(folder / name).read_bytes() for name in names]
    train(desk.config("ruins", folder.name))
    assert [(folder / name).read_bytes() for name in names] == before


def test_a_run_whose_journal_forgot_the_ids_of_what_was_taken_back_goes_on(desk: Desk) -> None:
    folder = desk.copy(desk.run("ruins"), "forgetful")
    forgot, prev = list[str](), ""
    for event in journal_of(folder):
        forgot.append((once := event.model_copy(update={"next_id": 0, "prev": prev}).sealed()).to_line())
        prev = once.hash
    (folder / "journal.jsonl").write_text("".join(forgot), encoding="utf-8")
    paid = len(calls_of(folder))
    assert train(desk.config("ruins", "forgetful")).library.next_id == 1
    assert replay(journal_of(folder)).next_id == 1
    assert len(calls_of(folder)) == paid


def test_unclear_keeps_the_older_library_unless_the_margin_is_reached(desk: Desk) -> None:
    (kept_back,) = decisions(desk.run("does_nothing"))
    assert (kept_back.verdict, kept_back.kept) == ("unclear", False)
    (kept,) = decisions(train(desk.config("does_nothing", "margin", gate_margin=-0.5)))
    assert (kept.verdict, kept.kept, kept.problems) == ("unclear", True, MANY)


RULE = "When asked for a count, end with an exclamation mark."
SPOILS = "When fruit is counted, answer in Roman numerals."
"""As in gate_script."""
AFTER: dict[str, Any] = {"screen_when": "after_gate", "screen_answers": 2, "learn_from": "mixed+all_wrong"}
"""Trials for what the gate takes back."""


def tried(run: Run) -> int:
    return sum(call.stage == "screen" for call in calls_of(run.folder))


def told(run: Run) -> list[list[str]]:
    """Place and decision in each row of the report's table of the gate."""
    report = (run.folder / "report.md").read_text(encoding="utf-8")
    table = report.partition("## How the library was chosen")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return [row[:2] for row in rows[2:]]


def test_of_a_step_that_was_taken_back_the_gate_keeps_what_stands_its_trial(desk: Desk) -> None:
    run = desk.run("spoils_one", **AFTER)
    (decision,) = decisions(run)
    assert (decision.verdict, decision.kept) == ("better", True)
    assert run.library.texts == (RULE,)
    assert tried(run) > 0
    (step,) = run.steps
    assert step.whole is not None
    assert not step.whole.kept
    assert told(run) == [["0/0, whole step", "unclear, taken back"], ["0/0", "better, kept"]]
    update = json.loads((run.folder / "epoch_0" / "step_0" / "batch_update.json").read_text(encoding="utf-8"))
    assert any(note.startswith("all proposals together were taken back (unclear: -") for note in update["notes"])
    assert [item["operation"]["experience"] for item in update["rejected"] if "tried on" in item["reason"]] == [
        SPOILS,
        SPOILS,
    ]
    assert replay(journal_of(run.folder)) == run.library


def test_a_step_of_which_no_proposal_stands_its_trial_is_told_with_what_the_gate_had_said(desk: Desk) -> None:
    run = train(desk.config("ruins", "ruined untried", **AFTER))
    assert len(run.library) == 0
    assert decisions(run) == []
    assert told(run) == [["0/0, whole step", "worse, taken back"]]
    assert "stood a trial on training problems" in (run.folder / "report.html").read_text(encoding="utf-8")


def test_a_step_that_the_gate_keeps_is_not_tried(desk: Desk) -> None:
    run = train(desk.config("helps", "kept untried", **AFTER))
    assert run.library.texts == (RULE,)
    assert tried(run) == 0


def test_trials_that_are_to_follow_a_gate_come_first_where_there_is_none(desk: Desk) -> None:
    config = desk.config("spoils_one", "no gate", **AFTER, gate="none")
    run = train(config)
    assert run.library.texts == (RULE,)
    assert tried(run) > 0
    assert before_spending(config, MANY)[0].startswith("screen_when: after_gate finds no gate")
    assert before_spending(desk.config("spoils_one", **AFTER), MANY) == ()


def test_the_older_librarys_answers_are_not_paid_again_by_the_next_gate(desk: Desk) -> None:
    run = train(desk.config("does_nothing", "twice", gate_margin=0.9, epochs=2))
    assert [(decision.kept, decision.problems) for decision in decisions(run)] == [(False, MANY)] * 2
    asked = [call.request.messages[0].content for call in calls_of(run.folder) if call.stage == "evaluate"]
    assert sum("exclamation" not in prompt for prompt in asked) == MANY * K


def test_a_budget_of_calls_that_ends_in_the_gate_decides_on_the_whole_blocks(desk: Desk) -> None:
    paid = len(before_the_gate(desk.run("does_nothing")))
    run = train(desk.config("does_nothing", "calls", budget_calls=paid + BLOCK + 5))
    (decision,) = decisions(run)
    assert (decision.ended, decision.problems, decision.kept) == ("budget", 6, False)
    assert evaluated(run.folder) == BLOCK  # what could not be paid whole was not begun
    assert "the budget paid for no more" in journal_of(run.folder)[-1].reason


def test_a_budget_of_tokens_that_ends_in_the_gate_does_so_too(desk: Desk) -> None:
    whole = desk.run("does_nothing")
    paid = [call.completion.usage.total for call in before_the_gate(whole) if call.completion]
    all_paid = [call.completion.usage.total for call in calls_of(whole.folder) if call.completion]
    each = (sum(all_paid) - sum(paid)) / evaluated(whole.folder)
    run = train(desk.config("does_nothing", "tokens", budget_tokens=int(sum(paid) + each * 1.5 * BLOCK)))
    (decision,) = decisions(run)
    assert (decision.ended, decision.problems) == ("budget", 6)


def test_a_budget_that_pays_for_no_block_stops_cleanly_and_a_higher_one_goes_on(desk: Desk) -> None:
    whole = desk.run("helps")
    paid = len(before_the_gate(whole))
    with pytest.raises(BudgetReached, match=f"validation needs {BLOCK} more and 20 are left"):
        train(desk.config("helps", "short", budget_calls=paid + 20))
    assert train(desk.config("helps", "short", budget_calls=10_000)).library == whole.library


@pytest.mark.parametrize("kept", [0.5, 0.8])
@pytest.mark.parametrize(
    ("model", "keys"), [("helps", {}), ("harms_a_little", {"gate_margin": -1.0}), ("spoils_one", AFTER)]
)
def test_a_run_cut_off_in_the_middle_of_a_gate_decides_the_same(
    desk: Desk, model: str, keys: dict[str, Any], kept: float
) -> None:
    whole = desk.run(model, **keys)
    folder = desk.copy(whole, f"cut-{model}-{kept}")
    lines = (folder / "calls.jsonl").read_bytes()
    (folder / "calls.jsonl").write_bytes(lines[: int(len(lines) * kept)])
    assert len(before_the_gate(whole)) < len(calls_of(folder)) < len(calls_of(whole.folder))
    for path in folder.rglob("step_*/*"):
        path.unlink()
    again = train(desk.config(model, folder.name, **keys))
    assert (folder / "experiences.json").read_bytes() == (whole.folder / "experiences.json").read_bytes()
    assert decisions(again) == decisions(whole)
    assert {call.key for call in calls_of(folder)} == {call.key for call in calls_of(whole.folder)}
    assert len(calls_of(folder)) == len(calls_of(whole.folder))


@pytest.fixture
def went_back(desk: Desk) -> Run:
    """A run that kept an unclear step which turned out lower, and went back to its start."""
    return desk.run("harms_a_little", gate_margin=-1.0)


def test_the_run_returns_the_best_validated_library_and_the_journal_tells(went_back: Run) -> None:
    assert decisions(went_back)[0].kept
    assert len(went_back.library) == 0
    snapshot = (went_back.folder / "epoch_0" / "step_0" / "experiences.json").read_text(encoding="utf-8")
    assert len(Library.from_json(snapshot)) == 1
    events = journal_of(went_back.folder)
    verify(events)
    assert events[-1].option == "restore"
    assert events[-1].reason.startswith("best of 2 libraries on 24 validation problems: ")
    assert replay(events) == went_back.library
    assert went_back.library.next_id == 1
    assert "the run went back: best of 2 libraries" in (went_back.folder / "report.md").read_text(encoding="utf-8")


def test_going_back_can_be_undone_like_any_other_change(went_back: Run) -> None:
    manager = ExperienceManager(went_back.folder / "experiences.json", actor="person")
    undone = manager.undo(manager.journal[-1].seq)
    assert undone.reason == ""
    assert len(undone.library) == 1


def test_a_finished_run_that_went_back_changes_nothing_when_it_is_started_again(went_back: Run, desk: Desk) -> None:
    folder = desk.copy(went_back, "again")
    names = ("experiences.json", "journal.jsonl", "calls.jsonl", "stats.json")
    before = [(folder / name).read_bytes() for name in names]
    train(desk.config("harms_a_little", "again", gate_margin=-1.0))
    assert [(folder / name).read_bytes() for name in names] == before


@pytest.mark.parametrize("told", [True, False])
def test_killed_while_going_back_it_goes_on(went_back: Run, desk: Desk, told: bool) -> None:
    folder = desk.copy(went_back, f"killed-{told}")
    (folder / "experiences.json").write_bytes((folder / "epoch_0" / "step_0" / "experiences.json").read_bytes())
    if not told:
        lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "journal.jsonl").write_bytes(b"".join(lines[:-1]))
    assert train(desk.config("harms_a_little", folder.name, gate_margin=-1.0)).library == went_back.library
    assert replay(journal_of(folder)) == went_back.library


def test_the_report_gives_the_figures_of_selection_and_says_that_they_are_optimistic(desk: Desk) -> None:
    told = (desk.run("helps").folder / "report.md").read_text(encoding="utf-8")
    assert "better, kept" in told
    assert "This figure is optimistic" in told
    assert "a gain is not confirmed" in told
    tested = train(desk.config("helps", "tested", test=str(desk.root / "test.jsonl")))
    for name in ("report.md", "report.html"):
        text = (tested.folder / name).read_text(encoding="utf-8")
        assert "This figure is optimistic" in text
        assert "On 12 fresh held-out problems, which decided nothing, it is +" in text
        assert "not confirmed" not in text
    saved = json.loads((tested.folder / "report.json").read_text(encoding="utf-8"))
    assert saved["steps"][0]["gate"]["verdict"] == "better"
    assert saved["validated"]["n_problems"] == decisions(tested)[0].problems


def test_without_validation_problems_no_file_knows_of_a_gate(desk: Desk) -> None:
    run = train(desk.config("helps", "ungated", val=""))
    assert "gate" not in json.loads((run.folder / "stats.json").read_text(encoding="utf-8"))["steps"][0]
    assert "How the library was chosen" not in (run.folder / "report.md").read_text(encoding="utf-8")


def test_an_error_that_is_no_chance_is_refused(desk: Desk) -> None:
    with pytest.raises(ConfigError, match="gate_error"):
        desk.config("helps", gate_error=0.5)


def test_a_run_from_before_a_setting_was_known_goes_on(desk: Desk) -> None:
    folder = desk.copy(desk.run("helps"), "older")
    file = folder / "config.yaml"
    lines = [line for line in file.read_text(encoding="utf-8").splitlines(keepends=True) if "gate_error" not in line]
    file.write_text("".join(lines), encoding="utf-8")
    assert train(desk.config("helps", "older")).library == desk.run("helps").library
    with pytest.raises(ConfigError, match=r"gate_error: 0\.05 → 0\.1"):
        train(desk.config("helps", "older", gate_error=0.1))


def gate_over(reply: Callable[[Sequence[Message], Sampling], Reply], problems: int, *, seed: int = 0) -> Gate:
    asked = tuple(Problem(id=f"p{n}", query=f"p{n}", ground_truth="yes") for n in range(problems))
    rollouts = RolloutManager(
        Scripted(reply), single_turn, resolve_reward("exact"), width=lambda: 8,
        sampling=Sampling(temperature=0.7), group_size=2, seed=seed,
    )  # fmt: skip
    return Gate(ordered(asked, seed), rollouts, Meter(Budget()), Silent(), error=0.05, seed=seed)


def by_luck(messages: Sequence[Message], sampling: Sampling) -> str:
    """Half are right; another text in the prompt draws other luck."""
    return "yes" if hash((sampling.seed, len(messages[0].content))) % 2 else "no"


async def test_of_forty_pairs_that_behave_the_same_at_most_two_are_taken_for_better() -> None:
    older, newer = Library().minted("When asked, think.").library, Library().minted("When asked, think twice.").library
    taken = [(await gate_over(by_luck, 12, seed=seed).decide(older, newer)).kept for seed in range(40)]
    assert sum(taken) <= 0.05 * 40


async def test_answers_that_failed_speak_for_neither_side() -> None:
    def reply(messages: Sequence[Message], sampling: Sampling) -> str | ConnectionFailed:
        if "twice" in messages[0].content and messages[-1].content in ("p0", "p1", "p2"):
            return ConnectionFailed("503 for ever")
        return "yes"

    older, newer = Library().minted("When asked, think.").library, Library().minted("When asked, think twice.").library
    decision = await gate_over(reply, 6).decide(older, newer)
    assert (decision.problems, decision.failed, decision.difference) == (3, 6, 0.0)
    assert decision.reason.endswith("on 3 of 6 validation problems, p = 1.0000; 6 answers failed")


async def test_of_equal_libraries_the_oldest_is_best() -> None:
    one, two = Library().minted("When asked, think.").library, Library().minted("When asked, think twice.").library
    found = await best(gate_over(lambda messages, sampling: "yes", 6), [one, two])
    assert (found.place, found.means, found.problems) == (0, (1.0, 1.0), 6)


def decided(verdict: str, *, kept: bool) -> Decision:
    return Decision.model_validate(
        {
            "verdict": verdict, "kept": kept, "ended": "decided", "problems": 6, "planned": 6, "answers": 36,
            "difference": 0.1, "p_value": 0.5,
        }
    )  # fmt: skip


def test_only_libraries_that_none_after_them_beat_are_compared_once_more() -> None:
    start = Library()
    one = start.minted("When asked, think.").library
    two = one.minted("When unsure, count again.").library
    left = [Snapshot(0, one), Snapshot(1, one), Snapshot(2, two)]
    chain = unbeaten(
        start, left, [decided("better", kept=True), decided("worse", kept=False), decided("better", kept=True)]
    )
    assert chain == [Snapshot(2, two)]
    loose = unbeaten(start, left, [decided("unclear", kept=True), None, decided("better", kept=True)])
    assert loose == [Snapshot(None, start), Snapshot(2, two)]
    assert [snapshot.step for snapshot in unbeaten(start, left, [decided("unclear", kept=True)] * 3)] == [None, 1, 2]


def test_going_back_keeps_the_uses_counted_since_and_no_id_returns() -> None:
    older = Library().minted("When asked, think.").library
    later = older.minted("When unsure, count again.").library
    used = later.model_copy(update={"entries": tuple(entry.model_copy(update={"uses": 3}) for entry in later)})
    back = with_later_uses(older, used)
    assert back.texts == older.texts
    assert [entry.uses for entry in back] == [3]
    assert back.next_id == later.next_id
