"""Where the child begins: into namespaces when the plan says so, then supervise. `sys.argv[1]` is the plan as JSON."""

import json
import os
import sys
from contextlib import suppress

from . import namespaces
from .supervisor import Supervisor


def main() -> None:
    """Serve one session until standard input ends; a refusal of the system goes to standard error, in one line."""
    plan = json.loads(sys.argv[1])
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # when the machine runs out of memory, we go first
    try:
        if plan["mode"] == "namespaces":
            namespaces.enter(plan)
        Supervisor(plan).serve()
        if plan["mode"] == "limits only":
            _remove(plan["folder"])
    except OSError as error:
        sys.exit(f"{error}")


def _remove(folder: str) -> None:
    """Our last act, also when the host was killed: chmod and rm follow no links and go as deep as a folder goes."""
    os.execvp("sh", ["sh", "-c", 'chmod -R u+rwX -- "$0"; exec rm -rf -- "$0"', folder])
