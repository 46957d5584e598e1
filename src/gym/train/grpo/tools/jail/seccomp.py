"""A system call filter: no sockets, no tracing, no mounts or namespaces, no keyrings, nothing that goes around the filter.

Where processes share their PID namespace with others it also refuses to signal anyone but oneself and to leave the
process group, so that ending the group ends everything. Where they share files and user with others it also refuses to
change modes, owners, times and attributes, which Landlock lets pass. The programs are classic BPF (seccomp(2)).
"""

import ctypes
import errno
import struct
from typing import NamedTuple

from . import kernel

_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_X32 = 0x4000_0000
_NEW_NAMESPACES = 0x7E02_0000
_CLONE3 = 435


class _Machine(NamedTuple):
    arch: int
    clone: int
    kill: int
    tgkill: int
    refused: tuple[int, ...]
    """socket, ptrace, process_vm_readv and _writev, mount, umount2, pivot_root, chroot, unshare, setns, keyctl, add_key,
    request_key, bpf, perf_event_open, userfaultfd, open_by_handle_at, kcmp; memfd_create and shmget, whose memory no limit
    counts."""
    refused_among_others: tuple[int, ...]
    """setsid, setpgid, tkill, rt_sigqueueinfo, rt_tgsigqueueinfo."""
    refused_on_shared_files: tuple[int, ...]
    """chmod, chown, utime, setxattr, removexattr in all their forms; truncate by path."""


_MACHINES = {
    "x86_64": _Machine(
        arch=0xC000_003E,
        clone=56,
        kill=62,
        tgkill=234,
        refused=(41, 101, 310, 311, 165, 166, 155, 161, 272, 308, 250, 248, 249, 321, 298, 323, 304, 312, 319, 29),
        refused_among_others=(112, 109, 200, 129, 297),
        refused_on_shared_files=(90, 91, 268, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199, 76),
    ),
    "aarch64": _Machine(
        arch=0xC000_00B7,
        clone=220,
        kill=129,
        tgkill=131,
        refused=(198, 117, 270, 271, 40, 39, 41, 51, 97, 268, 219, 217, 218, 280, 241, 282, 265, 272, 279, 194),
        refused_among_others=(157, 154, 130, 138, 240),
        refused_on_shared_files=(52, 53, 54, 55, 88, 5, 6, 7, 14, 15, 16, 45),
    ),
}
_REFUSED_EVERYWHERE = (425, 438, 428, 429, 430, 442, 447)
"""io_uring_setup, pidfd_getfd, open_tree, move_mount, fsopen, mount_setattr, memfd_secret."""
_PIDFD_SEND_SIGNAL = 424
_NEW_ON_SHARED_FILES = (452, 463, 466, 469)
"""fchmodat2, setxattrat, removexattrat, file_setattr."""


def known_machine() -> bool:
    """Whether the filter can speak for this processor."""
    return kernel.LINUX and kernel.MACHINE in _MACHINES


def refuse_calls(*, only_signal: int | None, shared_files: bool) -> None:
    """Lay the filter on this process and all it starts, for good. Needs no-new-privileges; raises `OSError`.

    With `only_signal`, the own process id, signals to others and leaving the process group are refused, too.
    """
    code = _program(_MACHINES[kernel.MACHINE], only_signal, shared_files)
    kernel.prctl(kernel.PR_SET_SECCOMP, 2, _Program(len(code) // 8, ctypes.create_string_buffer(code, len(code))))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    def __init__(self, length: int, code: "ctypes.Array[ctypes.c_char]") -> None:
        super().__init__(length, ctypes.addressof(code))
        self.kept = code  # as long as the address is in use


def _program(machine: _Machine, only_signal: int | None, shared_files: bool) -> bytes:
    refused = machine.refused + _REFUSED_EVERYWHERE
    if shared_files:
        refused += machine.refused_on_shared_files + _NEW_ON_SHARED_FILES
    if only_signal is not None:
        refused += (*machine.refused_among_others, _PIDFD_SEND_SIGNAL)
    steps = [_step(_LOAD, _ARCH), _step(_EQUAL, machine.arch, yes=1), _step(_RETURN, _KILL_PROCESS)]
    steps += [_step(_LOAD, _NUMBER)]
    if machine.arch == _MACHINES["x86_64"].arch:
        steps += [_step(_AT_LEAST, _X32, no=1), _refuse(errno.ENOSYS)]
    steps += [
        _step(_EQUAL, _CLONE3, no=1),
        _refuse(errno.ENOSYS),
    ]  # its flags are out of a filter's sight; libc then uses clone
    for number in refused:
        steps += [_step(_EQUAL, number, no=1), _refuse(errno.EPERM)]
    steps += [_step(_EQUAL, machine.clone, no=4), _step(_LOAD, _FIRST_ARGUMENT)]
    steps += [_step(_ANY_BIT, _NEW_NAMESPACES, no=1), _refuse(errno.EPERM), _step(_RETURN, _ALLOW)]
    if only_signal is not None:
        for number, target in ((machine.kill, 0), (machine.tgkill, only_signal)):
            steps += [_step(_EQUAL, number, no=5), _step(_LOAD, _FIRST_ARGUMENT), _step(_EQUAL, target, yes=1)]
            steps += [_step(_EQUAL, only_signal, no=1), _step(_RETURN, _ALLOW), _refuse(errno.EPERM)]
    return b"".join([*steps, _step(_RETURN, _ALLOW)])


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERRNO | number)


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """One instruction: jumps count the instructions that are passed over."""
    return struct.pack("=HBBI", code, yes, no, value)
