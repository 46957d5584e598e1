"""The Linux calls that Python 3.11 does not offer, through libc; each raises `OSError`."""

import ctypes
import os
import platform
import sys

LINUX = sys.platform == "linux"
MACHINE = platform.machine()

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

CLONE_NEWNS = 0x0002_0000
CLONE_NEWUTS = 0x0400_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2

_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MOUNT_ATTR = {"ro": 1, "nosuid": 2, "nodev": 4}
_MOUNT_SETATTR = 442
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CAPSET = {"x86_64": 126, "aarch64": 91}

_libc = ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: "int | ctypes.Array[ctypes.c_char] | ctypes.Structure") -> int:
    """A call by its number; arrays and structures go by reference."""
    passed = [ctypes.c_long(a) if isinstance(a, int) else ctypes.byref(a) for a in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *passed))


def prctl(option: int, value: int = 0, address: ctypes.Structure | None = None) -> None:
    """One setting of this process."""
    third = ctypes.c_long(0) if address is None else ctypes.byref(address)
    _checked(_libc.prctl(option, ctypes.c_ulong(value), third, ctypes.c_long(0), ctypes.c_long(0)))


def unshare(flags: int) -> None:
    """New namespaces for this process; a new PID namespace begins with its next child."""
    _checked(_libc.unshare(flags))


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, data: str = "") -> None:
    """mount(2)."""
    words = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _checked(_libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]), target)


def unmount(target: str) -> None:
    """Detach it now; it goes when nobody uses it."""
    _checked(_libc.umount2(os.fsencode(target), MNT_DETACH), target)


def restrict(path: str, *attributes: str, recursive: bool = False) -> None:
    """Set "ro", "nosuid" and "nodev" on a mount and, when asked, on all below it (Linux 5.12)."""
    values = (ctypes.c_uint64 * 4)(sum(_MOUNT_ATTR[name] for name in attributes), 0, 0, 0)
    attr = ctypes.create_string_buffer(bytes(values), 32)
    where = ctypes.create_string_buffer(os.fsencode(path))
    syscall(_MOUNT_SETATTR, _AT_FDCWD, where, _AT_RECURSIVE if recursive else 0, attr, 32)


def pivot_root(new: str, old: str) -> None:
    """`new` becomes the root, and the root so far appears at `old`."""
    buffers = [ctypes.create_string_buffer(os.fsencode(path)) for path in (new, old)]
    syscall(_PIVOT_ROOT[MACHINE], *buffers)


def drop_capabilities() -> None:
    """Give up every capability; with no-new-privileges set, no program brings one back."""
    header = ctypes.create_string_buffer(bytes((ctypes.c_uint32 * 2)(0x2008_0522, 0)), 8)
    syscall(_CAPSET[MACHINE], header, ctypes.create_string_buffer(24))


def _checked(result: int, what: str = "") -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what or None)
    return result
