"""One core for the client and another for the server, where the system lets a process choose: steadier figures."""

import os

CLIENT, SERVER = 0, 1


def pin(place: int) -> None:
    """Run on the `place`-th of the cores that this process may use; nothing where there is no choice."""
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(0, {cores[place % len(cores)]})
