"""Whether a planted harmful and a planted useless experience are found and removed, and good ones are kept.

    python -m bench.bench_credit                                          the scripted model, seconds
    python -m bench.bench_credit --model local:qwen2.5-coder-1.5b         a real one, hours; it resumes

Each seed trains on a library of good sentences with the two planted among them, while a silent reflector proposes nothing:
what leaves, leaves for what its rollouts showed. The real model takes the families of `bench.tasks` in turn, one a seed, and
a seed ends when both planted ones have left.
"""

import argparse
import asyncio
import tempfile
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.planted import SCRIPTED, SILENT, Planted, fruit, house
from bench.report import KEPT, Table, ended
from bench.tasks import FAMILIES
from gym.config import load_config
from gym.core.experience import Delete
from gym.core.journal import Event
from gym.errors import Stopped
from gym.llm.brake import Brake
from gym.llm.meter import Meter
from gym.train.grpo.experience_manager import read_journal
from gym.train.grpo.task import run_folder
from gym.train.grpo.training_free_workflow import atrain
from gym.train.grpo.watch import Silent

SEEDS = 10
HARMFUL, USELESS = 0.9, 0.7
"""Shares of the seeds in which it must be found."""
SPARED = 0.05
"""Share of good entries that may be removed."""


class Design(NamedTuple):
    """How much is asked of the model."""

    problems: int
    epochs: int
    batch: int
    margin: float
    """What an entry must add to be worth its tokens."""
    until_found: bool = False
    """A seed ends when both planted ones have left."""


BUILT_IN = Design(problems=96, epochs=6, batch=48, margin=0.05)
REAL = Design(problems=32, epochs=4, batch=16, margin=0.1, until_found=True)
"""640 answers a seed at most, of a model that is slow where this is run: so the useless one is held to a wider margin."""


class Found(NamedTuple):
    """What one seed removed."""

    planted: Planted
    steps: dict[str, int]
    """The step in which each left, by text."""
    planned: int
    """Steps of the run, if it is not ended before."""


def found(model: str, base_url: str, planted: Planted, design: Design, folder: Path, seed: int) -> Found:
    """One training run over the planted library."""
    data, library = planted.write(folder, seed)
    config = load_config(
        None,
        {
            "model": model, "reflector_model": SILENT, "data": str(data), "experiences": str(library),
            "reward": "exact", "inclusion": 0.7, "credit_margin": design.margin, "epochs": design.epochs,
            "batch_size": design.batch, "seed": seed, "rollout_max_tokens": planted.max_tokens,
            "rollout_concurrency": 16 if base_url else 4, "output_dir": str(folder), "experiment_name": f"seed-{seed}",
        },
        environ={},
    )  # fmt: skip
    environ = {"OPENAI_BASE_URL": base_url} if base_url else {}
    brake, journal = Brake(), run_folder(config) / "experiences.json"
    watch = _UntilFound(planted, journal, brake) if design.until_found else Silent()
    with suppress(Stopped):
        asyncio.run(atrain(config, reward=planted.reward, environ=environ, watch=watch, brake=brake))
    if brake.reason is not None and not isinstance(brake.reason, _BothLeft):
        raise brake.reason
    return Found(planted, _left(journal), design.epochs * -(-design.problems // design.batch))


def _left(journal: Path) -> dict[str, int]:
    """The step in which each text left so far."""
    events = read_journal(journal).events if journal.exists() else ()
    return {_text(event): event.step for event in events if isinstance(event.operation, Delete)}


class _BothLeft(Stopped):
    """Nothing more is asked of a seed."""


class _UntilFound(Silent):
    """Ends a run before the next phase when both planted ones have left."""

    def __init__(self, planted: Planted, journal: Path, brake: Brake) -> None:
        self.planted, self.journal, self.brake = planted, journal, brake

    def phase(self, name: str, total: int, meter: Meter) -> None:
        if {self.planted.harmful, self.planted.useless} <= _left(self.journal).keys():
            self.brake.pull(_BothLeft("both planted experiences have left"))


def _text(event: Event) -> str:
    (entry,) = event.before.values()
    assert entry is not None
    return entry.text


def rows(table: Table, seeds: list[Found], margin: float) -> None:
    """The three claims."""
    for what, least, told in (("harmful", HARMFUL, ""), ("useless", USELESS, f" (adds less than {margin:g})")):
        texts = [getattr(one.planted, what) for one in seeds]
        steps = [one.steps[text] for one, text in zip(seeds, texts, strict=True) if text in one.steps]
        when = f"median after step {median(steps) + 1:g} of {seeds[0].planned}" if steps else ""
        share = len(steps) / len(seeds)
        table.add(
            f"planted {what} one removed{told}",
            f"{len(steps)} of {len(seeds)} seeds",
            when,
            f">= {least:g}",
            share >= least,
        )
    gone = sum(text in one.steps for one in seeds for text in one.planted.good)
    all_good = sum(len(one.planted.good) for one in seeds)
    table.add("good ones removed", f"{gone} of {all_good}", "", f"<= {SPARED:g}", gone <= SPARED * all_good)


def main() -> int:
    """All seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=SCRIPTED)
    parser.add_argument("--base-url", default="", help="a server of the model that runs already")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--scale", type=float, default=1.0)
    asked = parser.parse_args()
    if asked.seeds < 1:
        parser.error(f"--seeds {asked.seeds}: give how many, 1 or more")
    scripted = asked.model == SCRIPTED
    short = asked.model.rpartition(":")[2]
    design = BUILT_IN if scripted else REAL
    table = Table(
        "bench_credit" if scripted else "bench_credit_model",
        f"Planted experiences among good ones, {design.problems} problems x {design.epochs} epochs a seed, {asked.model}",
    )
    families = tuple(FAMILIES.values())
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) if scripted else KEPT / "credit" / short
        folder.mkdir(parents=True, exist_ok=True)
        seeds = list[Found]()
        for seed in range(max(1, round(asked.seeds * asked.scale))):
            family = families[seed % len(families)]
            planted = fruit(design.problems) if scripted else house(family, seed, design.problems)
            seeds.append(found(asked.model, asked.base_url, planted, design, folder, seed))
            if not scripted:
                _say(family.name, seed, seeds[-1])
        rows(table, seeds, design.margin)
    return table.close()


def _say(family: str, seed: int, one: Found) -> None:
    """When each sentence of a seed left."""
    kinds = {one.planted.harmful: "harmful", one.planted.useless: "useless"}
    left = [f"{kinds.get(text, 'good')} after step {step + 1}" for text, step in one.steps.items()]
    print(f"  seed {seed}, {family}: {', '.join(left) or 'none left'}", flush=True)


if __name__ == "__main__":
    ended(main)
