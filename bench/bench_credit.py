"""Whether a planted harmful and a planted useless experience are found and removed, and good ones are kept.

    python -m bench.bench_credit                                          the scripted model, seconds
    python -m bench.bench_credit --model local:qwen2.5-coder-1.5b         a real one, hours; it resumes

Each seed trains on a library of good sentences with the two planted among them, while a silent reflector proposes nothing:
what leaves, leaves for what its rollouts showed.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.planted import SCRIPTED, SILENT, Planted, fruit, support_desk
from bench.report import KEPT, Table
from gym.config import load_config
from gym.core.experience import Delete
from gym.core.journal import Event
from gym.train.grpo.experience_manager import read_journal
from gym.train.grpo.training_free_workflow import train

SEEDS, PROBLEMS, EPOCHS = 10, 96, 6
HARMFUL, USELESS = 0.9, 0.7
"""Shares of the seeds in which it must be found."""
SPARED = 0.05
"""Share of good entries that may be removed."""


class Found(NamedTuple):
    """What one seed removed: the step of each, by text."""

    steps: dict[str, int]
    ran: int
    """Steps of the run."""


def found(model: str, planted: Planted, folder: Path, seed: int, epochs: int) -> Found:
    """One training run over the planted library."""
    data, library = planted.write(folder, seed)
    config = load_config(
        None,
        {
            "model": model, "reflector_model": SILENT, "data": str(data), "experiences": str(library), "reward": "exact",
            "inclusion": 0.7, "epochs": epochs, "batch_size": 48, "seed": seed, "rollout_max_tokens": 48,
            "output_dir": str(folder), "experiment_name": f"seed-{seed}",
        },
        environ={},
    )  # fmt: skip
    run = train(config)
    events = read_journal(run.folder / "experiences.json").events
    return Found({_text(event): event.step for event in events if isinstance(event.operation, Delete)}, len(run.steps))


def _text(event: Event) -> str:
    (entry,) = event.before.values()
    assert entry is not None
    return entry.text


def rows(table: Table, planted: Planted, seeds: list[Found]) -> None:
    """The three claims."""
    for what, text, least in (("harmful", planted.harmful, HARMFUL), ("useless", planted.useless, USELESS)):
        steps = [one.steps[text] for one in seeds if text in one.steps]
        when = f"median after step {median(steps) + 1:g} of {seeds[0].ran}" if steps else ""
        share = len(steps) / len(seeds)
        table.add(
            f"planted {what} one removed", f"{len(steps)} of {len(seeds)} seeds", when, f">= {least:g}", share >= least
        )
    gone = sum(text in one.steps for one in seeds for text in planted.good)
    all_good = len(seeds) * len(planted.good)
    table.add("good ones removed", f"{gone} of {all_good}", "", f"<= {SPARED:g}", gone <= SPARED * all_good)


def main() -> int:
    """All seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=SCRIPTED)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--scale", type=float, default=1.0)
    asked = parser.parse_args()
    scripted = asked.model == SCRIPTED
    planted = fruit(PROBLEMS) if scripted else support_desk()
    name = "bench_credit" if scripted else f"bench_credit_{asked.model.rpartition(':')[2]}"
    table = Table(
        name, f"Planted experiences among {len(planted.good)} good ones, {len(planted.rows)} problems, {asked.model}"
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) if scripted else KEPT / "credit" / asked.model.rpartition(":")[2]
        folder.mkdir(parents=True, exist_ok=True)
        count = max(2, round(asked.seeds * asked.scale))
        rows(table, planted, [found(asked.model, planted, folder, seed, asked.epochs) for seed in range(count)])
    return table.close()


if __name__ == "__main__":
    sys.exit(main())
