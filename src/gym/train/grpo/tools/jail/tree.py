"""What a process and all its descendants use now, read from /proc."""

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from . import kernel

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_UTIME, _THREADS, _STARTED, _RSS = 11, 17, 19, 21
"""Fields of /proc/PID/stat, counted after the command's name."""


class Use(NamedTuple):
    """Of a process tree."""

    processes: int
    """Threads, of which a process has at least one."""
    cpu_s: float
    memory_bytes: int
    """Resident, shared pages counted for each process."""
    files: int
    """In the folder; 0 where it has no file system of its own to ask."""


class Meter:
    """What our descendants use. Look often: what ends unseen and ignored by its parent (SIGCHLD) is counted nowhere."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._seen: dict[tuple[int, str], float] = {}
        """CPU seconds of those alive at the last look; a process id may come again, with another start."""
        self._watched_s = self._told_s = 0.0

    def use(self) -> Use:
        """CPU time includes those that have ended and never falls. Only of the ended where there is no /proc."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        processes, told_s, memory = 0, ended.ru_utime + ended.ru_stime, 0
        alive: dict[tuple[int, str], float] = {}
        for pid in descendants():
            with suppress(OSError, ValueError, IndexError):
                fields = _stat(pid)
                own, waited_for = _seconds(fields[_UTIME : _UTIME + 2]), _seconds(fields[_UTIME + 2 : _UTIME + 4])
                alive[pid, fields[_STARTED]] = own
                processes += int(fields[_THREADS])
                told_s += own + waited_for
                memory += int(fields[_RSS]) * _PAGE
        self._watched_s += sum(own - self._seen.get(process, 0.0) for process, own in alive.items())
        self._seen, self._told_s = alive, max(self._told_s, told_s)
        return Use(processes, max(self._told_s, self._watched_s), memory, self._files())

    def _files(self) -> int:
        if self._folder is None:
            return 0
        found = os.statvfs(self._folder)
        return found.f_files - found.f_ffree


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


def _seconds(ticks: list[str]) -> float:
    return sum(map(int, ticks)) / _TICKS


def _stat(pid: int) -> list[str]:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()
