"""What a run took of this machine's memory at its peak: its own process and those it has started (a model server, workers).

Linux tells each process's peak in /proc; elsewhere the system tells this one's and the largest of its children that ended.
"""

import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def peak_bytes() -> int | None:
    """Peak resident bytes of this process and of its living descendants, added up; None where the system does not tell.

    A file that two of them map counts for both.
    """
    if not (PROC / "self" / "status").exists():
        return _told()
    children = _children()
    found, waiting = 0, [os.getpid()]
    while waiting:
        found += _peak(pid := waiting.pop())
        waiting += children[pid]
    return found


def _told() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for pid, parent in _parents():
        found[parent].append(pid)
    return found


def _parents() -> Iterator[tuple[int, int]]:
    """Every process and its parent; one that ends meanwhile is none."""
    for folder in PROC.iterdir():
        if folder.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                stat = (folder / "stat").read_text(encoding="ascii", errors="replace")
                yield int(folder.name), int(stat.rpartition(")")[2].split()[1])


def _peak(pid: int) -> int:
    with suppress(OSError, IndexError):
        status = (PROC / str(pid) / "status").read_text(encoding="ascii", errors="replace")
        return 1024 * int(status.partition("VmHWM:")[2].split()[0])
    return 0
