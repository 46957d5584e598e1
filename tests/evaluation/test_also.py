"""`gym eval --also task.yaml`: each target is read, asked and scored in its own way, under the command's model and library."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from gym.cli.eval import as_object
from gym.cli.main import gym as group
from gym.config import ENDPOINT_KEYS, RunConfig, load_config
from gym.core.admission import Admission
from gym.core.experience import Add, Library
from gym.errors import ConfigError
from gym.evaluation import eval_page
from gym.evaluation.measure import Checks, measure
from gym.evaluation.measured import Measured
from gym.evaluation.record import read
from gym.evaluation.target import ITS_OWN
from gym.llm.brake import Brake
from gym.llm.call_line import Request
from gym.llm.call_log import CallLog
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.task import load_task
from gym.train.grpo.watch import Silent
from gym.train.grpo.ways import room
from tests.train.test_web_workflow import LEADERS, write_rows, write_site

SCRIPTS = Path(__file__).parents[1] / "train"
MODEL = "scripted:walk_script:reply"
RULE = "When a start page is given, open it and search for the name before you answer."
LIBRARY = Library().apply([Add(experience=RULE)], Admission()).library


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A web task over a site and a math task of a known set, each with settings that are no other's."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    write_site(tmp_path / "site")
    write_rows(tmp_path / "train.jsonl", list(LEADERS)[:2])
    write_rows(tmp_path / "test.jsonl", list(LEADERS)[2:])
    sums = [{"unique_id": f"m{n}", "problem": f"What is ${n}+{2 - n}$?", "answer": "2"} for n in range(6)]
    (tmp_path / "math500.jsonl").write_text("".join(json.dumps(row) + "\n" for row in sums), encoding="utf-8")
    (tmp_path / "rules.json").write_text(LIBRARY.to_json(), encoding="utf-8")
    web = {
        "model": "elsewhere-1", "dataset": "train.jsonl", "test": "test.jsonl", "domain": "web",
        "mode": "agent", "tools": ["web"], "web_sites": {"halden.example": "site"}, "rollout_max_tokens": 333, "eval_k": 9,
    }  # fmt: skip
    math = {"model": "elsewhere-2", "dataset": "math500", "data_dir": ".", "rollout_max_tokens": 444, "eval_k": 9}
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(web), encoding="utf-8")
    (tmp_path / "math.yaml").write_text(yaml.safe_dump(math), encoding="utf-8")
    return tmp_path


def configured(task: str, **changes: object) -> RunConfig:
    given = {"model": MODEL, "eval_k": 2, "experiment_name": "run", "seed": 5} | changes
    return load_config(task, given, environ={})


async def measured(config: RunConfig, *also: str, library: Library = LIBRARY) -> Measured:
    return await measure(config, library, compare=True, watch=Silent(), brake=Brake(), checks=Checks(also=also))


def requests(folder: Path) -> list[Request]:
    with CallLog.open(folder / "calls.jsonl") as log:
        return [call.request for call in log]


async def test_a_library_on_its_web_task_and_on_a_math_task_is_one_command(folder: Path) -> None:
    found = await measured(configured("web.yaml", dataset="test.jsonl"), "math.yaml")
    assert found.gain is not None
    assert found.gain.difference is not None
    assert found.gain.difference > 0
    assert found.closed_book is not None
    ((math, closed),) = found.elsewhere
    made = math.after.made
    assert (made.dataset, made.domain, made.reward, made.mode, made.tools) == ("math500", "math", "math", "chat", ())
    assert (made.model, made.k, made.seed, made.max_tokens) == (MODEL, 2, 5, 444)
    assert (math.before.score.mean, math.after.score.mean, math.gain.difference) == (1.0, 1.0, 0.0)
    assert math.gain.interval is not None
    assert math.overhead is not None
    assert math.overhead.tokens is not None
    assert math.overhead.tokens > 0
    assert closed is None
    asked = [one for one in requests(found.folder) if "mathematics" in one.messages[0].content]
    assert len(asked) == 2 * 6 * 2
    assert not any(one.sampling.tools for one in asked)


async def test_the_reverse_walks_the_site_of_the_other_task_beside_its_closed_book(folder: Path) -> None:
    found = await measured(configured("math.yaml"), "web.yaml")
    assert found.closed_book is None
    ((web, closed),) = found.elsewhere
    made = web.after.made
    assert (made.dataset, made.domain, made.reward, made.mode, made.tools) == (
        "test.jsonl",
        "web",
        "web",
        "agent",
        ("web",),
    )
    assert (made.model, made.k, made.seed, made.max_tokens) == (MODEL, 2, 5, 333)
    assert web.after.score.mean == 1.0
    assert web.gain.interval is not None
    assert web.overhead is not None
    assert web.after.score.tools["open"].visits == 2 * 2 * 4
    assert closed is not None
    assert (closed.before.label, closed.before.score.mean, closed.gain.difference) == ("closed book", 0.0, 1.0)
    names = {file.stem for file in (found.folder / "evaluations").iterdir()}
    assert names == {"plain", "library", "also-1-plain", "also-1-library", "also-1-closed-book"}
    assert read(found.folder / "evaluations" / "also-1-library.json").identity == made
    manifest = json.loads((found.folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["data_sha256"].keys() == {"data", "also-1", "experience_lib"}


async def test_pages_and_json_show_the_other_target_whole(folder: Path) -> None:
    found = await measured(configured("math.yaml"), "web.yaml")
    (told,) = as_object(found)["elsewhere"]
    assert told["closed_book"]["gain"]["verdict"] in ("gain", "no difference")
    assert told["overhead"]["tokens"] > 0
    for page in (eval_page.markdown(found), eval_page.html(found)):
        for part in ("", ", what an answer takes", ", closed book", ", how it was asked"):
            assert f"Elsewhere: test.jsonl{part}" in page


async def test_a_set_that_another_domain_knows_is_answered_without_the_tools_of_the_run(folder: Path) -> None:
    found = await measured(configured("web.yaml", data_dir="."), "math500")
    ((math, _),) = found.elsewhere
    assert (math.after.made.domain, math.after.made.mode, math.after.score.mean) == ("math", "chat", 1.0)
    assert math.after.made.max_tokens == 333


async def test_two_sites_of_one_name_do_not_mix(folder: Path) -> None:
    write_site(folder / "other")
    (folder / "other" / "teams" / "fjell.html").write_text(
        "<p>The Fjell pump is led by Eva Bakk.</p>", encoding="utf-8"
    )
    web = yaml.safe_load((folder / "web.yaml").read_text(encoding="utf-8"))
    (folder / "other.yaml").write_text(
        yaml.safe_dump(web | {"web_sites": {"halden.example": "other"}}), encoding="utf-8"
    )
    found = await measured(configured("web.yaml", dataset="test.jsonl"), "web.yaml", "other.yaml")
    assert [there.found.after.score.mean for there in found.elsewhere] == [1.0, 0.75]
    assert len(list(found.folder.rglob("pages.jsonl"))) == 2  # the first is the run's own


async def test_what_is_asked_is_what_the_other_task_holds_out_by_its_own_seed(folder: Path) -> None:
    settings = {"dataset": "math500", "data_dir": ".", "test_fraction": 0.5, "seed": 3}
    (folder / "half.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    reward = resolve_reward("math", timeout_s=30)
    kept = load_task(load_config("half.yaml", environ={}), reward, reward).test
    found = await measured(configured("math.yaml", seed=4), "half.yaml")
    answers = read(found.folder / "evaluations" / "also-1-plain.json").answers
    assert [one.id for one in answers] == [problem.id for problem in kept]


COMMAND = ["eval", "math.yaml", "--model", MODEL, "--experiences", "rules.json", "--compare", "--k", "2", "--also", "web.yaml",
           "--experiment-name", "killed", "--quiet"]  # fmt: skip


def killed(folder: Path, call: int) -> int:
    """The exit status of the command when it dies at a call."""
    search = os.pathsep.join(filter(None, (str(SCRIPTS), os.environ.get("PYTHONPATH"))))
    environ = {**os.environ, "PYTHONPATH": search, "KILL_AT": str(call)}
    command = [sys.executable, "-m", "gym", *COMMAND]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, timeout=120).returncode


async def test_a_killed_command_goes_on_and_needs_no_site_once_it_has_seen_it(folder: Path) -> None:
    assert killed(folder, 40) == -signal.SIGKILL
    resumed = await measured(configured("math.yaml", seed=0, experiment_name="killed"), "web.yaml")
    assert resumed.spent["replayed"] == 39
    whole = await measured(configured("math.yaml", seed=0, experiment_name="whole"), "web.yaml")
    shutil.rmtree(folder / "site")
    shutil.rmtree(folder / "cache")
    again = await measured(configured("math.yaml", seed=0, experiment_name="killed"), "web.yaml")
    assert again.spent["replayed"] == again.spent["calls"] == resumed.spent["calls"]
    for found in (resumed, again):
        for one, other in zip(found.elsewhere[0], whole.elsewhere[0], strict=True):
            assert one is not None
            assert other is not None
            assert (one.gain, one.before.score, one.after.score) == (other.gain, other.before.score, other.after.score)


def test_the_command_prints_both_targets_with_what_the_library_costs_in_each(folder: Path) -> None:
    done = CliRunner().invoke(group, COMMAND, catch_exceptions=False)
    assert done.exit_code == 0
    own, there = done.stdout.split("\nelsewhere: test.jsonl\n", 1)
    for told in (own, there):
        assert "difference on the same problems: " in told
        assert "prompt tokens an answer: " in told
    assert "tools, 1 experience: open 16 calls" in there
    assert "elsewhere: test.jsonl, closed book" in there


async def test_whoever_gives_another_task_a_model_and_a_key_is_told_that_they_are_not_used(folder: Path) -> None:
    web = yaml.safe_load((folder / "web.yaml").read_text(encoding="utf-8"))
    (folder / "KEYED.YAML").write_text(yaml.safe_dump(web | {"api_key": "sk-secret", "seed": 8}), encoding="utf-8")
    found = await measured(configured("math.yaml"), "KEYED.YAML")
    assert found.notes == (
        "KEYED.YAML: not used, for the command says what holds: api_key, eval_k, model_name_or_path",
    )


async def test_a_task_that_asks_what_the_command_asks_is_not_taken_for_elsewhere(folder: Path) -> None:
    settings = {"dataset": "math500", "data_dir": ".", "dataset_truncate": 1, "eval_k": 2, "model": MODEL}
    (folder / "one.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    found = await measured(configured("math.yaml"), "one.yaml", "web.yaml")
    assert found.notes[-1] == (
        "--also one.yaml: 1 problem is asked in the command's own set too, which says nothing of elsewhere"
    )


@pytest.mark.parametrize(
    ("also", "words"),
    [
        ("nowhere.yaml", "config file 'nowhere.yaml' does not exist"),
        ("nothing.yaml", "nothing.yaml: it names neither a dataset nor a test set"),
        ("siteless.yaml", "the web tool has nowhere to go"),
        ("web_local", "the domain 'web' is answered by an agent, and this run has none: .* --also FILE.yaml"),
    ],
)
async def test_a_target_that_cannot_be_asked_is_told_before_any_call(folder: Path, also: str, words: str) -> None:
    (folder / "nothing.yaml").write_text("domain: math\n", encoding="utf-8")
    siteless = {"dataset": "test.jsonl", "domain": "web", "mode": "agent", "tools": ["web"]}
    (folder / "siteless.yaml").write_text(yaml.safe_dump(siteless), encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        await measured(configured("math.yaml"), also)
    log = folder / "output" / "run" / "calls.jsonl"
    assert not log.exists() or not log.read_bytes()


def test_a_server_of_ours_has_room_for_the_longest_walk_of_all_targets(folder: Path) -> None:
    long = configured("web.yaml", rollout_context=8192)
    assert room(configured("math.yaml"), configured("web.yaml")) is None
    assert room(configured("math.yaml", rollout_context=16_384), long, configured("web.yaml")) == 8192


def test_what_a_configuration_keeps_of_its_own_are_keys_that_there_are_and_no_endpoint() -> None:
    assert set(RunConfig.model_fields) > ITS_OWN
    assert not ITS_OWN & (
        ENDPOINT_KEYS | {"model_name_or_path", "seed", "eval_k", "eval_temperature", "experience_lib_path"}
    )
    assert "web_part" in ITS_OWN
