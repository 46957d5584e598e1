"""What a process and all its descendants use now, read from /proc."""

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from . import kernel

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_UTIME, _RSS = 11, 21
"""Fields of /proc/PID/stat, counted after the command's name."""


class Use(NamedTuple):
    """Of a process tree."""

    processes: int
    cpu_s: float
    memory_bytes: int
    """Resident, shared pages counted for each process."""


def use() -> Use:
    """Of our descendants; CPU time includes those that have ended. Only of the ended where there is no /proc."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    processes, cpu_s, memory = 0, ended.ru_utime + ended.ru_stime, 0
    for pid in descendants():
        with suppress(OSError, ValueError, IndexError):
            fields = _stat(pid)
            processes += 1
            cpu_s += sum(map(int, fields[_UTIME : _UTIME + 4])) / _TICKS
            memory += int(fields[_RSS]) * _PAGE
    return Use(processes, cpu_s, memory)


def descendants() -> Iterator[int]:
    """Process ids below this process; a tree that changes meanwhile may hide some."""
    pending = list(children(os.getpid()))
    while pending:
        pid = pending.pop()
        yield pid
        pending += children(pid)


def children(pid: int) -> list[int]:
    """Of all threads of a process; none where the system does not tell."""
    if not kernel.LINUX:
        return []
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    return found


def _stat(pid: int) -> list[str]:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()
