"""Namespaces of our own: processes, files, network, IPC and host name; a root with nothing in it but Python, read-only.

Root makes them directly; anyone else inside a user namespace, where the system allows one.
"""

import os
import signal
import sys
from typing import Any

from . import kernel

_KINDS = kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS
_NOTHING_SPECIAL = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
_DEVICES = ("null", "full", "random", "urandom")


def enter(plan: dict[str, Any]) -> None:
    """Returns in the first process of the new namespaces; the caller stays outside, waits for it and ends as it does.

    Raises `OSError` when the system does not allow it.
    """
    _separate()
    if child := os.fork():
        os.close(sys.stdin.fileno())
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    _build_root(plan)


def _separate() -> None:
    user, group = os.geteuid(), os.getegid()
    try:
        kernel.unshare(_KINDS)
    except PermissionError:
        _own_user_namespace()
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")


def _own_user_namespace() -> None:
    try:
        kernel.unshare(_KINDS | kernel.CLONE_NEWUSER)
    except OSError as error:  # of a limit of none the system says "no space left on device"
        raise OSError(error.errno, f"this system gives this user no user namespace ({error.strerror})") from error


def _build_root(plan: dict[str, Any]) -> None:
    """The old root moves to /old while the new one is put together in /new, and then goes."""
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", "/tmp", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755")
    for folder in ("/tmp/old", "/tmp/new"):
        os.mkdir(folder)
    kernel.pivot_root("/tmp", "/tmp/old")
    os.chdir("/")
    kernel.mount("tmpfs", "/new", "tmpfs", kernel.MS_NOSUID, "mode=755,size=1m")
    _fill(plan)
    os.chdir("/new")
    kernel.pivot_root(".", ".")
    kernel.unmount(".")
    os.chdir("/")
    kernel.restrict("/", "ro", "nosuid")


def _fill(plan: dict[str, Any]) -> None:
    size = f"mode=755,size={plan['limits']['folder_mb']}m,nr_inodes=16384"
    _mounted("tmpfs", "/new/tmp", "tmpfs", _NOTHING_SPECIAL, size)
    _mounted("proc", "/new/proc", "proc", _NOTHING_SPECIAL | kernel.MS_RDONLY)
    for path, source in plan["readable"].items():
        _bind(source, path)
        kernel.restrict(f"/new{path}", "ro", "nosuid", "nodev", recursive=True)
    for name in _DEVICES:
        _bind(f"/dev/{name}", f"/dev/{name}")
    for link, target in {**plan["links"], "/dev/fd": "/proc/self/fd", "/dev/shm": "/tmp"}.items():
        os.makedirs(os.path.dirname(f"/new{link}"), exist_ok=True)
        os.symlink(target, f"/new{link}")


def _bind(source: str, path: str) -> None:
    if os.path.isdir(f"/old{source}"):
        _mounted(f"/old{source}", f"/new{path}", None, kernel.MS_BIND | kernel.MS_REC)
        return
    os.makedirs(os.path.dirname(f"/new{path}"), exist_ok=True)
    os.close(os.open(f"/new{path}", os.O_CREAT | os.O_WRONLY, 0o644))
    kernel.mount(f"/old{source}", f"/new{path}", flags=kernel.MS_BIND)


def _mounted(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    os.makedirs(target, exist_ok=True)
    kernel.mount(source, target, kind, flags, data)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
