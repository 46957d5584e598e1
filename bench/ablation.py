"""`python -m bench.ablation`: what each lever is worth on the embedded model: `gym ablate` on three task families at once.

    python -m bench.ablation --dry-run           the runs and what they will cost
    python -m bench.ablation                     hours; it resumes
    python -m bench.ablation --of paper          what the paper varies: group size, ground truth; and the gate
    python -m bench.ablation --figures --write   put what is finished into bench/ABLATION.md

One library is to learn the rules of all three; the base has the settings of `bench.learning` (`ZOO`), and every other variant
changes one of them. The problems are of a seed that no other bench uses.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.learning.settings import MODEL, ZOO, Keys, known
from bench.record import RECORDS, pack, unpack
from bench.report import ROOT, ended, filled, machine
from bench.tasks import FAMILIES
from bench.tasks.family import Sizes, line
from gym.core.value import digest
from gym.errors import DataError
from gym.evaluation.ablation import Ablation, markdown
from gym.files import write_atomic
from gym.train.grpo.ablation import OUTCOME

PLACE = ROOT / "output" / "ablation"
TABLE, MEASURED = "ablation.json", "measured.json"
PAGE = ROOT / "bench" / "ABLATION.md"
RECORD = RECORDS / "ablation.jsonl"
END = "<!-- end of figures -->"

MIXED = ("csv", "dates", "yes_no")
SEED, SIZES = 9, Sizes(train=4, val=4, test=6)
"""Of each family."""

LEVERS = (
    "learn_from=mixed+all_wrong,mixed",
    "gate=auto,none",
    "screen_answers=3,0",
    "screen_when=after_gate,before_gate",
    "critique_contrast=off,on",
    "critique_groups=3,1",
    "critique_samples=1,2",
    "critique_feedback=off,on",
    "group_size_min=3,none",
    "grpo_group_size=5,3,8",
    "curriculum=on,off",
    "inclusion=1.0,0.7",
    "descent=line,pool",
)
"""Each with the base's value first."""


@dataclass(frozen=True)
class Study:
    """A table: the settings of its base, and what is varied."""

    base: Keys
    levers: tuple[str, ...]
    begin: str
    """In front of it on the page."""
    file: str
    """Its configuration."""

    @property
    def name(self) -> str:
        """Of the experiment, by all that the base's result depends on: with other settings nothing that is recorded counts."""
        return f"house-{digest([problems(), known(self.base), MODEL])[:8]}"


BASE = {key: value for key, value in ZOO.items() if key != "critique_contrast"}
"""Our settings but for what a program tells the critic, which is a row of the table."""

STUDIES = {
    "levers": Study(BASE, LEVERS, "<!-- figures: written by `python -m bench.ablation` -->", "house.yaml"),
    "paper": Study(
        {**BASE, "group_size_min": None},  # a majority, and a group of one, are of the whole group
        ("grpo_group_size=5,1,3,8", "use_groundtruth=on,off", "gate=auto,none"),
        "<!-- figures: written by `python -m bench.ablation --of paper` -->",
        "paper.yaml",
    ),
}


def problems() -> dict[str, str]:
    """Each part as JSONL, the families in turn."""
    splits = [FAMILIES[name].splits(SEED, SIZES) for name in MIXED]
    parts = {part: zip(*(getattr(split, part) for split in splits), strict=True) for part in Sizes._fields}
    return {part: "".join(f"{line(one)}\n" for several in found for one in several) for part, found in parts.items()}


def prepare(study: Study, place: Path) -> Path:
    """Problems and configuration as files."""
    for part, text in problems().items():
        write_atomic(place / f"{part}.jsonl", text)
    config = known(study.base) | {
        "model_name_or_path": f"local:{MODEL}",
        "dataset": str(place / "train.jsonl"),
        "val": str(place / "val.jsonl"),
        "test": str(place / "test.jsonl"),
        "reward": "bench.tasks.grading:REWARD",
        "rollout_max_tokens": max(FAMILIES[name].max_tokens for name in MIXED),
        "eval_k": 2,
        "output_dir": str(place),
        "experiment_name": study.name,
    }
    write_atomic(place / study.file, json.dumps(config, indent=1) + "\n")  # JSON is YAML, too
    return place / study.file


def command(study: Study, config: Path, seeds: str, base_url: str) -> list[str]:
    """The one that a person would type."""
    varied = [word for lever in study.levers for word in ("--vary", lever)]
    served = ["--model", MODEL, "--rollout-concurrency", "16"] if base_url else []
    return ["ablate", str(config), "--seeds", seeds, *varied, *served]


def finished_files(study: Study, place: Path) -> list[Path]:
    """The table and the outcome of every run, which is all that another machine needs to go on."""
    folder = place / study.name
    return [folder / TABLE, folder / MEASURED, *folder.glob(f"*/*/{OUTCOME}")]


def figures(study: Study, place: Path) -> str:
    """The table of what is finished. Raises `DataError` when nothing is."""
    try:
        found = Ablation.model_validate_json((place / study.name / TABLE).read_text(encoding="utf-8"))
        measured = json.loads((place / study.name / MEASURED).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"{error.filename}: no run is finished yet; python -m bench.ablation makes them") from error
    return f"Measured {measured}; {MODEL}, embedded.\n\n{markdown(found).partition('## Variants')[2].strip()}"


def main() -> int:
    """Run it, or put it into the page."""
    parser = argparse.ArgumentParser(
        prog="bench.ablation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--of", choices=STUDIES, default="levers", help="which table (default: levers)")
    parser.add_argument("--seeds", default="0,1,2", help="of learning, comma-separated (default: 0,1,2)")
    parser.add_argument("--base-url", default="", help="a server that runs already (default: the embedded model)")
    parser.add_argument("--dry-run", action="store_true", help="show the runs and what they will cost")
    parser.add_argument("--figures", action="store_true", help="run nothing: the table of what is finished")
    parser.add_argument("--write", action="store_true", help="put the table into bench/ABLATION.md")
    asked = parser.parse_args()
    study = STUDIES[asked.of]
    unpack(RECORD, PLACE)
    if not asked.figures:
        before = finished_files(study, PLACE)
        told = command(study, prepare(study, PLACE), asked.seeds, asked.base_url)
        environ = os.environ | ({"OPENAI_BASE_URL": asked.base_url} if asked.base_url else {})
        dry = ["--dry-run"] if asked.dry_run else []
        done = subprocess.run([sys.executable, "-m", "gym", *told, *dry], cwd=ROOT, env=environ, check=False)
        if done.returncode or asked.dry_run:
            return done.returncode
        if finished_files(study, PLACE) != before:
            write_atomic(PLACE / study.name / MEASURED, json.dumps(machine()))
    page = figures(study, PLACE)
    print(page)
    if asked.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), page, study.begin, END), encoding="utf-8")
        pack(RECORD, PLACE, finished_files(study, PLACE))
    return 0


if __name__ == "__main__":
    ended(main)
