"""How many cores this process may use: the affinity mask and a container's quota, not the machine's count."""

import math
import os
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")


def available_cores(quota: Path = QUOTA) -> int:
    """At least 1. `quota` is a cgroup v2 file: `max 100000`, or microseconds of processor time per period."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        used, period = quota.read_text().split()
        return max(1, min(allowed, math.ceil(int(used) / int(period))))
    except (OSError, ValueError):
        return allowed
