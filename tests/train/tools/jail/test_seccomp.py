"""The system call filter alone, without the layers that would also hold: the numbers, and what it lets through."""

import os
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gym.train.grpo.tools.jail import seccomp, syscalls

pytestmark = pytest.mark.skipif(not seccomp.known_machine(), reason="no filter for this system")

_TABLES = (syscalls.REFUSED, syscalls.AMONG_OTHERS, syscalls.ON_SHARED_FILES, syscalls.CHECKED)
_HEADERS = ("x86_64-linux-gnu/asm/unistd_64.h", "asm-generic/unistd.h")
"""Of x86-64, and what ARM64 takes over."""


@pytest.mark.parametrize("place", [0, 1])
def test_the_numbers_are_those_of_the_kernels_headers(place: int) -> None:
    header = Path("/usr/include") / _HEADERS[place]
    if not header.exists():
        pytest.skip("no kernel headers here")
    text = header.read_text(encoding="utf-8")
    known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    listed = {name: numbers[place] for table in _TABLES for name, numbers in table.items()}
    newest = max(known.values())
    wrong = {name: number for name, number in listed.items() if (number or 0) <= newest and known.get(name) != number}
    assert len(known) > 200
    assert wrong == {}


class _Call(NamedTuple):
    number: int
    arguments: tuple[int, ...] = ()
    arch: int = 0


def _verdict(code: bytes, call: _Call) -> int:
    """What the kernel would decide: classic BPF over the call's number, processor and arguments."""
    data = struct.pack("=iIQ6Q", call.number, call.arch, 0, *(*call.arguments, *(0,) * 6)[:6])
    steps = list(struct.iter_unpack("=HBBI", code))
    held = place = 0
    while True:
        operation, yes, no, value = steps[place]
        place += 1
        match operation:
            case 0x20:
                (held,) = struct.unpack_from("=I", data, value)
            case 0x54:
                held &= value
            case 0x05:
                place += value
            case 0x15:
                place += yes if held == value else no
            case 0x35:
                place += yes if held >= value else no
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(operation)


ALLOWED, NOT_PERMITTED, NOT_THERE, KILLED = 0x7FFF_0000, 0x0005_0001, 0x0005_0026, 0x8000_0000
OWN = 4321


@pytest.mark.parametrize(("machine", "place", "arch"), [("x86_64", 0, 0xC000_003E), ("aarch64", 1, 0xC000_00B7)])
def test_arguments_decide_on_both_processors(machine: str, place: int, arch: int) -> None:
    code = seccomp.program(machine, only_signal=OWN, shared_files=True)

    def verdict(name: str, *arguments: int) -> int:
        number = {**syscalls.REFUSED, **syscalls.CHECKED, **syscalls.AMONG_OTHERS}[name][place]
        assert number is not None
        return _verdict(code, _Call(number, arguments, arch))

    for name in syscalls.REFUSED:
        assert verdict(name) == NOT_PERMITTED
    assert verdict("clone", signal.SIGCHLD) == ALLOWED
    assert verdict("clone", signal.SIGCHLD | 0x1000_0000) == NOT_PERMITTED
    assert [verdict("kill", pid, 9) for pid in (0, OWN, 1, 2**32 - 1)] == [ALLOWED] * 2 + [NOT_PERMITTED] * 2
    assert [verdict("tgkill", pid) for pid in (OWN, 0)] == [ALLOWED, NOT_PERMITTED]
    assert [verdict("mmap", 0, 9, 3, flags) for flags in (0x22, 0x01, 0x21, 0x23, 0x8021)] == [
        ALLOWED, ALLOWED, NOT_PERMITTED, NOT_PERMITTED, NOT_PERMITTED
    ]  # fmt: skip
    assert [verdict("socketpair", 1, kind) for kind in (1, 5, 0x80801, 2, 3)] == [ALLOWED] * 3 + [NOT_PERMITTED] * 2
    assert [verdict("fcntl", 3, command) for command in (1, 2, 6, 8, 10, 15)] == [ALLOWED] * 3 + [NOT_PERMITTED] * 3
    assert [verdict("ioctl", 3, command) for command in (0x5401, 0x5412, 0x4008_6602)] == [
        ALLOWED, NOT_PERMITTED, NOT_PERMITTED
    ]  # fmt: skip
    assert [verdict("prlimit64", pid) for pid in (0, OWN)] == [ALLOWED, NOT_PERMITTED]
    assert [verdict("sched_setaffinity", pid) for pid in (0, OWN + 1)] == [ALLOWED, NOT_PERMITTED]
    assert _verdict(code, _Call(syscalls.CLONE3, (), arch)) == NOT_THERE
    assert _verdict(code, _Call(0, (), 0x4000_0003)) == KILLED
    if machine == "x86_64":
        assert _verdict(code, _Call(0x4000_0000 + 41, (), arch)) == NOT_THERE


FILTERED = f"""
import sys
sys.path.insert(0, {str(Path(seccomp.__file__).parents[1])!r})
import ctypes, fcntl, os, resource, signal
from jail import kernel, seccomp
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
seccomp.refuse_calls(only_signal=os.getpid(), shared_files=True)
victim = int(sys.argv[1])
def tried(act):
    try:
        act()
    except OSError as error:
        return error.errno
    return 0
"""

ON_ANOTHER_PROCESS = """
pipe = os.pipe()
import time
print(sorted({tried(act) for act in (
    lambda: resource.prlimit(victim, resource.RLIMIT_NOFILE, (3, 3)),
    lambda: os.setpriority(os.PRIO_PROCESS, victim, 19),
    lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19),
    lambda: os.sched_setaffinity(victim, {0}),
    lambda: os.sched_setscheduler(victim, os.SCHED_BATCH, os.sched_param(0)),
    lambda: fcntl.fcntl(pipe[0], fcntl.F_SETOWN, victim),
    lambda: fcntl.fcntl(pipe[0], 10, signal.SIGKILL),
    lambda: os.kill(victim, signal.SIGTERM),
)}))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
os.sched_setaffinity(0, os.sched_getaffinity(0))
"""


@pytest.fixture
def victim() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as process:
        yield process.pid
        process.kill()


def test_another_process_of_this_user_is_out_of_reach(victim: int) -> None:
    told = subprocess.run(
        [sys.executable, "-I", "-S", "-c", FILTERED + ON_ANOTHER_PROCESS, str(victim)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert told == "[1]\n"
    assert os.getpriority(os.PRIO_PROCESS, victim) == os.getpriority(os.PRIO_PROCESS, 0)


def test_a_read_only_file_keeps_its_attributes(tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    code = f"fd = os.open({str(tmp_path / 'kept')!r}, os.O_RDONLY)\nprint(tried(lambda: fcntl.ioctl(fd, 0x40086602, bytes(8))))"
    told = subprocess.run(
        [sys.executable, "-I", "-S", "-c", FILTERED + code, "0"], capture_output=True, text=True, check=True
    ).stdout
    assert told == "1\n"
