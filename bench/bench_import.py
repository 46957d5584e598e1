"""What starting costs, in CPU seconds of a fresh interpreter, beside an interpreter that does nothing."""

import statistics
import sys

from bench.processes import Client
from bench.report import Table

TIMES = 7
MAX_S = 0.5


def cpu_s(*words: str) -> float:
    """The median of several starts."""
    return statistics.median(Client(*words).ended().require_success().cpu_s for _ in range(TIMES))


def main() -> int:
    """The library, the command, and the command at work."""
    table = Table("bench_import", f"CPU seconds to start, median of {TIMES}")
    nothing = f"python -c pass {cpu_s('-c', 'pass'):.2f} s"
    library, command = cpu_s("-c", "import gym.train.grpo"), cpu_s("-m", "gym", "--help")
    table.add("import gym.train.grpo", f"{library:.2f} s", nothing, f"<= {MAX_S} s", library <= MAX_S)
    table.add("gym --help", f"{command:.2f} s", nothing, f"<= {MAX_S} s", command <= MAX_S)
    whole = cpu_s("-c", "import gym.train.grpo.training_free_workflow, gym.cli.train")
    table.add("everything that gym train imports", f"{whole:.2f} s", nothing)
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
