"""What importing the package does to the process around it."""

import subprocess
import sys


def test_deep_json_from_a_node_stays_an_error() -> None:
    code = "import sys\nlimit = sys.getrecursionlimit()\nimport gym.dao.keys, gym.dao.rpc\nprint(sys.getrecursionlimit() - limit)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
