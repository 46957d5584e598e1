"""What a process gives up, for good, before it runs a model's code: rights, resources, files, system calls.

Every layer that this kernel has is laid, in every mode; what could not be is for others to see in the list of layers.
"""

import os
import resource
import signal
from contextlib import suppress
from typing import Any

from . import kernel, landlock, seccomp

NAMESPACES = ("user", "pid", "mnt", "net")
_ACCOUNTS_BELOW = 60_000
"""Below are the accounts of people and services."""
_NEEDED = 1 << 0 | 1 << 5 | 1 << 6 | 1 << 7
"""Capabilities: chown, kill, setgid, setuid."""
_LARGE = 1 << 30
"""Above are ids that no account has, where all ids may be used."""


def spare_user(plan: dict[str, Any]) -> int | None:
    """A user id for one session, as root; None when we may not become it, or when it could not read Python's files."""
    if os.geteuid() != 0 or not kernel.LINUX or not _may_change_user():
        return None
    if not all(map(_open_to_all, [*plan["readable"], os.path.dirname(plan["folder"])])):
        return None
    for first, count in sorted(_mapped(), key=lambda span: -span[1]):
        low = _LARGE if first + count > 2 * _LARGE else max(first, _ACCOUNTS_BELOW)
        if (room := min(first + count - 1, low + _LARGE) - low) > 0:
            return low + int(plan["salt"]) % room
    return None


def layers(outside: dict[str, str], user: int | None) -> tuple[str, ...]:
    """What separates this process from those whose namespaces are `outside`."""
    found = [name for name in NAMESPACES if namespace(name) != outside.get(name)]
    if user is not None:
        found.append("own user")
    if user is not None or ("user" in found and os.geteuid() != 0):
        found.append("own count")
    if landlock.version():
        found.append("landlock")
    if landlock.version() >= 6:
        found.append("landlock signals")
    if seccomp.known_machine():
        found.append("seccomp")
    return tuple(found)


def namespace(name: str) -> str:
    """The identity of one of this process's namespaces."""
    with suppress(OSError):
        return os.readlink(f"/proc/self/ns/{name}")
    return ""


def lock_down(plan: dict[str, Any], found: tuple[str, ...], user: int | None) -> None:
    """Lay every layer on this process; raises `OSError` when one of those found cannot be laid."""
    _limit(plan["limits"], own_count="own count" in found)
    _become(user)
    if not kernel.LINUX:
        return
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if kernel.MACHINE in ("x86_64", "aarch64"):
        kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
    if "pid" not in found:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if "landlock" in found:
        landlock.allow_only(**_files(plan, alone="mnt" in found))
    if "seccomp" in found:
        seccomp.refuse_calls(
            only_signal=None if "pid" in found else os.getpid(),
            shared_files="mnt" not in found and "own user" not in found,
        )


def _limit(limits: dict[str, Any], *, own_count: bool) -> None:
    """Resource limits of each process; the number of processes is the user's, so others of the same user are added."""
    memory = limits["memory_mb"] << 20
    wanted = {
        "RLIMIT_AS": memory,
        "RLIMIT_FSIZE": limits["file_mb"] << 20,
        "RLIMIT_NOFILE": limits["open_files"],
        "RLIMIT_NPROC": limits["processes"] + (0 if own_count else _tasks_of_user()),
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    for name, value in wanted.items():
        if hasattr(resource, name):
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            with suppress(ValueError, OSError):  # some systems know a limit by name only
                resource.setrlimit(kind, (value, value))
    os.nice(5)


def _become(user: int | None) -> None:
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def _files(plan: dict[str, Any], *, alone: bool) -> dict[str, list[str]]:
    """What may be read and written: in a mount namespace of our own, what is there; else a short list."""
    devices = ["/dev/null", "/dev/full"]  # not zero: mapped and shared, it is memory that no limit counts
    if alone:
        return {"readable": ["/"], "writable": ["/tmp", *devices]}
    kernel_files = [f"/proc/{os.getpid()}", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"]
    readable = [*plan["readable"], *kernel_files, "/dev/urandom", "/dev/random"]
    return {"readable": readable, "writable": [plan["folder"], *devices]}


def _open_to_all(path: str) -> bool:
    """Whether any user can come to it and read it; what is not there is in nobody's way."""
    with suppress(FileNotFoundError):
        return bool(os.stat(path).st_mode & 4) and all(
            os.stat(path[: place or 1]).st_mode & 1 for place, letter in enumerate(path) if letter == "/"
        )
    return True


def _may_change_user() -> bool:
    """Whether ids can be set, files given away and processes of another user ended, the same for users and groups."""
    with open("/proc/self/status") as status, open("/proc/self/uid_map") as users, open("/proc/self/gid_map") as groups:
        held = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff"))
        return held & _NEEDED == _NEEDED and users.read() == groups.read()


def _mapped() -> list[tuple[int, int]]:
    """(first, count) of the user ids that exist in this user namespace."""
    with open("/proc/self/uid_map") as file:
        return [(int(first), int(count)) for first, _, count in (line.split() for line in file)]


def _tasks_of_user() -> int:
    """Threads that this user runs now."""
    if not kernel.LINUX:
        return 0
    return sum(_threads(name) for name in os.listdir("/proc") if name.isdigit())


def _threads(pid: str) -> int:
    with suppress(OSError):
        if os.stat(f"/proc/{pid}").st_uid == os.getuid():
            return len(os.listdir(f"/proc/{pid}/task"))
    return 0
