"""Landlock (Linux 5.13): which files this process and all it starts may read and write; needs no privilege.

It also hides the memory and environment of every process outside, and from version 6 on refuses signals to them
(landlock(7)).
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from . import kernel

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, read a folder
_ON_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14  # execute, write, read, truncate: all that a rule on a file may hold
_ACCESSES = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many kinds of access each version of Landlock knows; 16 from version 5 on."""
_SIGNALS_AND_ABSTRACT_SOCKETS = 3


def version() -> int:
    """0: this kernel has none, or does not use it."""
    if not kernel.LINUX:
        return 0
    try:
        return kernel.syscall(_CREATE, 0, 0, 1)
    except OSError:
        return 0


def allow_only(readable: Iterable[str], writable: Iterable[str]) -> None:
    """From now on all else is refused; a path that is not there is left out. Needs no-new-privileges; raises `OSError`."""
    everything = (1 << _ACCESSES.get(version(), 16)) - 1
    fields = (everything, 0, _SIGNALS_AND_ABSTRACT_SOCKETS if version() >= 6 else 0)
    size = 24 if version() >= 6 else 8
    rules = kernel.syscall(_CREATE, _buffer(struct.pack("=3Q", *fields)[:size]), size, 0)
    for path in readable:
        _allow(rules, path, _READ)
    for path in writable:
        _allow(rules, path, everything)
    kernel.syscall(_RESTRICT, rules, 0)
    os.close(rules)


def _allow(rules: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(fd).st_mode):
        access &= _ON_FILES
    access &= (1 << _ACCESSES.get(version(), 16)) - 1
    kernel.syscall(_ADD_RULE, rules, 1, _buffer(struct.pack("=Qi", access, fd)), 0)
    os.close(fd)


def _buffer(content: bytes) -> "ctypes.Array[ctypes.c_char]":
    return ctypes.create_string_buffer(content, len(content))
