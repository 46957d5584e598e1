"""What the child of a session is told, and how bubblewrap is asked for the same root that `jail.namespaces` builds."""

import itertools
import os
import secrets
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gym.train.grpo.tools.jail import lockdown
from gym.train.grpo.tools.limits import Limits, Mode

FOLDER = "/tmp/work"
"""Where code works inside namespaces."""

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache", "/etc/localtime")
_salts = itertools.count(secrets.randbelow(1 << 29))  # two sessions of this process never share a user


def plan_for(mode: Mode, limits: Limits, folder: str) -> dict[str, Any]:
    """All that the child needs to know, as JSON can hold it."""
    readable, links = _visible()
    return {
        "mode": mode,
        "limits": limits.model_dump(),
        "folder": folder,
        "readable": readable,
        "links": links,
        "packages": _packages(),
        "salt": next(_salts),
        "outside": {name: lockdown.namespace(name) for name in lockdown.NAMESPACES},
    }


def _visible() -> tuple[dict[str, str], dict[str, str]]:
    """What code may read, path -> where it really is, and links at the root; a path inside another is left out."""
    paths = [*_SYSTEM, sys.base_prefix, sys.prefix, *_packages(), str(Path(__file__).parent / "jail")]
    links = {path: os.readlink(path) for path in _SYSTEM if os.path.dirname(path) == "/" and os.path.islink(path)}
    found: dict[str, str] = {}
    for path in sorted({path for path in paths if os.path.exists(path)} - links.keys()):
        if not any(path.startswith(f"{outer}/") for outer in found):
            found[path] = os.path.realpath(path)
    return found, links


def _packages() -> list[str]:
    """Where this Python's packages are."""
    return sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})


def bubblewrap_command(plan: Mapping[str, Any]) -> list[str]:
    """What to put before a command; raises `FileNotFoundError` when bubblewrap is not installed."""
    if (program := shutil.which("bwrap")) is None:
        raise FileNotFoundError("bubblewrap: not installed")
    command = [program, "--die-with-parent", "--as-pid-1"]
    command += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    command += ["--unshare-user"] if os.geteuid() else []
    command += ["--perms", "0755", "--dir", "/dev", "--proc", "/proc"]
    command += ["--size", str(plan["limits"]["folder_mb"] << 20), "--tmpfs", "/tmp", "--symlink", "/tmp", "/dev/shm"]
    for path, source in plan["readable"].items():
        for folder in [*reversed(Path(path).parents)][1:]:
            command += ["--perms", "0755", "--dir", str(folder)]
        command += ["--ro-bind", source, path]
    for name in ("null", "full", "random", "urandom"):
        command += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for link, target in {**plan["links"], "/dev/fd": "/proc/self/fd"}.items():
        command += ["--symlink", target, link]
    return [*command, "--remount-ro", "/", "--"]
