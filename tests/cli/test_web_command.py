"""`gym web`: a site is made, looked into and served; Ctrl-C ends the server cleanly."""

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from gym.cli.main import main; main()", "web"]


def gym(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=150, cwd=cwd)


def test_a_site_is_made_and_said_how_to_use(tmp_path: Path) -> None:
    done = gym("make-site", "--pages", "100", "--seed", "5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("100 pages and 50 questions in data/site (15 test, 25 train, 10 val; ")
    assert second == "web_sites: {halden.example: data/site}"
    assert sorted(path.name for path in (tmp_path / "data/site").iterdir()) == [
        "pages", "questions.jsonl", "site.json", "test.jsonl", "train.jsonl", "val.jsonl",
    ]  # fmt: skip
    again = gym("make-site", "--pages", "100", "--seed", "6", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert "'data/site' holds another site (seed 5, 100 pages, halden.example)" in again.stderr
    assert "--output" in again.stderr
    looked = json.loads(gym("check", "data/site", "--json", cwd=tmp_path).stdout)
    assert (len(looked["pages"]), looked["front"]) == (100, "index.html")


def test_links_that_lead_nowhere_are_listed(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("".join(f'<a href="{n}.html">x</a>' for n in range(13)))
    done = gym("check", ".", cwd=tmp_path)
    first, second, *_, last = done.stdout.splitlines()
    assert first == ("1 page, 0 other files; 13 links lead nowhere; 0 pages are not reached by links from index.html")
    assert second == "  index.html -> 0.html"
    assert last == "  … and 3 more (--json lists them all)"


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_a_folder_is_served_until_it_is_stopped(tmp_path: Path, which: signal.Signals) -> None:
    (tmp_path / "index.html").write_text("<h1>Here</h1>")
    process = subprocess.Popen(
        [*COMMAND, "serve", "."], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with urllib.request.urlopen(process.stdout.readline().strip()) as answer:
        assert answer.read() == b"<h1>Here</h1>"
    process.send_signal(which)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said.splitlines() == ["1 page in .; Ctrl-C ends it", "ended"]


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    for name in ("serve", "check"):
        done = gym(name, "nowhere", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "gym: the folder 'nowhere' does not exist\n"


def test_ctrl_c_is_answered(tmp_path: Path) -> None:
    code = "import os; from gym.cli import main; from gym.web.site import questions as q; "
    code += "q.proven = lambda *_: os.kill(os.getpid(), 2); main.main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "web", "make-site"], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "stopped")
