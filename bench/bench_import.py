"""What starting costs, in CPU seconds of a fresh interpreter, beside one that does nothing and one that imports openai."""

import statistics
import sys

from bench.processes import Client
from bench.report import Table

TIMES = 7
MAX_S = 0.5
MOST_OVER_PASS_S = 0.4


def cpu_s(*words: str) -> float:
    """The median of several starts."""
    return statistics.median(Client(*words).ended().require_success().cpu_s for _ in range(TIMES))


def started(table: Table) -> None:
    """What `import gym` and `gym --version` cost beyond an interpreter, beside importing the openai client."""
    floor = cpu_s("-c", "pass")
    openai = cpu_s("-c", "import openai") - floor
    for what, words in (("import gym", ("-c", "import gym")), ("gym --version", ("-m", "gym", "--version"))):
        more = cpu_s(*words) - floor
        table.add(f"{what}, over python -c pass", f"{more:.2f} s, {more / openai:.2f} of openai",
                  f"import openai, over it {openai:.2f} s", f"<= {MOST_OVER_PASS_S} s", more <= MOST_OVER_PASS_S)  # fmt: skip


def main() -> int:
    """The library, the command, and the command at work."""
    table = Table("bench_import", f"CPU seconds to start, median of {TIMES}")
    nothing = f"python -c pass {cpu_s('-c', 'pass'):.2f} s"
    library, command = cpu_s("-c", "import gym.train.grpo"), cpu_s("-m", "gym", "--help")
    table.add("import gym.train.grpo", f"{library:.2f} s", nothing, f"<= {MAX_S} s", library <= MAX_S)
    table.add("gym --help", f"{command:.2f} s", nothing, f"<= {MAX_S} s", command <= MAX_S)
    started(table)
    whole = cpu_s("-c", "import gym.train.grpo.training_free_workflow, gym.cli.train")
    table.add("everything that gym train imports", f"{whole:.2f} s", nothing)
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
