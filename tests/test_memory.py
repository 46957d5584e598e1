"""The peak of memory counts the processes that were started, and keeps what was given back."""

import subprocess
import sys

from gym.memory import peak_bytes

MB = 1 << 20
GREEDY = "import sys; held = bytearray(b'x' * (300 << 20)); print(len(held), flush=True); sys.stdin.read()"


def test_what_was_given_back_still_counts() -> None:
    held = bytearray(b"x" * (200 * MB))
    del held
    assert (peak_bytes() or 0) > 200 * MB


def test_a_process_that_was_started_counts_while_it_lives() -> None:
    before = peak_bytes() or 0
    with subprocess.Popen([sys.executable, "-c", GREEDY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert (peak_bytes() or 0) > before + 290 * MB
        child.communicate()
