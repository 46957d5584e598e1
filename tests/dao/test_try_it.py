"""The commands of docs/governance.md, "Try it on a chain of your own", run as they stand there."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gym.dao.local_node import find_foundry

ROOT = Path(__file__).parents[2]
HEADING = "## Try it on a chain of your own\n"
URL = "http://127.0.0.1:8545"


@contextmanager
def started(command: str) -> Iterator[str]:
    """The chain as the page starts it, on a free port; its URL."""
    _, *options = shlex.split(command)
    with subprocess.Popen(
        [find_foundry("anvil"), *options, "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = next(line.split()[-1] for line in process.stdout if line.startswith("Listening on "))
        with open(os.devnull, "w") as nobody, subprocess.Popen(["cat"], stdin=process.stdout, stdout=nobody):
            try:
                yield f"http://{address}"
            finally:
                process.kill()


@pytest.mark.slow
def test_the_page_is_followed_from_founding_to_removal(rehearsed: object, tmp_path: Path) -> None:
    section = (ROOT / "docs" / "governance.md").read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    chain, *typed = re.findall(r"```bash\n(.*?)```", section, re.DOTALL)
    assert URL in typed[0]
    environ = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    environ |= {"PYTHONPATH": str(ROOT / "src")}
    with started(chain) as url:
        script = "\n".join(("set -euo pipefail", 'gym() { python -m gym "$@"; }', *typed)).replace(URL, url)
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300
        )
    assert done.returncode == 0, done.stdout + done.stderr
    for expected in (
        "written to dao.json: give it to the others",
        "has 2,000 GYM staked",
        "voted for: 7,000 GYM for, 0 GYM against",
        "1 experience at block ",
        "  the library: ",
        ": HURTS",
        "drafted drafts/removal-G0.json",
        "0 experiences at block ",
        "2 changes up to block ",
    ):
        assert expected in done.stdout, (expected, done.stdout)
