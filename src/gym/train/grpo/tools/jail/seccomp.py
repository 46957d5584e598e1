"""A system call filter: no sockets, no tracing, no mounts or namespaces, no keyrings, nothing that goes around the filter.

Where processes share their PID namespace with others it also refuses to signal or schedule anyone but oneself and to leave
the process group, so that ending the group ends everything. Where they share files and user with others it also refuses to
change modes, owners, times and attributes, which Landlock lets pass. `syscalls` has the list; the programs are classic BPF
(seccomp(2)).
"""

import ctypes
import errno
import struct
from collections.abc import Iterable

from . import kernel, syscalls
from .syscalls import Check

_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
_LOAD, _MASK, _EQUAL, _AT_LEAST, _JUMP, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x05, 0x06
_X32 = 0x4000_0000
_ARCHES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
"""In the order of the numbers in `syscalls`."""


def known_machine() -> bool:
    """Whether the filter can speak for this processor."""
    return kernel.LINUX and kernel.MACHINE in _ARCHES


def refuse_calls(*, only_signal: int | None, shared_files: bool) -> None:
    """Lay the filter on this process and all it starts, for good. Needs no-new-privileges; raises `OSError`.

    With `only_signal`, the own process id, reaching other processes and leaving the process group are refused, too.
    """
    code = program(kernel.MACHINE, only_signal=only_signal, shared_files=shared_files)
    kernel.prctl(kernel.PR_SET_SECCOMP, 2, _Program(len(code) // 8, ctypes.create_string_buffer(code, len(code))))


def program(machine: str, *, only_signal: int | None, shared_files: bool) -> bytes:
    """The filter for a machine, eight bytes an instruction."""
    place = list(_ARCHES).index(machine)
    refused, checks = syscalls.REFUSED, syscalls.ALWAYS
    if shared_files:
        refused, checks = refused | syscalls.ON_SHARED_FILES, checks + syscalls.OF_FILES
    if only_signal is not None:
        refused, checks = refused | syscalls.AMONG_OTHERS, checks + syscalls.of_signals(only_signal)
    steps = [_step(_LOAD, _ARCH), _step(_EQUAL, _ARCHES[machine], yes=1), _step(_RETURN, _KILL_PROCESS)]
    steps += [_step(_LOAD, _NUMBER)]
    if machine == "x86_64":
        steps += [_step(_AT_LEAST, _X32, no=1), _refuse(errno.ENOSYS)]
    steps += [_step(_EQUAL, syscalls.CLONE3, no=1), _refuse(errno.ENOSYS)]
    for numbers in refused.values():
        if (number := numbers[place]) is not None:
            steps += [_step(_EQUAL, number, no=1), _refuse(errno.EPERM)]
    steps += _checked(checks, place)
    return b"".join([*steps, _step(_RETURN, _ALLOW)])


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    def __init__(self, length: int, code: "ctypes.Array[ctypes.c_char]") -> None:
        super().__init__(length, ctypes.addressof(code))
        self.kept = code  # as long as the address is in use


def _checked(checks: Iterable[Check], place: int) -> list[bytes]:
    """A listed value jumps to what is behind the refusal, or to the refusal; the number is loaded again for the next."""
    steps: list[bytes] = []
    for check in checks:
        number = syscalls.CHECKED[check.call][place]
        assert number is not None
        body = [_step(_LOAD, _ARGUMENTS + 8 * check.argument), _step(_MASK, check.mask)]
        count = len(check.values)
        body += [_step(_EQUAL, value, yes=count - index) for index, value in enumerate(check.values)]
        body += [] if check.passes else [_step(_JUMP, 1)]
        body += [_refuse(errno.EPERM), _step(_LOAD, _NUMBER)]
        steps += [_step(_EQUAL, number, no=len(body)), *body]
    return steps


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERRNO | number)


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """One instruction: jumps count the instructions that are passed over."""
    return struct.pack("=HBBI", code, yes, no, value)
