"""Child processes: Flower's SuperLink for a server's folder, or its SuperNode; each ends with its parent.

Started by `gym.federated.flower.processes`. What they say goes to standard error, which the parent points at a log file.
Flower is imported when the kernel has been told, since that takes seconds in which the parent may die.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1


def main(parent: int, what: str, *arguments: str) -> None:
    """`superlink FOLDER HOST PORT`, or `supernode` with the arguments of Flower's command."""
    _die_with(parent)
    if what == "superlink":
        from gym.federated.flower.serving import superlink

        folder, host, port = arguments
        superlink(Path(folder), host, int(port))
    else:
        from flwr.supernode.cli import flower_supernode

        sys.argv = [what, *arguments]
        flower_supernode()


def _die_with(parent: int) -> None:
    """On Linux the kernel ends us when the parent does; one that is gone already has left us to another."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the parent is gone")


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
