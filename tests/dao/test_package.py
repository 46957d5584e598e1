"""What importing the package does to the process around it, and what all its commands have."""

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from gym.cli.dao.group import command as governance


def test_deep_json_from_a_node_stays_an_error() -> None:
    code = "import sys\nlimit = sys.getrecursionlimit()\nimport gym.dao.keys, gym.dao.rpc\nprint(sys.getrecursionlimit() - limit)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


@pytest.mark.parametrize("each", governance.commands.values(), ids=governance.commands)
def test_every_command_has_json(each: click.Command) -> None:
    assert "  --json " in CliRunner().invoke(each, ["--help"]).stdout
