"""The web domain from configuration to report: recorded, resumed after a kill, and replayed when its site is gone."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gym.config import RunConfig, load_config
from gym.core.admission import Admission
from gym.core.experience import Library
from gym.core.operation import Add
from gym.core.problem import ToolUse
from gym.errors import ConfigError, DataError
from gym.evaluation.measure import Checks, measure
from gym.llm.brake import Brake
from gym.llm.call_log import CallLog
from gym.train.grpo.training_free_workflow import Run, train
from gym.train.grpo.watch import Silent

Configured = Callable[..., RunConfig]

LEADERS = {
    "Vard": "Nora Lind", "Skog": "Ivo Stam", "Fjell": "Una Krav", "Elv": "Pia Moen", "Dal": "Odd Rask", "Myr": "Siv Holt",
}  # fmt: skip


def page(title: str, body: str) -> str:
    return f"<!doctype html><html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>"


def write_site(folder: Path) -> Path:
    """A front page, a page for each pump's team, and a list that a question could be answered from at once."""
    (folder / "teams").mkdir(parents=True)
    links = "".join(f'<li><a href="teams/{pump.lower()}.html">{pump}</a></li>' for pump in LEADERS)
    (folder / "index.html").write_text(page("Halden Pumps", f"<ul>{links}</ul>"), encoding="utf-8")
    for pump, leader in LEADERS.items():
        text = page(f"Team {pump}", f"<p>The {pump} pump is led by {leader} since 2011.</p>")
        (folder / "teams" / f"{pump.lower()}.html").write_text(text, encoding="utf-8")
    return folder


def write_rows(path: Path, pumps: list[str]) -> Path:
    rows = [
        {
            "id": pump,
            "question": f"Who leads the {pump} pump?",
            "answer": LEADERS[pump],
            "accept": [],
            "start": "http://halden.example/index.html",
            "hops": 2,
            "level": "easy",
        }
        for pump in pumps
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configured:
    """A configuration over four training and two held-out questions about a site, answered by `walk_script.py`."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path / "cache"))
    write_site(tmp_path / "site")
    names = list(LEADERS)
    write_rows(tmp_path / "train.jsonl", names[:4])
    write_rows(tmp_path / "test.jsonl", names[4:])
    (tmp_path / "web.yaml").write_text(
        json.dumps(
            {
                "model": "scripted:walk_script:reply",
                "dataset": str(tmp_path / "train.jsonl"),
                "test": str(tmp_path / "test.jsonl"),
                "domain": "web",
                "mode": "agent",
                "tools": ["web"],
                "web_sites": {"halden.example": str(tmp_path / "site")},
                "epochs": 1,
                "batch_size": 2,
                "group_size": 4,
                "eval_k": 2,
                "output_dir": str(tmp_path / "output"),
            }
        )
    )

    def config(**changes: object) -> RunConfig:
        return load_config(tmp_path / "web.yaml", {"experiment_name": "run"} | changes, environ={})

    return config


def library_of(folder: Path) -> bytes:
    return (folder / "experiences.json").read_bytes()


def test_a_run_learns_from_walks_and_is_shown_beside_a_closed_book(configured: Configured) -> None:
    run = train(configured())
    assert run.library.texts == ("When a start page is given, open it and search for the name before you answer.",)
    assert run.after is not None
    assert run.after.score.mean == 1.0
    report = json.loads((run.folder / "report.json").read_text(encoding="utf-8"))
    assert report["closed_book"]["mean"] == 0.0
    assert report["over_closed_book"]["difference"] == 1.0
    assert report["overhead_tokens"] > 0
    page = (run.folder / "report.md").read_text(encoding="utf-8")
    assert "Closed book: the same problems without tools and library" in page
    assert "After against it, paired on the same 2 problems" in page
    assert run.after.score.tools["open"] == ToolUse(calls=8, visits=8)


def test_an_address_never_becomes_an_experience(configured: Configured) -> None:
    run = train(configured())
    update = json.loads((run.folder / "epoch_0" / "step_0" / "batch_update.json").read_text(encoding="utf-8"))
    reasons = {one["reason"] for one in update["rejected"] if "people.html" in one["operation"]["experience"]}
    assert reasons == {
        "holds an address ('http://halden.example/people.html'): where a page is helps on one site alone"
    }


def test_closed_book_answers_get_no_tool_no_library_and_no_port_is_ever_told(configured: Configured) -> None:
    run = train(configured())
    with CallLog.open(run.folder / "calls.jsonl") as log:
        calls = list(log)
    closed = [call.request for call in calls if "cannot look anything up" in call.request.messages[0].content]
    assert len(closed) == 4
    assert not any(request.sampling.tools or "start page is given" in request.messages[0].content for request in closed)
    assert all("Start page: http://halden.example/index.html" in request.messages[-1].content for request in closed)
    recorded = (run.folder / "calls.jsonl").read_text() + (run.folder / "pages.jsonl").read_text()
    assert "127.0.0.1" not in recorded


def kill_at(call: int, tmp_path: Path) -> int:
    """The exit status of a run that dies at a call."""
    command = [
        sys.executable,
        "-m",
        "gym",
        "train",
        str(tmp_path / "web.yaml"),
        "--experiment-name",
        "killed",
        "--quiet",
    ]
    environ = os.environ | {
        "KILL_AT": str(call),
        "PYTHONPATH": f"{Path(__file__).parent}:{os.environ.get('PYTHONPATH', '')}",
    }
    return subprocess.run(command, env=environ, capture_output=True, check=False).returncode


def test_a_killed_run_resumes_and_a_replay_without_the_site_gives_the_same_library(
    configured: Configured, tmp_path: Path
) -> None:
    whole = train(configured()).folder
    assert [kill_at(call, tmp_path) for call in (12, 10)] == [-signal.SIGKILL] * 2
    killed = tmp_path / "output" / "killed"
    assert not (killed / "report.json").exists()
    with (killed / "pages.jsonl").open("ab") as file:
        file.write(b'{"at": "2026-11-30T00:00:00+00:00", "kind": "pa')
    resumed = train(configured(experiment_name="killed")).folder
    assert library_of(resumed) == library_of(whole)
    shutil.rmtree(tmp_path / "site")
    shutil.rmtree(tmp_path / "cache")
    replayed = replay(configured, resumed)
    assert library_of(replayed.folder) == library_of(whole)
    for name in ("calls.jsonl", "pages.jsonl"):
        assert (replayed.folder / name).read_bytes() == (resumed / name).read_bytes()
    assert replayed.report.spent["total"]["replayed"] == replayed.report.spent["total"]["calls"]


def test_of_a_site_that_we_made_the_questions_are_enough_to_replay(configured: Configured, tmp_path: Path) -> None:
    (tmp_path / "site").rename(tmp_path / "pages")
    (tmp_path / "site").mkdir()
    (tmp_path / "pages").rename(tmp_path / "site" / "pages")
    (tmp_path / "site" / "site.json").write_text("{}", encoding="utf-8")
    whole = train(configured()).folder
    shutil.rmtree(tmp_path / "site" / "pages")
    assert library_of(replay(configured, whole).folder) == library_of(whole)


def replay(configured: Configured, folder: Path) -> Run:
    """A new run that has nothing but another's records."""
    new = folder.parent / "replay"
    new.mkdir()
    for name in ("calls.jsonl", "pages.jsonl"):
        shutil.copyfile(folder / name, new / name)
    return train(configured(experiment_name="replay"))


def test_a_site_that_changed_is_refused_and_one_that_was_never_there_names_what_makes_it(
    configured: Configured, tmp_path: Path
) -> None:
    train(configured())
    (tmp_path / "site" / "teams" / "vard.html").write_text(page("Team Vard", "Gone."), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"the pages of 'halden.example' are not those that this run began with"):
        train(configured())
    shutil.rmtree(tmp_path / "site")
    with pytest.raises(ConfigError, match=r"site 'halden.example': the folder '.*site' does not exist"):
        train(configured(experiment_name="new"))
    missing = tmp_path / "nowhere" / "train.jsonl"
    with pytest.raises(DataError, match=r"gym web make-site --output .*nowhere"):
        train(configured(dataset=str(missing)))


async def evaluated(config: RunConfig, **checks: object) -> dict[str, object]:
    from gym.cli.eval import as_object

    found = await measure(config, None, compare=False, watch=Silent(), brake=Brake(), checks=Checks(**checks))  # type: ignore[arg-type]
    return as_object(found)


async def test_an_evaluation_is_shown_beside_its_closed_book_with_interval_and_paired_difference(
    configured: Configured, tmp_path: Path
) -> None:
    found = await evaluated(configured(dataset=str(tmp_path / "train.jsonl"), experiment_name="eval"))
    closed = found["closed_book"]
    assert isinstance(closed, dict)
    assert closed["before"]["label"] == "closed book"
    assert closed["before"]["score"]["mean"] == 0.0
    assert closed["before"]["score"]["interval"][1] > 0
    assert closed["gain"]["difference"] == found["mean"]
    assert closed["gain"]["interval"] is not None
    records = {path.stem for path in (tmp_path / "output" / "eval" / "evaluations").iterdir()}
    assert records == {"plain", "closed-book"}


async def test_a_set_of_another_domain_is_read_asked_and_graded_as_its_own(
    configured: Configured, tmp_path: Path
) -> None:
    from gym.cli.eval import as_object

    (tmp_path / "math500.jsonl").write_text('{"problem": "What is $1+1$?", "answer": "2"}\n', encoding="utf-8")
    library = Library().apply([Add(experience="When a start page is given, open it first.")], Admission()).library
    config = configured(dataset=str(tmp_path / "train.jsonl"), data_dir=str(tmp_path), experiment_name="both")
    checks = Checks(also=("math500",))
    found = await measure(config, library, compare=True, watch=Silent(), brake=Brake(), checks=checks)
    ((elsewhere, _),) = found.elsewhere
    assert (elsewhere.after.made.domain, elsewhere.after.made.reward, elsewhere.after.score.mean) == (
        "math",
        "math",
        1.0,
    )
    assert as_object(found)["closed_book"]["after"]["label"] == "1 experience"


async def test_without_an_agent_there_is_no_closed_book(configured: Configured, tmp_path: Path) -> None:
    found = await evaluated(configured(mode="chat", tools="", experiment_name="chat"))
    assert "closed_book" not in found
    assert {path.stem for path in (tmp_path / "output" / "chat" / "evaluations").iterdir()} == {"plain"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"web_search": "serpr"}, "unknown searcher 'serpr': did you mean 'serper'"),
        ({"web_search": "serper"}, "serper needs a key: set the environment variable SERPER_API_KEY"),
    ],
)
def test_a_search_service_that_cannot_be_asked_is_told_before_any_call(
    configured: Configured, changes: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SERPER_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=words):
        train(configured(**changes))
    assert (tmp_path / "output" / "run" / "calls.jsonl").stat().st_size == 0
    with pytest.raises(ConfigError, match=r"site 'other.example': the folder 'nowhere' does not exist"):
        train(configured(web_sites={"other.example": "nowhere"}))
