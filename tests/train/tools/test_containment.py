"""Hostile code: in each mode, what the mode promises holds, and the host and other rollouts feel nothing of it."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from gym.train.grpo.tools.limits import Isolation
from gym.train.grpo.tools.python_sandbox import PythonSandbox, PythonSession
from tests.train.tools.conftest import DAEMON, SMALL, processes, run, settled

KEY = "sk-test-4f1c0ffee"

READ_ENVIRONMENTS = """
import os
seen = [repr(dict(os.environ))]
pids = {str(n) for n in (*range(1, 5), os.getppid(), HOST, HOST_PARENT)} | {"self", "thread-self"}
try:
    pids |= set(os.listdir("/proc"))
except OSError:
    pass
for pid in pids:
    for name in ("environ", "mem", "cmdline"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                seen.append(repr(file.read(1 << 16)))
        except OSError:
            pass
KEY_PARTS in "".join(seen)
"""


async def test_keys_of_the_host_cannot_be_read(isolation: Isolation) -> None:
    code = READ_ENVIRONMENTS.replace("KEY_PARTS", repr(KEY[:4]) + "+" + repr(KEY[4:]))
    host = f"""
import asyncio, os
from gym.train.grpo.tools.python_sandbox import PythonSandbox
async def main():
    code = {code!r}.replace("HOST_PARENT", str(os.getppid())).replace("HOST", str(os.getpid()))
    async with PythonSandbox(mode={isolation.mode!r}).open() as session:
        print((await session.call({{"code": code}})).text)
asyncio.run(main())
"""
    environment = {**os.environ, "SOME_API_KEY": KEY}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", host, env=environment, stdout=asyncio.subprocess.PIPE
    )
    told = (await process.communicate())[0].decode().strip()
    assert told == str("environment" in isolation.missing)


async def test_the_environment_is_empty_but_for_what_python_needs(session: PythonSession) -> None:
    names = json.loads(await run(session, "import json, os\nprint(json.dumps(sorted(os.environ)))"))
    assert set(names) <= {
        "HOME", "LANG", "LC_CTYPE", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH", "PWD", "TMPDIR"
    }  # fmt: skip


async def test_another_rollouts_folder_cannot_be_read_or_written(sandbox: PythonSandbox, isolation: Isolation) -> None:
    if "files" in isolation.missing:
        pytest.skip("not promised here")
    async with sandbox.open() as first, sandbox.open() as second:
        folder = (await run(first, "import os\nopen('secret', 'w').write('first')\nos.getcwd()")).strip("'")
        spy = f"""
import os
found = []
for top in ("/tmp", {folder!r}, os.path.dirname({folder!r})):
    found += [os.path.join(place, name) for place, _, names in os.walk(top) for name in names]
for act in (lambda: open({folder!r} + "/secret").read(), lambda: open({folder!r} + "/planted", "w")):
    try:
        act()
    except OSError as error:
        found.append(type(error).__name__)
sorted(name for name in found if "secret" in name or "Error" not in name)
"""
        told = await run(second, spy)
        assert "secret" not in told
        assert await run(first, "os.listdir(), open('secret').read()") == "(['secret'], 'first')"


async def test_no_connection_and_no_name_lookup(session: PythonSession, isolation: Isolation) -> None:
    if "network" in isolation.missing:
        pytest.skip("not promised here")
    callers: asyncio.Queue[bytes] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        callers.put_nowait(await reader.read())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    code = f"""
import os, socket, subprocess, urllib.request
def tried(act):
    try:
        return act() or "done"
    except Exception as error:
        return "refused"
[tried(act) for act in (
    lambda: socket.create_connection(("127.0.0.1", {port}), 1).sendall(b"spy"),
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"spy", ("127.0.0.1", {port})),
    lambda: socket.getaddrinfo("example.org", 80),
    lambda: urllib.request.urlopen("http://127.0.0.1:{port}"),
    lambda: subprocess.run(["bash", "-c", "echo spy > /dev/tcp/127.0.0.1/{port}"], check=True, stderr=subprocess.DEVNULL),
)]
"""
    assert await run(session, code) == str(["refused"] * 5)
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"ours")
    writer.close()
    assert await callers.get() == b"ours"
    server.close()


async def test_nothing_outside_the_folder_can_be_written(
    session: PythonSession, isolation: Isolation, tmp_path: Path
) -> None:
    if "files" in isolation.missing:
        pytest.skip("not promised here")
    name = "zoo-gym-planted"
    kept = tmp_path / "kept"
    kept.write_text("kept")
    before = kept.stat()
    system = map(Path, ("/", "/etc", "/usr", "/var/tmp", "/proc/sys/kernel", "/dev"))
    folders = [tmp_path, Path.cwd(), Path.home(), Path(sys.prefix), *system]
    code = f"""
import os, subprocess
open('inside', 'w').write('allowed')
def tried(act):
    try:
        act()
    except (OSError, subprocess.CalledProcessError):
        pass
for folder in {[str(folder) for folder in folders]!r}:
    tried(lambda: open(folder + "/{name}", "w").write("x"))
    tried(lambda: os.mkdir(folder + "/{name}"))
for act in (
    lambda: open({str(kept)!r}, "w"), lambda: os.remove({str(kept)!r}), lambda: os.truncate({str(kept)!r}, 0),
    lambda: os.chmod({str(kept)!r}, 0), lambda: os.utime({str(kept)!r}, (0, 0)),
    lambda: os.setxattr({str(kept)!r}, "user.mark", b"x"), lambda: os.fchmod(os.open({str(kept)!r}, os.O_PATH), 0),
    lambda: os.rename({str(kept)!r}, "mine"), lambda: os.link({str(kept)!r}, "linked"),
    lambda: os.symlink({str(tmp_path)!r}, "way"), lambda: open("way/kept", "w"), lambda: open("way/{name}", "w"),
    lambda: os.symlink("/proc/self/root" + {str(tmp_path)!r}, "round"), lambda: open("round/kept", "w"),
    lambda: os.rename("inside", "way/{name}"), lambda: open("/proc/1/root" + {str(kept)!r}, "w"),
    lambda: subprocess.run(["mount", "-o", "remount,rw", "/"], check=True, stderr=subprocess.DEVNULL),
    lambda: os.chroot("."),
):
    tried(act)
"""
    await run(session, code)
    await session.close()
    assert [file.name for file in tmp_path.iterdir()] == ["kept"]
    after = kept.stat()
    assert (after.st_mode, after.st_nlink, after.st_mtime_ns) == (before.st_mode, 1, before.st_mtime_ns)
    assert kept.read_text() == "kept"
    assert not [folder for folder in folders if (folder / name).exists()]


async def test_files_of_the_host_cannot_be_read(session: PythonSession, isolation: Isolation, tmp_path: Path) -> None:
    if "files" in isolation.missing:
        pytest.skip("not promised here")
    secret = tmp_path / "secret"
    secret.write_text(KEY)
    code = f"""
import os
seen = []
os.symlink({str(secret)!r}, "link")
for path in ({str(secret)!r}, "link", "/proc/self/root" + {str(secret)!r}, "/etc/shadow", "/etc/passwd"):
    try:
        seen.append(open(path).read())
    except OSError:
        pass
seen
"""
    assert await run(session, code) == "[]"


async def test_the_folders_size_is_limited_in_sum(session: PythonSession, isolation: Isolation) -> None:
    if "folder size" in isolation.missing:
        pytest.skip("not promised here")
    result = await session.call({"code": "for n in range(9): open(f'f{n}', 'wb').write(bytes(3 << 20))"})
    assert "No space left on device" in result.text


async def test_memory_that_no_limit_would_count_is_refused(session: PythonSession, isolation: Isolation) -> None:
    if "seccomp" not in isolation.layers:
        pytest.skip("not promised here")
    code = """
import ctypes, mmap, socket
libc = ctypes.CDLL(None, use_errno=True)
IO_SETUP, context = {"x86_64": 206, "aarch64": 0}[__import__("os").uname().machine], ctypes.c_long(0)
refused = [
    libc.shmget(0, 4096, 0o1600), libc.memfd_create(b"m", 0), libc.msgget(0, 0o1600), libc.semget(0, 1, 0o1600),
    libc.syscall(IO_SETUP, 1000, ctypes.byref(context)),
]
pair = socket.socketpair()
for act in (lambda: mmap.mmap(-1, 4096), lambda: pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)):
    try:
        act()
    except PermissionError:
        refused.append(-1)
private = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
set(refused), len(refused)
"""
    assert await run(session, code) == "({-1}, 7)"


async def test_a_pair_of_sockets_talks_only_with_itself(session: PythonSession, isolation: Isolation) -> None:
    if "seccomp" not in isolation.layers:
        pytest.skip("not promised here")
    code = """
import asyncio, socket
one, other = socket.socketpair()
refused = []
for act in (
    lambda: one.bind("\\0zoo-gym"), lambda: one.connect("\\0zoo-gym"), lambda: one.sendto(b"x", "\\0zoo-gym"),
    lambda: one.listen(), lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
    lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW),
):
    try:
        act()
    except PermissionError:
        refused.append(act)
one.sendall(b"heard")
len(refused), other.recv(9), asyncio.run(asyncio.sleep(0, "a loop of events has such a pair"))
"""
    assert await run(session, code) == "(6, b'heard', 'a loop of events has such a pair')"


async def test_nothing_can_continue_itself_between_calls(session: PythonSession, isolation: Isolation) -> None:
    if "seccomp" not in isolation.layers:
        pytest.skip("not promised here")
    code = """
import ctypes, fcntl, os, signal
class Event(ctypes.Structure):
    _fields_ = (("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("kind", ctypes.c_int), ("rest", ctypes.c_int * 12))
libc = ctypes.CDLL(None, use_errno=True)
said = [libc.timer_create(1, ctypes.byref(Event(None, signal.SIGCONT, 0)), ctypes.byref(ctypes.c_void_p()))]
for command, value in ((10, signal.SIGCONT), (fcntl.F_SETOWN, os.getpid())):
    try:
        said.append(fcntl.fcntl(0, command, value))
    except PermissionError:
        said.append(-1)
said
"""
    assert await run(session, code) == "[-1, -1, -1]"


async def test_files_without_content_are_limited_too(session: PythonSession, isolation: Isolation) -> None:
    if "mnt" not in isolation.layers:
        pytest.skip("not promised here")
    result = await session.call({"code": "for n in range(20_000): open(f'f{n}', 'w').close()"})
    assert result.label == "files" or "No space left on device" in result.text
    assert await run(session, "import os\nlen(os.listdir()) < 20_000") == "True"


async def test_rights_cannot_be_gained(session: PythonSession, isolation: Isolation) -> None:
    if "seccomp" not in isolation.layers:
        pytest.skip("not promised here")
    code = """
import ctypes, os
libc = ctypes.CDLL(None)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
PTRACE_ATTACH, NEWUSER = 16, 0x10000000
(
    {status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16},
    status["NoNewPrivs"].strip(), libc.unshare(NEWUSER), libc.ptrace(PTRACE_ATTACH, os.getppid(), 0, 0),
)
"""
    assert await run(session, code) == "(True, '1', -1, -1)"


async def test_the_supervisor_and_the_host_cannot_be_killed(session: PythonSession, isolation: Isolation) -> None:
    if "signals" in isolation.missing:
        pytest.skip("not promised here")
    others = [os.getpid(), os.getppid(), -1, -os.getpgrp()]
    code = f"""
import os, signal
kept = 1
for pid in (os.getppid(), 1, *{others!r}):
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        try:
            os.kill(pid, number)
        except OSError:
            pass
"""
    if isolation.mode == "limits only":
        code = code.replace("1, *", "*")  # not the system's process 1, should all else fail
    await run(session, code)
    assert await run(session, "kept") == "1"


@pytest.mark.parametrize("forged", [b"\0\0\0\x05hello", b"\xff\xff\xff\xff", b"\0\0\0\x02[]", b"\0\0\0\x02{}", b"\0"])
async def test_a_forged_report_without_the_nonce_is_not_believed(session: PythonSession, forged: bytes) -> None:
    result = await session.call({"code": f"import os\n_ = os.write(4, {forged!r})\n'truth'"})
    assert result.text == "'truth'" or result.label in {"garbled", "cpu", "wall"}
    if forged == b"\0\0\0\x02{}":
        assert result.text == "'truth'"


async def test_a_forged_report_with_the_nonce_says_no_more_than_the_code_could(session: PythonSession) -> None:
    code = """
import json, os, sys
frame = sys._getframe()
while "request" not in frame.f_locals:
    frame = frame.f_back
body = json.dumps({"nonce": frame.f_locals["request"]["nonce"], "value": "forged \\ud800" + "x" * 5000, "error": 3}).encode()
os.write(4, len(body).to_bytes(4, "big") + body)
kept = 1
'late'
"""
    result = await session.call({"code": code})
    assert result.text.startswith("forged")
    assert len(result.text) < 4100
    assert [await run(session, "kept + 1"), await run(session, "kept + 2")] == ["2", "3"]


async def test_stealing_the_next_request_ends_in_a_limit_and_a_fresh_start(isolation: Isolation) -> None:
    async with PythonSandbox(SMALL.model_copy(update={"wall_s": 1.0}), isolation.mode).open() as session:
        await session.call({"code": "import os\nif os.fork() == 0:\n    while True: os.read(3, 1)"})
        await session.call({"code": "while True: pass"})
        assert await run(session, "1 + 1") == "2"


async def test_nothing_outlives_a_host_that_is_killed(isolation: Isolation, marker: str) -> None:
    host = f"""
import asyncio
from gym.train.grpo.tools.python_sandbox import PythonSandbox
async def main():
    async with PythonSandbox(mode={isolation.mode!r}).open() as session:
        print((await session.call({{"code": {DAEMON + f"daemon({marker!r}); print(os.getcwd())"!r}}})).text, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", host, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    folder = Path((await process.stdout.readline()).decode().strip())
    assert any(b"-I" in (found / "cmdline").read_bytes() for found in processes(marker))
    process.send_signal(signal.SIGKILL)
    await process.wait()
    await settled(lambda: not processes(marker))
    await settled(lambda: not folder.exists())
